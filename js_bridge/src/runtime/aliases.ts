/**
 * Inputs that share a buffer with an output of the same dispatch. WebGPU refuses such a dispatch, so these inputs are
 * copied first and the copies are bound.
 */
import type { Binding } from "./bindings";
import type { Limits } from "./device";
import { KernelError, bytesText } from "./errors";
import type { Compiled } from "./pipelines";
import type { Pool, PoolBuffer } from "./pool";

interface Copier {
  copy(from: PoolBuffer, fromOffset: number, to: PoolBuffer, toOffset: number, bytes: number): void;
}

export class Aliases {
  readonly #copier: Copier;
  readonly #pool: Pool;
  #temps: Binding[] = [];

  constructor(copier: Copier, pool: Pool) {
    this.#copier = copier;
    this.#pool = pool;
  }

  get copies(): number {
    return this.#temps.length;
  }

  /** The bindings of a dispatch, with copies in place of aliased inputs. */
  resolve(kernel: Compiled, bindings: readonly Binding[], limits: Limits): readonly Binding[] {
    let bound: Binding[] | null = null;
    for (let i = 0; i < bindings.length; i++) {
      const b = bindings[i]!;
      const most = limits.maxStorageBufferBindingSize;
      if (b.size > most) {
        throw new KernelError(
          `[${kernel.key}] binds ${bytesText(b.size)}; this device takes ${bytesText(most)} ` +
            "at once (maxStorageBufferBindingSize) - split the tensor",
        );
      }
      if (!aliased(kernel, bindings, i)) continue;
      if (kernel.writes[i]) throw new KernelError(`[${kernel.key}] two outputs share one buffer`);
      bound ??= [...bindings];
      bound[i] = this.#copyOf(b);
    }
    return bound ?? bindings;
  }

  /** Frees the copies; to be called once the dispatch is recorded. */
  release(): void {
    if (this.#temps.length === 0) return;
    for (const { buffer, size } of this.#temps) this.#pool.give(buffer, size);
    this.#temps = [];
  }

  #copyOf(b: Binding): Binding {
    const temp: Binding = { slot: null, buffer: this.#pool.take(b.size, "dispatch"), offset: 0, size: b.size };
    this.#temps.push(temp);
    this.#copier.copy(b.buffer, b.offset, temp.buffer, 0, b.size);
    return temp;
  }
}

/** Whether another binding writes the buffer of binding i. */
function aliased(kernel: Compiled, bindings: readonly Binding[], i: number): boolean {
  const { buffer } = bindings[i]!;
  for (let j = 0; j < bindings.length; j++) {
    if (j !== i && kernel.writes[j] && bindings[j]!.buffer === buffer) return true;
  }
  return false;
}
