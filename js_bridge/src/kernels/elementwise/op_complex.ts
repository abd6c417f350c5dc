/**
 * Complex functions by parts: complex_<name>(re, im, part) and complex_<name>(re, im, re, im, part) give one part of
 * the result. Part 0 is the real one, part 1 the imaginary one.
 */
import { float, type OpDef } from "./op_def";

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

type ComplexName = `complex_${(typeof UNARY)[number] | (typeof BINARY)[number]}`;

export const COMPLEX_OPS = Object.fromEntries([
  ...UNARY.map((name) => [`complex_${name}`, float(`tl_c_part(tl_c_${name}(vec2<f32>(x, y)), z)`, 3)]),
  ...BINARY.map((name) => [
    `complex_${name}`,
    float(`tl_c_part(tl_c_${name}(vec2<f32>(x, y), vec2<f32>(z, w)), v)`, 5),
  ]),
]) as { readonly [K in ComplexName]: OpDef };
