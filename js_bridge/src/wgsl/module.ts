/** Puts a shader together: bindings, the uniform block, the library functions that the text names, the entry point. */
import { type Binding, type Kernel, kernelKey, type UniformWord, WORKGROUP } from "../kernels/spec";
import { INT64 } from "./int64";
import { MATH } from "./math";
import { SPECIAL } from "./special";
import { BESSEL } from "./bessel";
import { CHEBYSHEV } from "./chebyshev";
import { GAMMA } from "./gamma";
import { COMPLEX } from "./complex";
import { CONVERT } from "./convert";

const LIBRARY: Readonly<Record<string, string>> = {
  ...MATH,
  ...SPECIAL,
  ...INT64,
  ...CONVERT,
  ...GAMMA,
  ...BESSEL,
  ...CHEBYSHEV,
  ...COMPLEX,
};

/** The library functions `text` needs, callees included. Names start with tl_. */
export function libraryFor(text: string): string {
  const found = new Set<string>();
  const visit = (code: string): void => {
    for (const name of code.match(/\btl_\w+/g) ?? []) {
      if (found.has(name)) continue;
      const body = LIBRARY[name];
      if (body === undefined) continue;
      found.add(name);
      visit(body);
    }
  };
  visit(text);
  return [...found]
    .sort()
    .map((n) => LIBRARY[n])
    .join("\n");
}

export interface ModuleParts {
  readonly bindings: readonly Binding[];
  readonly uniforms: readonly UniformWord[];
  /** Declarations before the entry point. */
  readonly globals?: string;
  /**
   * Entry point body; sees lane: u32 (index in the workgroup), group: u32 (folded workgroup index), gid: u32 (folded
   * linear id), wid and nwg.
   */
  readonly main: string;
  readonly workgroup?: number;
  /** main sees subgroup_at (index in the subgroup) and subgroup_size as well. */
  readonly subgroups?: boolean;
}

const BUILTINS =
  "@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lane: u32, " +
  "@builtin(num_workgroups) nwg: vec3<u32>";
const SUBGROUP_BUILTINS =
  "@builtin(subgroup_invocation_id) subgroup_at: u32, @builtin(subgroup_size) subgroup_size: u32";

export function buildModule(m: ModuleParts): string {
  const size = m.workgroup ?? WORKGROUP;
  const vars = m.bindings.map((b, i) => `@group(0) @binding(${i}) var<storage, ${b.access}> ${b.name}: ${b.type};`);
  if (m.uniforms.length) {
    vars.push(`struct Params { ${m.uniforms.map((w) => `${w.name}: ${w.type}`).join(", ")} }`);
    vars.push(`@group(1) @binding(0) var<uniform> p: Params;`);
  }
  const text = `${m.globals ?? ""}
@compute @workgroup_size(${size})
fn main(${BUILTINS}${m.subgroups ? `, ${SUBGROUP_BUILTINS}` : ""}) {
  let group = wid.x + nwg.x * (wid.y + nwg.y * wid.z);
  let gid = group * ${size}u + lane;
${m.main}
}`;
  const half = /\bf16\b/.test(text) || m.bindings.some((b) => /\bf16\b/.test(b.type));
  const enables = `${m.subgroups ? "enable subgroups;\n" : ""}${half ? "enable f16;\n" : ""}`;
  return `${enables}${vars.join("\n")}\n${libraryFor(text)}\n${text}\n`;
}

/** A kernel of a family. Its text is put together when somebody reads it. */
export const makeKernel = (
  family: string,
  params: object,
  parts: ModuleParts,
  workgroups: Kernel["workgroups"],
): Kernel => ({
  key: kernelKey(family, params),
  bindings: parts.bindings,
  uniforms: parts.uniforms,
  get wgsl() {
    return buildModule(parts);
  },
  workgroups,
});
