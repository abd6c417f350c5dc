/**
 * Depthwise convolution: every input channel has its own `mult` filters (groups = channels). Direct sums, one invocation an
 * output element; the weight gradient takes a workgroup for each filter tap. Layouts as in conv.ts.
 */
import { accessors, castTo, input, outForm, output } from "../wgsl/access.js";
import { buildModule } from "../wgsl/module.js";
import { type Activation, activate } from "./epilogue.js";
import { type Binding, computeOf, type DType, type Kernel, kernelKey, linearGrid, type UniformWord, offsets, uniform, UnsupportedKernelError, value, WORKGROUP } from "./spec.js";
import { imageWords, narrowCoords, pixels, product, range, ravel, sizesOf, unravel, wideCoords, type Window } from "./window.js";

export interface DepthwiseParams extends Window {
  readonly pass: "forward" | "input" | "weight";
  readonly dtype: DType;
  readonly bias?: boolean;
  readonly act?: Activation;
}

/** Uniforms: batch, channels (of the wide image), mult; images; <buffer>o. Buffers: x w [bias] y; gy w gx; gy x gw. */
export function depthwise(params: DepthwiseParams): Kernel {
  const { pass, dtype, bias, act } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("convolution", dtype);
  const nd = params.kernel.length, taps = product(params.kernel);
  const names = pass === "forward" ? ["x", "w", "y"] : pass === "input" ? ["gy", "w", "gx"] : ["gy", "x", "gw"];
  const [first, second, out] = names as [string, string, string];
  const bindings: Binding[] = [input(first, dtype), input(second, dtype), ...(bias ? [input("bias", dtype)] : []), output(out, dtype)];
  const uniforms: UniformWord[] = [...uniform("u32", "batch", "channels", "mult"), ...imageWords(nd), ...offsets(first, second, ...(bias ? ["bias"] : []), out)];
  const globals = [first, second, ...(bias ? ["bias"] : [])].map((n) => accessors(n, dtype, "elem", false)).join("\n") + `\n${accessors(out, dtype, outForm(dtype), true)}`;
  const O = range(nd).map((d) => `o${d}`), I = range(nd).map((d) => `i${d}`);
  const wide = wideCoords(params), narrow = narrowCoords(params);
  const loops = (body: string): string => `${params.kernel.map((k, d) => `for (var w${d} = 0; w${d} < ${k}; w${d}++) {`).join(" ")}\n${body}\n  ${"}".repeat(nd)}`;
  const tap = ravel(range(nd).map((d) => `w${d}`), params.kernel.map(String));
  const py = `i32(${pixels(nd, "y")})`, px = `i32(${pixels(nd, "x")})`;
  const result = castTo("r", "float32", dtype);
  let main: string;
  let extra = "";
  if (pass === "forward") {
    main = `  let total = p.batch * p.channels * p.mult * u32(${py});
  if (gid >= total) { return; }
  let plane = i32(gid) / ${py};
  ${unravel("o", `gid % u32(${py})`, sizesOf(nd, "y"))}
  let filt = plane % i32(p.channels * p.mult);
  let base = (plane / i32(p.channels * p.mult) * i32(p.channels) + filt / i32(p.mult)) * ${px};
  var sum = 0.0;
  ${loops(`    ${wide.lets}\n    if (${wide.inside}) { sum += ld_x(p.xo + base + ${ravel(I, sizesOf(nd, "x"))}) * ld_w(p.wo + filt * ${taps} + ${tap}); }`)}
  let v = sum${bias ? " + ld_bias(p.biaso + filt)" : ""};
  let r = ${activate(act, "v", dtype)};
  st_y(p.yo + i32(gid), ${result});`;
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
  ${loops(`    ${narrow.lets}\n    if (${narrow.inside}) { r += ld_gy(p.gyo + base + ${ravel(O, sizesOf(nd, "y"))}) * ld_w(p.wo + filt * ${taps} + ${tap}); }`)}
  }
  st_gx(p.gxo + i32(gid), ${result});`;
  } else {
    extra = `\nvar<workgroup> sums: array<f32, ${WORKGROUP}>;`;
    main = `  if (group >= p.channels * p.mult * ${taps}u) { return; }
  let filt = i32(group) / ${taps};
  ${unravel("w", `group % ${taps}u`, params.kernel.map((k) => `${k}u`))}
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
  sums[lane] = total;
  for (var s = ${WORKGROUP / 2}u; s > 0u; s = s >> 1u) { workgroupBarrier(); if (lane < s) { sums[lane] += sums[lane + s]; } }
  if (lane == 0u) { let r = sums[0]; st_gw(p.gwo + i32(group), ${result}); }`;
  }
  return {
    key: kernelKey("depthwise", params), bindings, uniforms, wgsl: buildModule({ bindings, uniforms, globals: globals + extra, main }),
    workgroups: (u) => {
      const image = (t: "x" | "y"): number => product(range(nd).map((d) => value(u, `${t}${d}`)));
      const filters = value(u, "channels") * value(u, "mult");
      if (pass === "weight") return linearGrid(filters * taps, 1);
      return linearGrid(value(u, "batch") * (pass === "forward" ? filters * image("y") : value(u, "channels") * image("x")));
    },
  };
}
