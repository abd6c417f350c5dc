/**
 * Matrix products: out = alpha * A B + beta * bias with any strides on A, B and bias and two batch dims; float32,
 * float16 and bfloat16 with float32 accumulation. planMatmul picks the tile and cuts long sums into parts. For vectors
 * and for integers it uses the reduction kernels (exact, int64 included).
 */
import { isFloat, type Step, UnsupportedKernelError, type Values, value } from "../spec";
import { chooseTile, splitK, TILES } from "./gemm";
import { matmul } from "./matmul_kernel";
import { type MatmulPlan, operandOf, placeWords } from "./matmul_operands";
import { finish, joinParts, planProductSum } from "./matmul_sums";

/** The number of multiplications from which on a second dispatch pays off. */
const LONG = 1 << 16;

const fours = (v: Values, ...names: string[]): boolean => names.every((n) => value(v, n) % 4 === 0);

/** The words of the transposed product, B^T A^T, whose result is the transpose. */
function transposed(v: Values): Values {
  const other: Readonly<Record<string, string>> = {
    M: "N",
    N: "M",
    am: "bn",
    ak: "bk",
    bk: "ak",
    bn: "am",
    cm: "cn",
    cn: "cm",
    em: "en",
    en: "em",
    ao: "bo",
    bo: "ao",
    ab0: "bb0",
    bb0: "ab0",
    ab1: "bb1",
    bb1: "ab1",
  };
  return Object.fromEntries(
    Object.entries(v).map(([name, x]) => [other[name] ?? name.replace(/^[ab](?=_)/, (t) => swap(t)), x]),
  );
}
const swap = (t: string): string => (t === "a" ? "b" : "a");

/**
 * The kernels of one product. Buffers: a, b (with a prologue its inputs a0.., b0..; a and b are scratch then), [e], c
 * (with an epilogue its inputs and outputs instead). Scratch: part, float32 of splits * batches * M * N; sum and
 * product, each of the result's size.
 */
export function planMatmul(plan: MatmulPlan): Step[] {
  const { values: v, bias, out, after } = plan;
  const [M, N, K, batches, nb1] = ["M", "N", "K", "batches", "nb1"].map((n) => value(v, n)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  // a CPU sums columns side by side faster than one by one, so a matrix times a vector runs as the transposed product
  if (plan.software && isFloat(plan.a) && N === 1 && M > 1) {
    const { first, second, ...rest } = plan;
    return planMatmul({
      ...rest,
      ...(second && { first: second }),
      ...(first && { second: first }),
      a: plan.b,
      b: plan.a,
      values: transposed(v),
    }).map((s) => ({ ...s, buffers: s.buffers.map((x) => x.replace(/^[ab](?=\d*$)/, swap)) }));
  }
  const plain = !bias && !after && (v["alpha"] ?? 1) === 1;
  const c = (n: string): number => v[n] ?? 0;
  // the kernels that sum parts and add a bias write contiguous results
  const ordered =
    (N <= 1 || c("cn") === 1) &&
    (M <= 1 || c("cm") === N) &&
    (nb1 <= 1 || c("cb1") === M * N) &&
    (batches <= nb1 || c("cb0") === nb1 * M * N);
  if (!isFloat(plan.a) || (!plan.software && plain && ordered && (M === 1 || N === 1) && K > 0)) {
    if (after || !plain || !ordered)
      throw new UnsupportedKernelError(
        plain ? "matmul" : "addmm",
        plan.a,
        plain ? "needs a contiguous result" : "has no WebGPU kernel for integers",
      );
    return planProductSum(plan, nb1);
  }
  // a long vector with an added bias: a tile would compute nearly all of its rows in vain
  if (!plan.software && !plain && ordered && (M === 1 || N === 1) && K > 0 && K * M * N * batches >= LONG)
    return [...planProductSum({ ...plan, out: "float32" }, nb1, "sum"), ...finish(plan, nb1)];
  const choice = chooseTile(M, N, K, batches, plan.software);
  const { tile } = choice,
    splits = ordered ? choice.splits : 1;
  const aFast = value(v, "am") === 1 && value(v, "ak") !== 1 ? "m" : "k";
  const bFast = value(v, "bn") === 1 ? "n" : "k";
  const software = plan.software ?? false,
    { bm, bn } = TILES[tile];
  const [x, y] = [operandOf(plan, "a", Math.ceil(N / bn), software), operandOf(plan, "b", Math.ceil(M / bm), software)];
  const own = { ...v, ...placeWords("a", x), ...placeWords("b", y) };
  const shared = TILES[tile].bk > 0;
  const vecA =
    !x.inline &&
    fours(v, "ao", "ab0", "ab1") &&
    (aFast === "m" ? fours(v, "M", "ak") : shared && value(v, "ak") === 1 && fours(v, "K", "am"));
  const vecB =
    !y.inline &&
    fours(v, "bo", "bb0", "bb1") &&
    (bFast === "n" ? fours(v, "N", "bk") : shared && value(v, "bk") === 1 && fours(v, "K", "bn"));
  const f16 = plan.f16 && !software && ((plan.a === "float16" && !x.inline) || (plan.b === "float16" && !y.inline));
  const common = {
    a: plan.a,
    b: plan.b,
    out,
    tile,
    aFast,
    bFast,
    ...(f16 && { f16 }),
    ...(vecA && { vecA }),
    ...(vecB && { vecB }),
    ...(x.inline && { first: x.inline }),
    ...(y.inline && { second: y.inline }),
  } as const;
  const steps: Step[] = [...x.steps, ...y.steps];
  if (splits === 1) {
    const kernel = matmul({ ...common, ...(bias && { bias }), ...(after && { after }) });
    return [...steps, { kernel, values: { alpha: 1, beta: 1, ...own }, buffers: kernel.bindings.map((x) => x.name) }];
  }
  const parts = splitK(K, splits);
  const rows = batches * M * N;
  const partial = matmul({ ...common, split: true });
  steps.push({
    kernel: partial,
    values: { ...own, ...parts },
    buffers: partial.bindings.map(({ name }) => (name === "c" ? "part" : name)),
  });
  const toOut = plain ? out : "float32";
  steps.push(joinParts(rows, parts["splits"]!, toOut, value(v, "co"), plain ? "c" : "sum"));
  if (plain) return steps;
  return [...steps, ...finish(plan, nb1)];
}
