/**
 * What a kernel is for the runtime: WGSL text and how its bindings are used.
 *
 * Conventions of every kernel:
 * - `@group(0) @binding(i)`: the storage buffers, in the order in which a plan names them.
 * - `@group(1) @binding(0) var<uniform>`: the uniform words of the dispatch (left out when there are none).
 * - Bindings are sized in multiples of 16 bytes, so that four words may be read at a time up to that border.
 * - A dispatch is linear: the runtime spreads its workgroups over x, y and z, because one dimension takes at most
 *   65535. An invocation's index is `(wg.x + wg.y * nwg.x + wg.z * nwg.x * nwg.y) * WORKGROUP_SIZE + local_index`. The
 *   kernel must compare it with its bound, because there may be more workgroups than were asked for.
 * - An input whose buffer is also an output of the same dispatch is copied to scratch first (WebGPU forbids the
 *   aliasing), so in-place kernels should have one read_write binding instead.
 */
export interface KernelSource {
  readonly wgsl: string;
  /** One letter per binding of group 0: `r` (`var<storage, read>`) or `w` (`var<storage, read_write>`). */
  readonly access: string;
  /** Number of u32 words in the uniform struct, its tail padding included; 0 when the kernel has none. */
  readonly uniformWords: number;
  /** Optional features that the text needs ("shader-f16", "subgroups"). */
  readonly features?: readonly GPUFeatureName[];
  /** Names and types of the uniform words, if known, for profile.ts. */
  readonly words?: readonly WordName[];
  /** Never specialised to constant words (specialised.ts): the kernel computes floats from them. */
  readonly general?: boolean;
}

export interface WordName {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
}

/** Most uniform words of one dispatch. */
export const MAX_UNIFORM_WORDS = 256;

/** A kernel as the builders in kernels/ make them. */
export interface BuiltKernel {
  readonly key: string;
  readonly wgsl: string;
  readonly bindings: readonly { readonly access: "read" | "read_write" }[];
  readonly uniforms: readonly WordName[];
  readonly general?: boolean;
}

/** WGSL's names of extensions, and WebGPU's names of the features. */
const FEATURES: Readonly<Record<string, GPUFeatureName>> = { subgroups: "subgroups", f16: "shader-f16" };

export function sourceOf(kernel: BuiltKernel): KernelSource {
  const { wgsl } = kernel; // made when it is asked for
  const features = [...wgsl.matchAll(/^enable (\w+);/gm)].flatMap(([, name]) => FEATURES[name ?? ""] ?? []);
  return {
    wgsl,
    access: kernel.bindings.map((b) => (b.access === "read" ? "r" : "w")).join(""),
    uniformWords: kernel.uniforms.length,
    words: kernel.uniforms,
    ...(kernel.general && { general: true }),
    ...(features.length > 0 && { features }),
  };
}
