/** For tests: plans of kernels that are given as text. */
import type { Plan } from "../src/kernels/plan";
import { planOf } from "../src/kernels/plan";
import { type Kernel, uniform, value } from "../src/kernels/spec";
import type { KernelSource } from "../src/runtime/kernel";
import type { Runtime } from "../src/runtime/runtime";

interface Text extends KernelSource {
  readonly name: string;
}

/** The key of a plan that runs one kernel: its words are the number of workgroups and the kernel's uniform words. */
export const textKey = (name: string, source: KernelSource): string => `text:${JSON.stringify({ name, ...source })}`;

/** The number of such a plan. */
export const define = (runtime: Runtime, name: string, source: KernelSource): number =>
  runtime.plans.id(textKey(name, source));

/** RuntimeOptions.planOf that knows kernels as text beside the families. */
export function planOfText(key: string): Plan {
  if (!key.startsWith("text:")) return planOf(key);
  const { name, wgsl, access, uniformWords, words, general } = JSON.parse(key.slice(5)) as Text;
  const uniforms = words ?? Array.from({ length: uniformWords }, (_, i) => uniform("u32", `u${i}`)[0]!);
  const buffers = Array.from(access, (letter, i) => ({ name: `b${i}`, writes: letter === "w" }));
  const kernel: Kernel = {
    key: name,
    wgsl,
    bindings: buffers.map((b) => ({ name: b.name, type: "", access: b.writes ? "read_write" : "read" })),
    uniforms,
    ...(general && { general }),
    workgroups: (values) => [value(values, "workgroups"), 1, 1],
  };
  return {
    family: name,
    buffers,
    words: [...uniform("u32", "workgroups"), ...uniforms],
    free: new Set(uniforms.map((w) => w.name)),
    steps: (values) => ({ steps: [{ kernel, values, buffers: buffers.map((b) => b.name) }] }),
  };
}
