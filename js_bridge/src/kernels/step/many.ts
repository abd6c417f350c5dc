/**
 * Several float32 tensors of any sizes in one dispatch, for clipping gradients. Each is dense and begins at its
 * buffer's beginning.
 */
import { input, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { type Kernel, linearGrid, range, uniform, UnsupportedKernelError, value, WORKGROUP } from "../spec";

export interface ManyParams {
  readonly op: "scale" | "squares";
  readonly count: number;
}

/**
 * scale: x<k> *= s (one number at so). Uniforms n0.., so; buffers s, x0...
 * squares: out[outo + j] = sum of the squares that workgroup j of `groups` adds. Uniforms n0.., groups, outo; buffers
 * x0.., out.
 */
export function many(params: ManyParams): Kernel {
  const { op, count } = params;
  const tags = range(count);
  const length = (k: number): string => `(p.n${k} + 3u) / 4u`;
  if (op === "scale") {
    const bindings = [input("s", "float32"), ...tags.map((k) => output(`x${k}`, "float32", "vec"))];
    const uniforms = [...uniform("u32", ...tags.map((k) => `n${k}`)), ...uniform("i32", "so")];
    // The last vector may reach beyond a tensor's end: memory there keeps its value.
    const main = `  let factor = s[p.so];\n  var i = gid;\n${tags
      .map(
        (k) => `  if (i < ${length(k)}) {
    let left = p.n${k} - i * 4u;
    let old = x${k}[i];
    x${k}[i] = select(old, old * factor, vec4<bool>(true, left > 1u, left > 2u, left > 3u));
    return;
  }
  i -= ${length(k)};`,
      )
      .join("\n")}`;
    return makeKernel("many", params, { bindings, uniforms, main }, (u) =>
      linearGrid(tags.reduce((sum, k) => sum + Math.ceil(value(u, `n${k}`) / 4), 0)),
    );
  }
  if (op !== "squares") throw new UnsupportedKernelError("many", String(op));
  const bindings = [...tags.map((k) => input(`x${k}`, "float32", "vec")), output("out", "float32", "elem")];
  const uniforms = [...uniform("u32", ...tags.map((k) => `n${k}`), "groups"), ...uniform("i32", "outo")];
  const globals = `var<workgroup> parts: array<f32, ${WORKGROUP}>;`;
  const main = `  let step = p.groups * ${WORKGROUP}u;
  var sum = 0.0;
${tags
  .map(
    (k) => `  for (var i = gid; i < ${length(k)} && group < p.groups; i += step) {
    let left = p.n${k} - i * 4u;
    let v = select(vec4<f32>(0.0), x${k}[i], vec4<bool>(true, left > 1u, left > 2u, left > 3u));
    sum += dot(v, v);
  }`,
  )
  .join("\n")}
  parts[lane] = sum;
  for (var s = ${WORKGROUP / 2}u; s > 0u; s = s >> 1u) {
    workgroupBarrier();
    if (lane < s) { parts[lane] += parts[lane + s]; }
  }
  if (lane == 0u && group < p.groups) { out[p.outo + i32(group)] = parts[0]; }`;
  return makeKernel("many", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(value(u, "groups") * WORKGROUP),
  );
}
