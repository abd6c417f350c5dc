/**
 * Depthwise convolution: every input channel has its own `mult` filters (groups = channels). Direct sums, one
 * invocation an output element; the weight gradient takes a workgroup for each filter tap. Layouts as in conv.ts.
 */
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { type EpilogueGraph, epilogue } from "../elementwise/epilogue";
import { BUFFERS } from "./conv_params";
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
  WORKGROUP,
  range,
} from "../spec";
import { rowJoin, rowTools } from "../rows/row";
import { subgroupHead } from "../rows/subgroup";
import {
  imageWords,
  narrowCoords,
  pixels,
  product,
  ravel,
  sizesOf,
  unravel,
  wideCoords,
  type Window,
} from "../image/window";

export interface DepthwiseParams extends Window {
  readonly pass: "forward" | "input" | "weight";
  readonly dtype: DType;
  readonly bias?: boolean;
  /** Epilogue; its outputs are stored in place of the result. Not for the weights' gradient. */
  readonly after?: EpilogueGraph;
  /**
   * An invocation computes four neighbouring places of a row, which share their reads. Not for gradients of strided
   * convolutions, nor for the weights' gradient.
   */
  readonly rows?: boolean;
  /** The weights' gradient joins its sums through subgroups. The device must have the feature. */
  readonly subgroups?: boolean;
}

/** Whether a kernel with `rows` exists for these parameters. Its window is unrolled along the row. */
export const inRows = (w: Window, pass: DepthwiseParams["pass"]): boolean =>
  w.kernel.at(-1)! <= 11 && (pass === "forward" || (pass === "input" && w.stride.every((s) => s === 1)));

/** Uniforms: batch, channels (of the wide image), mult; images; <buffer>o. Buffers: x w [bias] y; gy w gx; gy x gw. */
export function depthwise(params: DepthwiseParams): Kernel {
  const { pass, dtype, bias, subgroups = false } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("convolution", dtype);
  const nd = params.kernel.length,
    taps = product(params.kernel);
  const [first, second, out] = BUFFERS[pass];
  const after = params.after && epilogue(params.after, dtype);
  const bindings: Binding[] = [
    input(first, dtype),
    input(second, dtype),
    ...(bias ? [input("bias", dtype)] : []),
    ...(after?.bindings ?? [output(out, dtype)]),
  ];
  const uniforms: UniformWord[] = [
    ...uniform("u32", "batch", "channels", "mult"),
    ...imageWords(nd),
    ...offsets(first, second, ...(bias ? ["bias"] : []), out),
    ...(after?.uniforms ?? []),
  ];
  const globals =
    [first, second, ...(bias ? ["bias"] : [])].map((n) => accessors(n, dtype, "elem", false)).join("\n") +
    `\n${after?.globals ?? accessors(out, dtype, outForm(dtype), true)}`;
  const stored = (i: string, r: string): string => `${after ? "finish(" : `st_${out}(p.${out}o + `}${i}, ${r});`;
  const O = range(nd).map((d) => `o${d}`),
    I = range(nd).map((d) => `i${d}`);
  const wide = wideCoords(params),
    narrow = narrowCoords(params);
  const loops = (body: string): string => {
    const heads = params.kernel.map((k, d) => `for (var w${d} = 0; w${d} < ${k}; w${d}++) {`);
    return `${heads.join(" ")}\n${body}\n  ${"}".repeat(nd)}`;
  };
  const tap = ravel(
    range(nd).map((d) => `w${d}`),
    params.kernel.map(String),
  );
  const py = `i32(${pixels(nd, "y")})`,
    px = `i32(${pixels(nd, "x")})`;
  const result = castTo("r", "float32", dtype);
  let main: string;
  let extra = "";
  if (params.rows) {
    main = rowsText(params, stored);
  } else if (pass === "forward") {
    main = `  let total = p.batch * p.channels * p.mult * u32(${py});
  if (gid >= total) { return; }
  let plane = i32(gid) / ${py};
  ${unravel("o", `gid % u32(${py})`, sizesOf(nd, "y"))}
  let filt = plane % i32(p.channels * p.mult);
  let base = (plane / i32(p.channels * p.mult) * i32(p.channels) + filt / i32(p.mult)) * ${px};
  var sum = 0.0;
  ${loops(`    ${wide.lets}\n    if (${wide.inside}) {
    sum += ld_x(p.xo + base + ${ravel(I, sizesOf(nd, "x"))}) * ld_w(p.wo + filt * ${taps} + ${tap});
  }`)}
  let r = sum${bias ? " + ld_bias(p.biaso + filt)" : ""};
  ${stored("i32(gid)", result)}`;
  } else if (pass === "input") {
    main = `  let total = p.batch * p.channels * u32(${px});
  if (gid >= total) { return; }
  let plane = i32(gid) / ${px};
  ${unravel("i", `gid % u32(${px})`, sizesOf(nd, "x"))}
  let ch = plane % i32(p.channels);
  var r = 0.0;
  for (var f = 0; f < i32(p.mult); f++) {
  let filt = ch * i32(p.mult) + f;
  let base = (plane / i32(p.channels) * i32(p.channels * p.mult) + filt) * ${py};
  ${loops(`    ${narrow.lets}\n    if (${narrow.inside}) {
    r += ld_gy(p.gyo + base + ${ravel(O, sizesOf(nd, "y"))}) * ld_w(p.wo + filt * ${taps} + ${tap});
  }`)}
  }
  ${stored("i32(gid)", result)}`;
  } else {
    const by = { lanes: WORKGROUP, subgroups };
    extra = subgroups ? `\n${rowTools(by, ["sum"])}` : `\nvar<workgroup> sums: array<f32, ${WORKGROUP}>;`;
    main = `  if (group >= p.channels * p.mult * ${taps}u) { return; }
  let filt = i32(group) / ${taps};
  ${unravel(
    "w",
    `group % ${taps}u`,
    params.kernel.map((k) => `${k}u`),
  )}
  var total = 0.0;
  let count = p.batch * u32(${py});
  var at = lane;
  while (at < count) {
    var part = 0.0;
    for (var j = 0; j < 32 && at < count; j++) {
      let img = i32(at) / ${py};
      ${unravel("o", `at % u32(${py})`, sizesOf(nd, "y"))}
      ${wide.lets}
      if (${wide.inside}) {
        part += ld_gy(p.gyo + (img * i32(p.channels * p.mult) + filt) * ${py} + i32(at) % ${py})
          * ld_x(p.xo + (img * i32(p.channels) + filt / i32(p.mult)) * ${px} + ${ravel(I, sizesOf(nd, "x"))});
      }
      at += ${WORKGROUP}u;
    }
    total += part;
  }
${
  subgroups
    ? `${subgroupHead(WORKGROUP)}\n  let r = ${rowJoin(by, "sum", "total")};`
    : `  sums[lane] = total;
  for (var s = ${WORKGROUP / 2}u; s > 0u; s = s >> 1u) {
    workgroupBarrier(); if (lane < s) { sums[lane] += sums[lane + s]; }
  }
  let r = sums[0];`
}
  if (lane == 0u) { st_gw(p.gwo + i32(group), ${result}); }`;
  }
  return makeKernel("depthwise", params, { bindings, uniforms, globals: globals + extra, main, subgroups }, (u) => {
    const image = (t: "x" | "y"): number => product(range(nd).map((d) => value(u, `${t}${d}`)));
    const filters = value(u, "channels") * value(u, "mult");
    if (pass === "weight") return linearGrid(filters * taps, 1);
    if (params.rows) {
      const own = pass === "forward" ? "y" : "x",
        width = value(u, `${own}${nd - 1}`);
      return linearGrid(
        value(u, "batch") *
          (pass === "forward" ? filters : value(u, "channels")) *
          (image(own) / width) *
          Math.ceil(width / 4),
      );
    }
    return linearGrid(
      value(u, "batch") * (pass === "forward" ? filters * image("y") : value(u, "channels") * image("x")),
    );
  });
}

/**
 * The body of the kernel with `rows`: result[o] = sum over the window of source[o * stride + w * dilation - padding]
 * times a weight; in the gradient the window runs backwards.
 */
function rowsText(params: DepthwiseParams, stored: (i: string, r: string) => string): string {
  const { pass, kernel, dilation, bias } = params;
  const forward = pass === "forward",
    nd = kernel.length,
    last = nd - 1,
    taps = product(kernel);
  const [to, from, source] = forward ? ["y", "x", "x"] : ["x", "y", "gy"];
  const stride = forward ? params.stride : kernel.map(() => 1);
  const before = kernel.map((k, d) => (forward ? params.padding[d]! : (k - 1) * dilation[d]! - params.padding[d]!));
  const channel = forward ? "p.channels * p.mult" : "p.channels";
  const outer = range(last),
    four = range(4);
  const steps = range(kernel[last]!).map((w) => (forward ? w : kernel[last]! - 1 - w) * dilation[last]!);
  const columns = [...new Set(four.flatMap((q) => steps.map((e) => q * stride[last]! + e)))].sort((a, b) => a - b);
  const width = `i32(p.${from}${last})`;
  const tap = ravel(
    [...outer.map((d) => (forward ? `w${d}` : `(${kernel[d]! - 1} - w${d})`)), "0"],
    kernel.map(String),
  );
  // offset of a plane: the input of an output channel, or the gradient of one of an input's channels
  const plane = forward
    ? "(plane / i32(p.channels * p.mult) * i32(p.channels) + filt / i32(p.mult))"
    : "(plane / i32(p.channels) * i32(p.channels * p.mult) + filt)";
  const windowLoops = outer.map(
    (d) =>
      `for (var w${d} = 0; w${d} < ${kernel[d]}; w${d}++) { ` +
      `let i${d} = o${d} * ${stride[d]} + w${d} * ${dilation[d]} - ${before[d]};`,
  );
  const line = ravel(
    outer.map((d) => `clamp(i${d}, 0, i32(p.${from}${d}) - 1)`),
    sizesOf(nd, from as "x").slice(0, last),
  );
  const addTap = (w: number): string =>
    four.map((q) => `s${q} = fma(v${q * stride[last]! + steps[w]!}, k${w}, s${q});`).join(" ");
  const value = castTo("v", "float32", params.dtype);
  return `  let tiles = (p.${to}${last} + 3u) / 4u;
  let lines = ${["1u", ...outer.map((d) => `p.${to}${d}`)].join(" * ")};
  if (gid >= p.batch * ${channel} * lines * tiles) { return; }
  let line = gid / tiles; let o${last} = i32(gid % tiles) * 4;
  let plane = i32(line / lines);
  ${last ? unravel("o", "line % lines", sizesOf(nd, to as "x").slice(0, last)) : ""}
  let ch = plane % i32(${channel});
  ${columns
    .map(
      (e) => `let at${e} = o${last} * ${stride[last]} + ${e} - ${before[last]};
  let in${e} = (at${e} >= 0) & (at${e} < ${width}); let c${e} = clamp(at${e}, 0, ${width} - 1);`,
    )
    .join("\n  ")}
  ${four.map((q) => `var s${q} = 0.0;`).join(" ")}
  for (var f = 0; f < ${forward ? "1" : "i32(p.mult)"}; f++) {
  let filt = ${forward ? "ch" : "ch * i32(p.mult) + f"};
  let base = p.${source}o + ${plane} * i32(${pixels(nd, from as "x")});
  ${windowLoops.join(" ")}
    let ok = ${["true", ...outer.map((d) => `(i${d} >= 0) & (i${d} < i32(p.${from}${d}))`)].join(" & ")};
    let row = base + ${last ? `(${line}) * ${width}` : "0"};
    let k = p.wo + filt * ${taps} + ${tap};
    ${columns.map((e) => `let v${e} = select(0.0, ld_${source}(row + c${e}), in${e} & ok);`).join(" ")}
    ${range(kernel[last]!)
      .map((w) => `let k${w} = ld_w(k + ${w}); ${addTap(w)}`)
      .join("\n    ")}
  ${"}".repeat(last)}
  }
  let to_ = i32(line) * i32(p.${to}${last}) + o${last};
  ${four
    .map(
      (q) => `if (o${last} + ${q} < i32(p.${to}${last})) {
    let v = s${q}${bias ? " + ld_bias(p.biaso + ch)" : ""}; ${stored(`to_ + ${q}`, value)}
  }`,
    )
    .join("\n  ")}`;
}
