/** The reductions. Each has a state, and says how an element changes it, how two states merge, and the result. */
import { type Compute, type DType, UnsupportedKernelError } from "../spec";
import { extreme } from "./subgroup";

/** The index of a reduction is its number in the core's descriptions of kernels (runtime/described.ts). */
export const REDUCTIONS = [
  "sum",
  "mean",
  "prod",
  "amax",
  "amin",
  "any",
  "all",
  "argmax",
  "argmin",
  "count_nonzero",
  "norm2",
  "var",
  "std",
  "rstd",
  "logsumexp",
] as const;
export type ReduceOp = (typeof REDUCTIONS)[number];

export interface Reduction {
  /** WGSL types of the state variables and their start values. */
  readonly vars: readonly { readonly type: Compute; readonly init: string }[];
  /** New values of the state s0, s1.. for an element x at position r. */
  step(s: readonly string[], x: string, r: string): string[];
  merge(a: readonly string[], b: readonly string[]): string[];
  /** The state joined over a subgroup by the device's own operation. Without it, by merge and shuffles. */
  readonly native?: (s: string) => string;
  /** Result from the state; n is the row's length (i32 text). */
  finish(s: readonly string[], n: string): string;
  /** Compute class of the result. */
  readonly result: Compute;
}

const ZERO: { readonly [C in Compute]: string } = { f32: "0.0", i32: "0i", i64: "vec2<u32>(0u)" };
const ONE: { readonly [C in Compute]: string } = { f32: "1.0", i32: "1i", i64: "vec2<u32>(1u, 0u)" };
const LOWEST: { readonly [C in Compute]: string } = {
  f32: "-tl_inf()",
  i32: "(-2147483647i - 1i)",
  i64: "vec2<u32>(0u, 0x80000000u)",
};
const HIGHEST: { readonly [C in Compute]: string } = {
  f32: "tl_inf()",
  i32: "2147483647i",
  i64: "vec2<u32>(0xffffffffu, 0x7fffffffu)",
};

const call =
  (c: Compute, f: string, i: string, l: string) =>
  (a: string, b: string): string =>
    applied({ f32: f, i32: i, i64: l }[c], a, b);
/** The text of a merge: an operator goes between its operands, a function before them. */
const applied = (f: string, a: string, b: string): string => (f.length === 1 ? `(${a} ${f} ${b})` : `${f}(${a}, ${b})`);

const truthOf = (c: Compute, x: string): string =>
  ({ f32: `tl_truth_f32(${x})`, i32: `(${x} != 0)`, i64: `any(${x} != vec2<u32>(0u))` })[c];

function fold(
  c: Compute,
  init: string,
  f: (a: string, b: string) => string,
  finish = (s: string, _n: string): string => s,
): Reduction {
  return {
    vars: [{ type: c, init }],
    result: c,
    step: (s, x) => [f(s[0]!, x)],
    merge: (a, b) => [f(a[0]!, b[0]!)],
    finish: (s, n) => finish(s[0]!, n),
  };
}

/** Whether (a, ia) wins over (b, ib): NaN first, then the larger (smaller) value, then the lower position. */
function before(c: Compute, largest: boolean, a: string, ia: string, b: string, ib: string): string {
  const [hi, lo] = largest ? [b, a] : [a, b];
  const less = c === "i64" ? `tl_i64_lt(${hi}, ${lo})` : `(${hi} < ${lo})`;
  const same = c === "i64" ? `all(${a} == ${b})` : `(${a} == ${b})`;
  const earlier = `(${ia} < ${ib})`;
  const first = `(${less} || (${same} && ${earlier}))`;
  if (c !== "f32") return first;
  return `select(!tl_isnan(${b}) && ${first}, !tl_isnan(${b}) || ${earlier}, tl_isnan(${a}))`;
}

function arg(c: Compute, largest: boolean): Reduction {
  const pick = (a: readonly string[], b: readonly string[]): string[] => {
    const w = before(c, largest, b[0]!, b[1]!, a[0]!, a[1]!);
    return [`select(${a[0]}, ${b[0]}, ${w})`, `select(${a[1]}, ${b[1]}, ${w})`];
  };
  return {
    vars: [
      { type: c, init: largest ? LOWEST[c] : HIGHEST[c] },
      { type: "i32", init: "2147483647i" },
    ],
    result: "i32",
    step: (s, x, r) => pick(s, [x, r]),
    merge: pick,
    finish: (s) => s[1]!,
  };
}

/** Count, mean and sum of squared deviations (Welford's method; Chan's for merging). */
function moments(finish: (m2: string, n: string) => string): Reduction {
  return {
    vars: [
      { type: "f32", init: "0.0" },
      { type: "f32", init: "0.0" },
      { type: "f32", init: "0.0" },
    ],
    result: "f32",
    step: (s, x) => {
      const k = `(${s[0]} + 1.0)`,
        d = `(${x} - ${s[1]})`;
      return [k, `${s[1]} + ${d} / ${k}`, `${s[2]} + ${d} * ${d} * (${s[0]} / ${k})`];
    },
    merge: (a, b) => {
      const n = `max(${a[0]} + ${b[0]}, 1.0)`,
        d = `(${b[1]} - ${a[1]})`;
      return [
        `${a[0]} + ${b[0]}`,
        `${a[1]} + ${d} * (${b[0]} / ${n})`,
        `${a[2]} + ${b[2]} + ${d} * ${d} * (${a[0]} * ${b[0]} / ${n})`,
      ];
    },
    finish: (s, n) => finish(s[2]!, n),
  };
}

export function reduction(op: ReduceOp, c: Compute, dtype: DType): Reduction {
  const add = call(c, "+", "+", "tl_i64_add");
  const float = (r: Reduction): Reduction => {
    if (c !== "f32") throw new UnsupportedKernelError(op, dtype);
    return r;
  };
  // no subgroup operation takes two words
  const native = (name: string): Pick<Reduction, "native"> =>
    c === "i64" ? {} : { native: (s) => `subgroup${name}(${s})` };
  switch (op) {
    case "sum":
      return { ...fold(c, ZERO[c], add), ...native("Add") };
    case "mean":
      return float({ ...fold(c, ZERO[c], add, (s, n) => `tl_div(${s}, f32(${n}))`), ...native("Add") });
    case "norm2":
      return float({
        ...fold(c, ZERO[c], add, (s) => `tl_sqrt(${s})`),
        ...native("Add"),
        step: (s, x) => [`${s[0]} + ${x} * ${x}`],
      });
    case "prod":
      return { ...fold(c, ONE[c], call(c, "*", "*", "tl_i64_mul")), ...native("Mul") };
    case "amax":
      return {
        ...fold(c, LOWEST[c], call(c, "tl_max", "max", "tl_i64_max")),
        ...(c === "f32" ? { native: (s) => extreme(true, s) } : native("Max")),
      };
    case "amin":
      return {
        ...fold(c, HIGHEST[c], call(c, "tl_min", "min", "tl_i64_min")),
        ...(c === "f32" ? { native: (s) => extreme(false, s) } : native("Min")),
      };
    case "any":
      return {
        ...fold("i32", "0i", (a, b) => `(${a} | ${b})`),
        native: (s) => `subgroupOr(${s})`,
        step: (s, x) => [`select(${s[0]}, 1i, ${truthOf(c, x)})`],
      };
    case "all":
      return {
        ...fold("i32", "1i", (a, b) => `(${a} & ${b})`),
        native: (s) => `subgroupAnd(${s})`,
        step: (s, x) => [`select(0i, ${s[0]}, ${truthOf(c, x)})`],
      };
    case "count_nonzero":
      return {
        ...fold("i32", "0i", (a, b) => `(${a} + ${b})`),
        native: (s) => `subgroupAdd(${s})`,
        step: (s, x) => [`${s[0]} + select(0i, 1i, ${truthOf(c, x)})`],
      };
    case "argmax":
      return arg(c, true);
    case "argmin":
      return arg(c, false);
    case "var":
      return float(moments((m, n) => `tl_div(${m}, max(f32(${n}) - p.correction, 0.0))`));
    case "std":
      return float(moments((m, n) => `tl_sqrt(tl_div(${m}, max(f32(${n}) - p.correction, 0.0)))`));
    case "rstd":
      return float(moments((m, n) => `tl_div(1.0, tl_sqrt(tl_div(${m}, f32(${n})) + p.eps))`));
    case "logsumexp":
      return float({
        vars: [
          { type: "f32", init: "-tl_inf()" },
          { type: "f32", init: "0.0" },
        ],
        result: "f32",
        step: (s, x) => [`tl_max(${s[0]}, ${x})`, `tl_lse_join(${s[0]}, ${s[1]}, ${x}, 1.0)`],
        merge: (a, b) => [`tl_max(${a[0]}, ${b[0]})`, `tl_lse_join(${a[0]}, ${a[1]}, ${b[0]}, ${b[1]})`],
        finish: (s) => `tl_lse_finish(${s[0]}, ${s[1]})`,
      });
  }
}
