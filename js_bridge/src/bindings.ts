/** What a dispatch binds: bind groups by range, kept for the next time. */
import type { DeviceHolder } from "./device";
import type { Compiled } from "./pipelines";
import type { PoolBuffer } from "./pool";
import type { Profile } from "./profile";
import type { Slot } from "./slots";
import { UNIFORM_BINDING, type Uniforms } from "./uniforms";

/** A range of a buffer, and the slot it belongs to where there is one. */
export interface Binding {
  readonly slot: Slot | null;
  readonly buffer: PoolBuffer;
  readonly offset: number;
  readonly size: number;
}

/** Bind groups kept. A training step binds the same few hundred ranges again and again, as the pool reuses buffers. */
const MOST = 4096;

export class BindGroups {
  readonly #holder: DeviceHolder;
  readonly #profile: Profile;
  readonly #uniforms: Uniforms;
  readonly #cache = new Map<string, GPUBindGroup>();

  constructor(holder: DeviceHolder, profile: Profile, uniforms: Uniforms) {
    this.#holder = holder;
    this.#profile = profile;
    this.#uniforms = uniforms;
  }

  get(kernel: Compiled, bindings: readonly Binding[]): GPUBindGroup {
    let name = `${kernel.layout.id}${kernel.uniformWords > 0 ? "u" : ""}`;
    for (const b of bindings) name += `;${b.buffer.id},${b.offset},${b.size}`;
    const known = this.#cache.get(name);
    if (known) {
      this.#profile.counters.bindGroupHits++;
      return known;
    }
    if (this.#cache.size >= MOST) this.#cache.clear();
    const entries: GPUBindGroupEntry[] = bindings.map((b, binding) => ({
      binding,
      resource: { buffer: b.buffer.gpu, offset: b.offset, size: b.size },
    }));
    if (kernel.uniformWords > 0) {
      entries.push({ binding: bindings.length, resource: { buffer: this.#uniforms.buffer, size: UNIFORM_BINDING } });
    }
    const group = this.#holder.device.createBindGroup({ layout: kernel.layout.bindGroup, entries });
    this.#profile.counters.bindGroups++;
    this.#cache.set(name, group);
    return group;
  }

  clear(): void {
    this.#cache.clear();
  }
}
