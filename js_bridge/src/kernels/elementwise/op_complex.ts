/**
 * Complex functions by parts. complex_<name>(re, im, part), or complex_<name>(re, im, re, im, part) of two operands,
 * computes the result's real part (part 0) or its imaginary part (part 1).
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
