/** Sliding windows over one to three spatial dims, for convolution and pooling. Images are [batch, channel, ...]. */
import { range, type UniformWord, uniform } from "../spec";

export interface Window {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

export const product = (x: readonly number[]): number => x.reduce((a, b) => a * b, 1);

/** Sizes of the wide image (input of a convolution) x0.. and of the narrow one (its output) y0... */
export const imageWords = (nd: number): UniformWord[] =>
  uniform("u32", ...range(nd).map((d) => `x${d}`), ...range(nd).map((d) => `y${d}`));

/** Text for the number of pixels of an image: p.x0 * p.x1 ... */
export const pixels = (nd: number, t: "x" | "y"): string =>
  range(nd)
    .map((d) => `p.${t}${d}`)
    .join(" * ");

/** Statements `let <name>0 = ...` (i32): the coordinates of the row-major index `from`. Arguments are WGSL texts. */
export function unravel(name: string, from: string, sizes: readonly string[]): string {
  let text = `var ${name}_r = ${from}; `;
  for (let d = sizes.length - 1; d > 0; d--)
    text += `let ${name}${d} = i32(${name}_r % ${sizes[d]}); ${name}_r = ${name}_r / ${sizes[d]}; `;
  return `${text}let ${name}0 = i32(${name}_r);`;
}
/** Row-major index of coordinates (i32 texts). */
export const ravel = (coords: readonly string[], sizes: readonly string[]): string =>
  coords.reduce((acc, c, d) => (d === 0 ? c : `(${acc}) * i32(${sizes[d]}) + ${c}`), "");

export const sizesOf = (nd: number, t: "x" | "y"): string[] => range(nd).map((d) => `p.${t}${d}`);

/**
 * Coordinates i<d> of the wide image for output coordinates o<d> and window coordinates w<d>, and the test that they
 * are inside.
 */
export function wideCoords(w: Window): { lets: string; inside: string } {
  const nd = w.kernel.length;
  return {
    lets: range(nd)
      .map((d) => `let i${d} = o${d} * ${w.stride[d]} + w${d} * ${w.dilation[d]} - ${w.padding[d]};`)
      .join(" "),
    inside: range(nd)
      .map((d) => `(i${d} >= 0) & (i${d} < i32(p.x${d}))`)
      .join(" & "),
  };
}

/** The reverse: the output coordinates o<d> whose window has its tap w<d> at i<d>. `inside`: whether they exist. */
export function narrowCoords(w: Window): { lets: string; inside: string } {
  const nd = w.kernel.length;
  return {
    lets: range(nd)
      .map((d) => `let q${d} = i${d} + ${w.padding[d]} - w${d} * ${w.dilation[d]}; let o${d} = q${d} / ${w.stride[d]};`)
      .join(" "),
    inside: range(nd)
      .map((d) => `(q${d} >= 0) & ${w.stride[d] === 1 ? "" : `(q${d} % ${w.stride[d]} == 0) & `}(o${d} < i32(p.y${d}))`)
      .join(" & "),
  };
}
