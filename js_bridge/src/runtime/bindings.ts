/** What a dispatch binds: bind groups by range, kept for the next time. */
import type { DeviceHolder } from "./device";
import type { Compiled, Layout } from "./pipelines";
import type { PoolBuffer } from "./pool";
import type { Profile } from "./profile";
import type { Slot } from "./slots";

/** A range of a buffer, and the buffer's slot, if it has one. */
export interface Binding {
  readonly slot: Slot | null;
  readonly buffer: PoolBuffer;
  readonly offset: number;
  readonly size: number;
}

/** Bind groups kept. A training step binds the same few hundred ranges again and again, as the pool reuses buffers. */
const MOST = 4096;

interface Entry {
  readonly layout: Layout;
  readonly ranges: readonly Binding[];
  readonly group: GPUBindGroup;
}

export class BindGroups {
  readonly #holder: DeviceHolder;
  readonly #profile: Profile;
  /** By hash; entries with the same hash are in one list. */
  readonly #cache = new Map<number, Entry[]>();
  #count = 0;

  constructor(holder: DeviceHolder, profile: Profile) {
    this.#holder = holder;
    this.#profile = profile;
  }

  get(kernel: Compiled, bindings: readonly Binding[]): GPUBindGroup {
    let hash = kernel.layout.id;
    for (const b of bindings) hash = (Math.imul(hash, 31) + b.buffer.id * 7 + (b.offset >>> 4) + b.size) | 0;
    const list = this.#cache.get(hash);
    const known = list?.find((entry) => entry.layout === kernel.layout && same(entry.ranges, bindings));
    if (known) {
      this.#profile.counters.bindGroupHits++;
      return known.group;
    }
    if (this.#count >= MOST) this.clear();
    const entries: GPUBindGroupEntry[] = bindings.map((b, binding) => ({
      binding,
      resource: { buffer: b.buffer.gpu, offset: b.offset, size: b.size },
    }));
    const group = this.#holder.device.createBindGroup({ layout: kernel.layout.bindGroup, entries });
    this.#profile.counters.bindGroups++;
    const entry: Entry = { layout: kernel.layout, ranges: bindings.map((b) => ({ ...b, slot: null })), group };
    const others = this.#cache.get(hash);
    if (others) others.push(entry);
    else this.#cache.set(hash, [entry]);
    this.#count++;
    return group;
  }

  clear(): void {
    this.#cache.clear();
    this.#count = 0;
  }
}

function same(a: readonly Binding[], b: readonly Binding[]): boolean {
  for (let i = 0; i < b.length; i++) {
    const x = a[i];
    const y = b[i];
    if (x?.buffer !== y?.buffer || x?.offset !== y?.offset || x?.size !== y?.size) return false;
  }
  return a.length === b.length;
}
