/**
 * Pooling in one to three dims on contiguous images [planes, ...] with planes = batch * channels, and its gradients. A
 * gradient gathers: each input element adds the gradients of all windows that contain it. So it needs no atomics and is
 * reproducible.
 *   max       values and int64 positions in the plane; as in PyTorch the last NaN wins, else the first of equal values
 *   avg       divisor: the window with its padding, the window inside the image, or a given number
 *   adaptive, adaptive_max  windows [floor(i n / m), ceil((i + 1) n / m))
 *   columns   the windows themselves, [planes, taps, ...], 0 outside (im2col); backward sums them (col2im)
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  type Binding,
  computeOf,
  type DType,
  type Kernel,
  linearGrid,
  type UniformWord,
  offsets,
  uniform,
  UnsupportedKernelError,
  value,
  range,
} from "../spec";
import { imageWords, narrowCoords, pixels, product, ravel, sizesOf, unravel, wideCoords, type Window } from "./window";

export interface PoolParams extends Window {
  readonly op: "max" | "avg" | "adaptive" | "adaptive_max" | "columns";
  readonly dtype: DType;
  readonly backward?: boolean;
  /** avg: whether padding counts (default), and a fixed divisor in the uniform `divisor`. */
  readonly countPadding?: boolean;
  readonly divisor?: boolean;
  /** false: max pooling without positions. */
  readonly positions?: boolean;
}

/**
 * Uniforms: planes; images x<d> (large), y<d> (pooled); [divisor f32]; <buffer>o. Buffers: max and adaptive_max x, y,
 * [idx]; others x, y. Backward: max gy, idx, gx; others gy, gx. For adaptive only the number of dims of `kernel`
 * counts.
 */
export function pool(params: PoolParams): Kernel {
  const { op, dtype, backward } = params;
  const nd = params.kernel.length;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError(`${op}_pool${nd}d`, dtype);
  const adaptive = op === "adaptive" || op === "adaptive_max";
  const max = op === "max" || op === "adaptive_max";
  const idx = max && (backward || params.positions !== false);
  const bindings: Binding[] = [input(backward ? "gy" : "x", dtype)];
  if (idx && backward) bindings.push(input("idx", "int64"));
  bindings.push(output(backward ? "gx" : "y", dtype));
  if (idx && !backward) bindings.push(output("idx", "int64"));
  const uniforms: UniformWord[] = [
    ...uniform("u32", "planes"),
    ...imageWords(nd),
    ...(params.divisor ? uniform("f32", "divisor") : []),
    ...offsets(...bindings.map((b) => b.name)),
  ];
  const src = backward ? "gy" : "x",
    dst = backward ? "gx" : "y";
  const globals = [
    accessors(src, dtype, "elem", false),
    accessors(dst, dtype, outForm(dtype), true),
    ...(idx ? [accessors("idx", "int64", "elem", !backward)] : []),
  ].join("\n");
  const px = `i32(${pixels(nd, "x")})`,
    py = `i32(${pixels(nd, "y")})`;
  const I = range(nd).map((d) => `i${d}`),
    O = range(nd).map((d) => `o${d}`);
  const [own, ownPixels] = backward ? ["x" as const, px] : ["y" as const, py];
  const taps = product(params.kernel),
    columns = op === "columns",
    many = columns && !backward ? taps : 1;
  const head = `  if (gid >= p.planes * u32(${ownPixels})${many > 1 ? ` * ${many}u` : ""}) { return; }
  ${many > 1 ? "var" : "let"} plane = i32(gid) / ${ownPixels};
  ${unravel(backward ? "i" : "o", `gid % u32(${ownPixels})`, sizesOf(nd, own))}
`;
  const nested = (heads: readonly string[], body: string): string =>
    `  ${heads.join(" ")}\n${body}\n  ${"}".repeat(nd)}\n`;
  const loops = (body: string): string =>
    nested(
      params.kernel.map((k, d) => `for (var w${d} = 0; w${d} < ${k}; w${d}++) {`),
      body,
    );
  // backward: the outputs whose windows contain input i; forward: the inputs in the window of output o
  const outputsOf = (d: number): string => {
    const first = `i${d} * i32(p.y${d}) / i32(p.x${d})`;
    const end = `((i${d} + 1) * i32(p.y${d}) + i32(p.x${d}) - 1) / i32(p.x${d})`;
    return `for (var o${d} = ${first}; o${d} < ${end}; o${d}++) {`;
  };
  const inputsOf = (d: number): string => `for (var i${d} = a${d}; i${d} < b${d}; i${d}++) {`;
  const adaptiveLoops = (body: string): string => nested(range(nd).map(backward ? outputsOf : inputsOf), body);
  const bounds = range(nd)
    .map(
      (d) =>
        `let a${d} = o${d} * i32(p.x${d}) / i32(p.y${d});
          let b${d} = ((o${d} + 1) * i32(p.x${d}) + i32(p.y${d}) - 1) / i32(p.y${d});`,
    )
    .join(" ");
  const width = range(nd)
    .map((d) => `(b${d} - a${d})`)
    .join(" * ");
  const at = `plane * ${px} + ${ravel(I, sizesOf(nd, "x"))}`,
    outAt = `plane * ${py} + ${ravel(O, sizesOf(nd, "y"))}`;
  // number of elements of the window at o<d> that the divisor counts
  const counted = range(nd)
    .map((d) => {
      const first = `o${d} * ${params.stride[d]} - ${params.padding[d]}`;
      const end = `min(${first} + ${params.kernel[d]}, i32(p.x${d}) + ${params.padding[d]})`;
      return params.countPadding === false ? `(min(${end}, i32(p.x${d})) - max(${first}, 0))` : `(${end} - (${first}))`;
    })
    .join(" * ");
  const divisor = params.divisor ? "p.divisor" : `f32(${counted})`;
  const wide = wideCoords(params),
    narrow = narrowCoords(params);
  const windows = adaptive ? adaptiveLoops : loops;
  // a statement at each input of the window (forward), or at each output whose window has the input (backward)
  const inside = backward ? narrow : wide;
  const guarded = (statement: string): string => `    ${inside.lets}\n    if (${inside.inside}) ${statement}`;
  const atEach = (statement: string): string => windows(adaptive ? `    ${statement}` : guarded(statement));
  const here = ravel(I, sizesOf(nd, "x"));
  const maxForward = (): string => `  var best = -tl_inf();
  var found = -1;
  ${adaptive ? bounds : ""}
${atEach(`{
      let v = ld_x(p.xo + ${at});
      let wins = tl_isnan(v) | (!tl_isnan(best) & ((found < 0) | (v > best)));
      best = select(best, v, wins); found = select(found, ${here}, wins);
    }`)}  st_y(p.yo + i32(gid), ${castTo("best", "float32", dtype)});
  ${idx ? "st_idx(p.idxo + i32(gid), tl_i64(found));" : ""}`;
  const maxBackward = (): string => `  var r = 0.0;
  let self_at = ${here};
${atEach(`{
      let o = ${outAt};
      if (i32(ld_idx(p.idxo + o).x) == self_at) { r += ld_gy(p.gyo + o); }
    }`)}`;
  const columnsForward = (): string => {
    const kernel = params.kernel.map((k) => `${k}u`);
    return `  ${unravel("w", `u32(plane % ${taps})`, kernel)}
  plane = plane / ${taps};
  var r = 0.0;
${guarded(`{ r = ld_x(p.xo + ${at}); }`)}`;
  };
  const columnsBackward = (): string => {
    const tap = ravel(
      range(nd).map((d) => `w${d}`),
      params.kernel.map(String),
    );
    return `  var r = 0.0;
${atEach(`{
      r += ld_gy(p.gyo + (plane * ${taps} + ${tap}) * ${py} + ${ravel(O, sizesOf(nd, "y"))});
    }`)}`;
  };
  const mean = (): string => {
    const by = adaptive ? `f32(${width})` : divisor;
    if (!backward)
      return `  var r = 0.0;\n  ${adaptive ? bounds : ""}\n${atEach(`{ r += ld_x(p.xo + ${at}); }`)}  r = r / ${by};`;
    return `  var r = 0.0;\n${atEach(`{ ${adaptive ? bounds : ""} r += ld_gy(p.gyo + ${outAt}) / ${by}; }`)}`;
  };
  let body: string;
  if (max) body = backward ? maxBackward() : maxForward();
  else if (columns) body = backward ? columnsBackward() : columnsForward();
  else body = mean();
  if (!max || backward) body += `\n  st_${dst}(p.${dst}o + i32(gid), ${castTo("r", "float32", dtype)});`;
  return makeKernel("pool", params, { bindings, uniforms, globals, main: head + body }, (u) =>
    linearGrid(value(u, "planes") * many * product(range(nd).map((d) => value(u, `${own}${d}`)))),
  );
}
