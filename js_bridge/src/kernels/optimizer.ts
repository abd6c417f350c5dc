/**
 * One optimizer step of one float32 parameter, in place, four elements an invocation. The order of operations is that of
 * PyTorch's single-tensor path. Factors that depend on the step count come as uniforms, so the kernel is the same each step.
 */
import { bindingType } from "../wgsl/access.js";
import { buildModule } from "../wgsl/module.js";
import { type Binding, type Kernel, kernelKey, linearGrid, uniform, value } from "./spec.js";

export interface SgdParams { readonly momentum?: boolean; readonly nesterov?: boolean; readonly maximize?: boolean; readonly first?: boolean }
export interface AdamParams { readonly amsgrad?: boolean; readonly decoupled?: boolean; readonly maximize?: boolean }

const slot = (name: string, access: Binding["access"]): Binding => ({ name, type: bindingType("float32", "vec"), access });

function step(family: string, params: object, state: readonly string[], scalars: readonly string[], body: string): Kernel {
  const bindings = [slot("g", "read"), slot("w", "read_write"), ...state.map((s) => slot(s, "read_write"))];
  const uniforms = [...uniform("u32", "n"), ...uniform("f32", ...scalars)];
  // The last vector of a parameter may reach beyond its end: what lies there keeps its value.
  const keep = ["w", ...state].map((s) => `  { let old = ${s}[i]; ${s}[i] = select(old, new_${s}, inside); }`).join("\n");
  const main = `  if (gid * 4u >= p.n) { return; }
  let i = gid;
  let left = p.n - gid * 4u;
  let inside = vec4<bool>(true, left > 1u, left > 2u, left > 3u);
${body}
${keep}`;
  return { key: kernelKey(family, params), bindings, uniforms, wgsl: buildModule({ bindings, uniforms, main }), workgroups: (u) => linearGrid(Math.ceil(value(u, "n") / 4)) };
}

/** Uniforms: n, lr, weight_decay, momentum, keep (= 1 - dampening). Buffers g, w, [m]. first: m is set, not read. */
export function sgd(params: SgdParams): Kernel {
  const grad = `  let d = ${params.maximize ? "-" : ""}g[i] + p.weight_decay * w[i];`;
  if (!params.momentum) return step("sgd", params, [], ["lr", "weight_decay", "momentum", "keep"], `${grad}\n  let new_w = w[i] - p.lr * d;`);
  return step("sgd", params, ["m"], ["lr", "weight_decay", "momentum", "keep"], `${grad}
  let new_m = ${params.first ? "d" : "p.momentum * m[i] + p.keep * d"};
  let new_w = w[i] - p.lr * (${params.nesterov ? "d + p.momentum * new_m" : "new_m"});`);
}

/**
 * Adam and AdamW (decoupled). Uniforms: n, shrink (1 - lr * weight_decay when decoupled, else 1), weight_decay (0 when
 * decoupled), w1 (1 - beta1), beta2, w2 (1 - beta2), size (lr / (1 - beta1^t)), root (sqrt(1 - beta2^t)), eps.
 * Buffers g, w, m, v, [top].
 */
export function adam(params: AdamParams): Kernel {
  return step("adam", params, ["m", "v", ...(params.amsgrad ? ["top"] : [])], ["shrink", "weight_decay", "w1", "beta2", "w2", "size", "root", "eps"],
    `  let old = w[i] * p.shrink;
  let d = ${params.maximize ? "-" : ""}g[i] + p.weight_decay * ${params.decoupled ? "vec4<f32>(0.0)" : "old"};
  let new_m = m[i] + p.w1 * (d - m[i]);
  let new_v = p.beta2 * v[i] + p.w2 * d * d;
${params.amsgrad ? "  let new_top = vec4<f32>(tl_max(top[i].x, new_v.x), tl_max(top[i].y, new_v.y), tl_max(top[i].z, new_v.z), tl_max(top[i].w, new_v.w));\n" : ""}  let new_w = old - p.size * new_m / (sqrt(${params.amsgrad ? "new_top" : "new_v"}) / p.root + p.eps);`);
}
