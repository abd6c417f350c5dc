/**
 * cross_entropy with class indices in one kernel: log_softmax over a dim of [outer, n, inner], the loss of every row,
 * and the gradient. The weight of each row (its class's weight, 0 if the row is ignored) is another result, because the
 * mean divides by the sum of weights.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { CHECK, resolver, STATUS } from "../index/index_ops";
import { blockSum, rowHead, rowJoin, type RowLanes, rowTools, rowKernel } from "./row";
import { type Binding, computeOf, type DType, type Kernel, offsets, uniform, UnsupportedKernelError } from "../spec";

export interface CrossEntropyParams extends RowLanes {
  readonly dtype: DType;
  /** There is a weight for each class. */
  readonly weight?: boolean;
  /** label_smoothing, in the uniform `smoothing`. */
  readonly smooth?: boolean;
  /** nll_loss: x holds log-probabilities already. There is no lse then, and backward does not read x. */
  readonly nll?: boolean;
  readonly backward?: boolean;
}

/**
 * Uniforms: rows (outer * inner), n, inner, ignore (index), gs (backward: stride of g, 0 for one number), [smoothing];
 * <buffer>o; check. Buffers: x, labels (int64, one a row), [w], loss, lse, counts (float32, one a row), status;
 * backward: x, labels, [w], lse, g (float32), y. A target out of range goes to status, and its loss is 0.
 */
export function crossEntropy(params: CrossEntropyParams): Kernel {
  const { dtype, weight, smooth, nll, backward, lanes } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("cross_entropy", dtype);
  if (nll && smooth) throw new UnsupportedKernelError("nll_loss", "smoothing");
  const list = (...entries: [string, DType, boolean][]): [string, DType][] =>
    entries.filter((e) => e[2]).map(([n, d]) => [n, d]);
  const reads = list(
    ["x", dtype, !(nll && backward)],
    ["labels", "int64", true],
    ["w", dtype, !!weight],
    ["lse", "float32", !!backward && !nll],
    ["g", "float32", !!backward],
  );
  const writes = backward
    ? list(["y", dtype, true])
    : list(["loss", "float32", true], ["lse", "float32", !nll], ["counts", "float32", true]);
  const bindings: Binding[] = [
    ...reads.map(([n, d]) => input(n, d)),
    ...writes.map(([n, d]) => output(n, d)),
    ...(backward ? [] : [STATUS]),
  ];
  const uniforms = [
    ...uniform("u32", "rows", "n"),
    ...uniform("i32", "inner", "ignore", ...(backward ? ["gs"] : [])),
    ...(smooth ? uniform("f32", "smoothing") : []),
    ...offsets(...reads.map(([n]) => n), ...writes.map(([n]) => n)),
    ...(backward ? [] : [CHECK]),
  ];
  const joins = (): ("top" | "sum")[] => {
    if (nll) return [];
    if (!backward) return ["top", "sum"];
    return smooth && weight ? ["sum"] : [];
  };
  const globals = [
    ...reads.map(([n, d]) => accessors(n, d, "elem", false)),
    ...writes.map(([n, d]) => accessors(n, d, outForm(d), true)),
    ...(backward ? [] : [resolver(false)]),
    rowTools(params, joins()),
  ].join("\n");
  const x = (r: string): string => `ld_x(p.xo + base + ${r} * p.inner)`;
  const w = (r: string): string => (weight ? `ld_w(p.wo + ${r})` : "1.0");
  const head = `${rowHead(params)}
  let base = (row / p.inner) * i32(p.n) * p.inner + row % p.inner;
  let raw = ld_labels(p.labelso + row);
  let ignored = all(raw == tl_i64(p.ignore));`;
  const weights = weight ? blockSum(params, "weights", w) : "  let weights = f32(p.n);";
  const back = `${head}
  // the forward pass has reported targets out of range; their gradient is 0
  let valid = !ignored && raw.y == 0u && raw.x < p.n;
  let class_at = select(-1, i32(raw.x), valid);
  let share = ${w("max(class_at, 0)")};
  ${nll ? "" : "let top = ld_lse(p.lseo + row);"}
  let gr = ld_g(p.go + row * p.gs);
${smooth ? weights : ""}
  for (var r = i32(part); r < n; r += ${lanes}) {
    let q = ${nll ? "0.0" : `tl_exp(${x("r")} - top)`};
    var d = share * (q - select(0.0, 1.0, r == class_at));
    ${smooth ? `d = (1.0 - p.smoothing) * d + p.smoothing / f32(p.n) * (q * weights - ${w("r")});` : ""}
    let v = select(0.0, gr * d, valid);
    st_y(p.yo + base + r * p.inner, ${castTo("v", "float32", dtype)});
  }`;
  const logSum = `  var top = -tl_inf();
  for (var r = i32(part); r < n; r += ${lanes}) { top = max(top, ${x("r")}); }
  top = ${rowJoin(params, "top", "top")};
  let shift = select(0.0, top, tl_isfinite(top));
${blockSum(params, "sum", (r) => `tl_exp(${x(r)} - shift)`)}
  let total = shift + tl_log(sum);`;
  const forward = `${head}
${nll ? "  let total = 0.0;" : logSum}
${smooth ? blockSum(params, "spread", (r) => `${w(r)} * (total - ${x(r)})`) : ""}
  if (live && part == 0u) {
    var at = -1;
    if (!ignored) { at = resolve(raw, p.n, 0u); }
    var nll = 0.0;
    var share = 0.0;
    if (at >= 0) {
      share = ${w("at")};
      nll = share * (total - ${x("at")});
      ${smooth ? "nll = (1.0 - p.smoothing) * nll + p.smoothing / f32(p.n) * spread;" : ""}
    }
    st_loss(p.losso + row, nll);
    ${nll ? "" : "st_lse(p.lseo + row, total);"}
    st_counts(p.countso + row, share);
  }`;
  const main = backward ? back : forward;
  return rowKernel("crossEntropy", params, { bindings, uniforms, globals, main });
}
