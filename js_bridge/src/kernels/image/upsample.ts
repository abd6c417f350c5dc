/**
 * Resampling of images [planes, ...] in one to three dims, as torch.nn.functional.interpolate without antialiasing, and
 * its gradient. Every output element is a weighted sum over `taps` neighbours along each dim; a neighbour beyond the
 * edge is the edge element. The gradient gathers: an input element visits the outputs that may have used it and adds
 * their weighted gradients. So it needs no atomics and is reproducible.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  computeOf,
  type DType,
  type Kernel,
  linearGrid,
  offsets,
  uniform,
  UnsupportedKernelError,
  value,
  range,
} from "../spec";
import { imageWords, pixels, product, ravel, sizesOf, unravel } from "./window";

export interface UpsampleParams {
  readonly mode: "nearest" | "nearest-exact" | "linear" | "cubic";
  readonly ndim: number;
  readonly dtype: DType;
  readonly align?: boolean;
  readonly backward?: boolean;
}

const TAPS = { nearest: 1, "nearest-exact": 1, linear: 2, cubic: 4 } as const;

/** fn place(o, scale, n): first tap (before clamping) and the fraction behind it; fn weight(j, f): weight of tap j. */
function tools({ mode, align }: UpsampleParams): string {
  const at = {
    nearest: "f32(o) * scale",
    "nearest-exact": "(f32(o) + 0.5) * scale",
    linear: align ? "f32(o) * scale" : "max((f32(o) + 0.5) * scale - 0.5, 0.0)",
    cubic: align ? "f32(o) * scale" : "(f32(o) + 0.5) * scale - 0.5",
  }[mode];
  const weight = {
    nearest: "return 1.0;",
    "nearest-exact": "return 1.0;",
    linear: "return select(1.0 - f, f, j == 1);",
    // Keys' kernel with A = -0.75
    cubic: `let d = abs(f + 1.0 - f32(j));
  if (d <= 1.0) { return (1.25 * d - 2.25) * d * d + 1.0; }
  return ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0;`,
  }[mode];
  return `fn place(o: i32, scale: f32, n: i32) -> vec2<f32> {
  let s = ${at};
  let b = ${mode === "cubic" ? "floor(s)" : "min(floor(s), f32(n - 1))"};
  return vec2<f32>(b${mode === "cubic" ? " - 1.0" : ""}, s - b);
}
fn weight(j: i32, f: f32) -> f32 { ${weight} }
fn edge(i: i32, n: i32) -> i32 { return clamp(i, 0, n - 1); }`;
}

/**
 * Uniforms: planes; images x<d> (before), y<d> (after); scale0.. (input pixels per output pixel); <buffer>o. Buffers:
 * x, y; backward gy, gx.
 */
export function upsample(params: UpsampleParams): Kernel {
  const { mode, ndim: nd, dtype, align, backward } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("upsample", dtype);
  if (nd < 1 || nd > 3 || (mode === "cubic" && nd !== 2))
    throw new UnsupportedKernelError("upsample", dtype, `${mode} has no WebGPU kernel in ${nd} dims`);
  const [src, dst] = backward ? ["gy", "gx"] : ["x", "y"];
  const bindings = [input(src!, dtype), output(dst!, dtype)];
  const uniforms = [
    ...uniform("u32", "planes"),
    ...imageWords(nd),
    ...uniform("f32", ...range(nd).map((d) => `scale${d}`)),
    ...offsets(src!, dst!),
  ];
  const globals = [
    tools(params),
    accessors(src!, dtype, "elem", false),
    accessors(dst!, dtype, outForm(dtype), true),
  ].join("\n");
  const taps = TAPS[mode];
  const D = range(nd),
    own = backward ? ("x" as const) : ("y" as const);
  const px = `i32(${pixels(nd, "x")})`,
    py = `i32(${pixels(nd, "y")})`,
    ownPixels = backward ? px : py;
  const head = `  if (gid >= p.planes * u32(${ownPixels})) { return; }
  let plane = i32(gid) / ${ownPixels};
  ${unravel(backward ? "i" : "o", `gid % u32(${ownPixels})`, sizesOf(nd, own))}
  var sum = 0.0;`;
  const places = D.map((d) => `let b${d} = place(o${d}, p.scale${d}, i32(p.x${d}));`).join(" ");
  const shift = align || mode === "nearest" ? "0.0" : "0.5";
  // outputs that may have used i<d>: those whose taps reach it, and at an edge all outputs beyond it
  const outputsOf = (d: number): string => `  // outputs that may have used i${d}
  var first${d} = 0;
  var last${d} = i32(p.y${d}) - 1;
  if (p.scale${d} > 0.0) {
    let shift = ${shift};
    if (i${d} > 0) { first${d} = max(i32(floor((f32(i${d}) - ${taps}.0) / p.scale${d} - shift)) - 1, 0); }
    if (i${d} < i32(p.x${d}) - 1) { last${d} = min(i32(ceil((f32(i${d}) + ${taps}.0) / p.scale${d})) + 1, last${d}); }
  }`;
  const outputLoop = (d: number): string => `for (var o${d} = first${d}; o${d} <= last${d}; o${d}++) {
    let b${d} = place(o${d}, p.scale${d}, i32(p.x${d}));
    var w${d} = 0.0;
    for (var j = 0; j < ${taps}; j++) {
      if (edge(i32(b${d}.x) + j, i32(p.x${d})) == i${d}) { w${d} += weight(j, b${d}.y); }
    }
    if (w${d} == 0.0) { continue; }`;
  const tapLoop = (d: number): string =>
    `for (var j${d} = 0; j${d} < ${taps}; j${d}++) { let i${d} = edge(i32(b${d}.x) + j${d}, i32(p.x${d}));`;
  const element = (x: string, t: "x" | "y"): string =>
    ravel(
      D.map((d) => `${x}${d}`),
      sizesOf(nd, t),
    );
  const back = `${D.map(outputsOf).join("\n")}
  ${D.map(outputLoop).join("\n  ")}
    sum += ${D.map((d) => `w${d}`).join(" * ")} * ld_gy(p.gyo + plane * ${py} + ${element("o", "y")});
  ${"}".repeat(nd)}`;
  const forward = `  ${places}
  ${D.map(tapLoop).join(" ")}
    sum += ${D.map((d) => `weight(j${d}, b${d}.y)`).join(" * ")} * ld_x(p.xo + plane * ${px} + ${element("i", "x")});
  ${"}".repeat(nd)}`;
  const main = `${head}
${backward ? back : forward}
  st_${dst}(p.${dst}o + i32(gid), ${castTo("sum", "float32", dtype)});`;
  return makeKernel("upsample", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(value(u, "planes") * product(D.map((d) => value(u, `${own}${d}`)))),
  );
}
