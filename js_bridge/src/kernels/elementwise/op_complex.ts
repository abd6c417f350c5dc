/** Complex functions by parts: complex_<name>(re, im, part) and complex_<name>(re, im, re, im, part) give one part of the result, part 0 or 1. */
import type { OpDef } from "./op_table";

const UNARY = [
  "square",
  "reciprocal",
  "sgn",
  "exp",
  "exp2",
  "expm1",
  "log",
  "log2",
  "log10",
  "log1p",
  "sqrt",
  "rsqrt",
  "sinh",
  "cosh",
  "tanh",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "acosh",
  "asinh",
  "atanh",
  "atan",
  "sigmoid",
  "silu",
  "sinc",
] as const;
const BINARY = ["mul", "div", "pow", "logaddexp"] as const;

export type ComplexName = `complex_${(typeof UNARY)[number] | (typeof BINARY)[number]}`;

const F = (f: string, arity: number): OpDef => ({ arity, result: "float", f });

export const COMPLEX_OPS = Object.fromEntries([
  ...UNARY.map((name) => [`complex_${name}`, F(`tl_c_part(tl_c_${name}(vec2<f32>(x, y)), z)`, 3)]),
  ...BINARY.map((name) => [`complex_${name}`, F(`tl_c_part(tl_c_${name}(vec2<f32>(x, y), vec2<f32>(z, w)), v)`, 5)]),
]) as { readonly [K in ComplexName]: OpDef };
