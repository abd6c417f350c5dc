/**
 * Buffers that cannot be bound as they are. WebGPU wants aligned offsets, and forbids that one dispatch reads and writes
 * the same buffer through two bindings. Such ranges are copied to a buffer of their own first; what was written there is
 * copied back after.
 */
import type { Binding } from "./bindings";
import type { Limits } from "./device";
import { KernelError, bytesText } from "./errors";
import type { Compiled } from "./pipelines";
import type { Pool, PoolBuffer } from "./pool";

export interface Copier {
  copy(from: PoolBuffer, fromOffset: number, to: PoolBuffer, toOffset: number, bytes: number): void;
}

export class Aside {
  readonly #copier: Copier;
  readonly #pool: Pool;
  #temps: { binding: Binding; temp: PoolBuffer; back: boolean }[] = [];

  constructor(copier: Copier, pool: Pool) {
    this.#copier = copier;
    this.#pool = pool;
  }

  get copies(): number {
    return this.#temps.length;
  }

  /** The ranges to bind in place of those asked for. */
  resolve(kernel: Compiled, bindings: readonly Binding[], limits: Limits): readonly Binding[] {
    const align = limits.minStorageBufferOffsetAlignment;
    let bound: Binding[] | null = null;
    for (let i = 0; i < bindings.length; i++) {
      const b = bindings[i];
      if (!b) continue;
      if (b.size > limits.maxStorageBufferBindingSize) {
        throw new KernelError(
          `[${kernel.key}] binds ${bytesText(b.size)}; this device takes ${bytesText(limits.maxStorageBufferBindingSize)} ` +
            "at once (maxStorageBufferBindingSize) - split the tensor",
        );
      }
      const written = kernel.writes[i] ?? false;
      if (b.offset % align === 0 && !clashes(kernel, bindings, i)) continue;
      bound ??= [...bindings];
      bound[i] = this.#move(b, written);
    }
    return bound ?? bindings;
  }

  /** After the dispatch was recorded: copies back, and lets the buffers go. */
  finish(): void {
    if (this.#temps.length === 0) return;
    const temps = this.#temps;
    this.#temps = [];
    for (const { binding, temp, back } of temps) {
      if (back) this.#copier.copy(temp, 0, binding.buffer, binding.offset, binding.size);
      this.#pool.give(temp, binding.size);
    }
  }

  #move(b: Binding, back: boolean): Binding {
    const temp = this.#pool.take(b.size, "dispatch");
    this.#temps.push({ binding: b, temp, back });
    this.#copier.copy(b.buffer, b.offset, temp, 0, b.size);
    return { slot: null, buffer: temp, offset: 0, size: b.size };
  }
}

/** Whether binding i shares its buffer with an output in a way that WebGPU refuses. */
function clashes(kernel: Compiled, bindings: readonly Binding[], i: number): boolean {
  const b = bindings[i];
  if (!b) return false;
  const written = kernel.writes[i] ?? false;
  for (let j = 0; j < bindings.length; j++) {
    const other = bindings[j];
    if (j === i || !other || other.buffer !== b.buffer || !kernel.writes[j]) continue;
    if (!written) return true;
    const apart = b.offset + b.size <= other.offset || other.offset + other.size <= b.offset;
    if (!apart) throw new KernelError(`[${kernel.key}] two outputs share bytes of one buffer`);
  }
  return false;
}
