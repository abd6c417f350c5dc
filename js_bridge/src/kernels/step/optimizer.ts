/**
 * One optimizer step of float32 parameters, in place, four elements an invocation. The order of operations is that of
 * PyTorch's single-tensor path. Factors that depend on the step count are uniforms, so every step uses the same kernel.
 * With `count`, that many parameters of any sizes share a dispatch: a model has many small ones.
 */
import { input, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { type Kernel, linearGrid, range, uniform, value } from "../spec";

export interface SgdParams {
  readonly momentum?: boolean;
  readonly nesterov?: boolean;
  readonly maximize?: boolean;
  readonly first?: boolean;
  readonly count?: number;
}
export interface AdamParams {
  readonly amsgrad?: boolean;
  readonly decoupled?: boolean;
  readonly maximize?: boolean;
  readonly count?: number;
}

/** `body` computes new_<name> for w and each state; name(...) gives the text of an element. */
function step(
  family: string,
  params: { readonly count?: number },
  state: readonly string[],
  scalars: readonly string[],
  body: (name: (s: string) => string) => string,
): Kernel {
  const tags = params.count === undefined ? [""] : range(params.count).map(String);
  const bindings = tags.flatMap((k) => [
    input(`g${k}`, "float32", "vec"),
    ...["w", ...state].map((s) => output(`${s}${k}`, "float32", "vec")),
  ]);
  const uniforms = [...uniform("u32", ...tags.map((k) => `n${k}`)), ...uniform("f32", ...scalars)];
  // The last vector of a parameter may reach beyond its end: what lies there keeps its value.
  const keep = (k: string): string =>
    ["w", ...state].map((s) => `  { let old = ${s}${k}[i]; ${s}${k}[i] = select(old, new_${s}, inside); }`).join("\n");
  const one = (k: string): string => `  let left = p.n${k} - i * 4u;
  let inside = vec4<bool>(true, left > 1u, left > 2u, left > 3u);
${body((s) => `${s}${k}[i]`)}
${keep(k)}`;
  const alone = `  if (gid * 4u >= p.n) { return; }
  let i = gid;
${one("")}`;
  // vectors are numbered through all parameters
  const oneOfMany = (k: string): string => `  if (i < (p.n${k} + 3u) / 4u) {
${one(k)}
  return;
  }
  i -= (p.n${k} + 3u) / 4u;`;
  const main = params.count === undefined ? alone : `  var i = gid;\n${tags.map(oneOfMany).join("\n")}`;
  const vectors = (u: Parameters<Kernel["workgroups"]>[0]): number =>
    tags.reduce((sum, k) => sum + Math.ceil(value(u, `n${k}`) / 4), 0);
  return makeKernel(family, params, { bindings, uniforms, main }, (u) => linearGrid(vectors(u)));
}

/**
 * Uniforms: n, lr, weight_decay, momentum, keep (= 1 - dampening). Buffers g, w, [m]. first: m is written without being
 * read.
 */
export function sgd(params: SgdParams): Kernel {
  const scalars = ["lr", "weight_decay", "momentum", "keep"];
  const grad = (q: (s: string) => string): string =>
    `  let d = ${params.maximize ? "-" : ""}${q("g")} + p.weight_decay * ${q("w")};`;
  if (!params.momentum)
    return step("sgd", params, [], scalars, (q) => `${grad(q)}\n  let new_w = ${q("w")} - p.lr * d;`);
  return step(
    "sgd",
    params,
    ["m"],
    scalars,
    (q) => `${grad(q)}
  let new_m = ${params.first ? "d" : `p.momentum * ${q("m")} + p.keep * d`};
  let new_w = ${q("w")} - p.lr * (${params.nesterov ? "d + p.momentum * new_m" : "new_m"});`,
  );
}

/**
 * Adam and AdamW (decoupled). Uniforms: n, shrink (1 - lr * weight_decay when decoupled, else 1), weight_decay (0 when
 * decoupled), w1 (1 - beta1), beta2, w2 (1 - beta2), size (lr / (1 - beta1^t)), root (sqrt(1 - beta2^t)), eps. Buffers
 * g, w, m, v, [top].
 */
export function adam(params: AdamParams): Kernel {
  const largest = (q: (s: string) => string): string => `  let best = ${q("top")};
  let new_top = vec4<f32>(
    tl_max(best.x, new_v.x), tl_max(best.y, new_v.y), tl_max(best.z, new_v.z), tl_max(best.w, new_v.w));
`;
  const second = params.amsgrad ? "new_top" : "new_v";
  return step(
    "adam",
    params,
    ["m", "v", ...(params.amsgrad ? ["top"] : [])],
    ["shrink", "weight_decay", "w1", "beta2", "w2", "size", "root", "eps"],
    (q) => `  let before = ${q("w")} * p.shrink;
  let d = ${params.maximize ? "-" : ""}${q("g")} + p.weight_decay * ${params.decoupled ? "vec4<f32>(0.0)" : "before"};
  let new_m = ${q("m")} + p.w1 * (d - ${q("m")});
  let new_v = p.beta2 * ${q("v")} + p.w2 * d * d;
${params.amsgrad ? largest(q) : ""}  let new_w = before - p.size * new_m / (sqrt(${second}) / p.root + p.eps);`,
  );
}
