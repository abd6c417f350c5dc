/**
 * Slots: the integers by which buffers cross the language border. A handle is `generation << 20 | index`; the caller
 * chooses it, so that an ALLOC in a command stream needs no answer. The generation must match on every use: a handle
 * that was freed, or that belongs to a device that was lost, never reaches somebody else's buffer.
 */
import { asWebgpuError, SlotError, WebgpuError } from "./errors";
import type { Pool, PoolBuffer } from "./pool";

export const INDEX_BITS = 20;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** What a handle stands for. */
export interface Slot {
  readonly handle: number;
  block: Block;
  /** Bytes that were asked for. */
  bytes: number;
  /** Bytes that belong to the slot; rounded up to words for copies, to 16 bytes when allocated. */
  size: number;
}

/** A pool buffer, held by its slot and by pending reads. */
export interface Block {
  readonly buffer: PoolBuffer;
  readonly bytes: number;
  /** Blocks of an earlier device must not go to the pool of the next one. */
  readonly epoch: number;
  holders: number;
  /** Why the content is poisoned: the failure of the command that should have written it. */
  poison: WebgpuError | null;
}

/** Stands for the memory that a failed allocation did not get; `poison` keeps everybody from it. */
const NOTHING: PoolBuffer = { gpu: undefined as unknown as GPUBuffer, id: 0, size: 0, failure: null, batch: 0 };

export class Slots {
  readonly #pool: Pool;
  readonly #table: (Slot | undefined)[] = [];
  #live = 0;
  #epoch = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get live(): number {
    return this.#live;
  }

  alloc(handle: number, bytes: number): Slot {
    this.#checkFree(handle, "alloc");
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    try {
      const block: Block = { buffer: this.#pool.take(size), bytes: size, epoch: this.#epoch, holders: 1, poison: null };
      return this.#put({ handle, block, bytes, size });
    } catch (e) {
      // the slot exists all the same, so that commands recorded after this one name the cause and not a missing slot
      const failure = asWebgpuError(e, "alloc");
      this.allocPoisoned(handle, failure);
      throw failure;
    }
  }

  /** A slot without memory, which says why when it is used. */
  allocPoisoned(handle: number, poison: WebgpuError): void {
    this.#checkFree(handle, "alloc");
    this.#put({
      handle,
      block: { buffer: NOTHING, bytes: 0, epoch: -1, holders: 1, poison },
      bytes: 0,
      size: 0,
    });
  }

  /** Poisons a slot's content. */
  poison(handle: number, error: WebgpuError): void {
    const slot = this.#table[handle & INDEX_MASK];
    if (slot?.handle === handle) slot.block.poison ??= error;
  }

  /** Frees a slot; a handle of a lost device is passed over, since finalizers run late. */
  free(handle: number): void {
    const slot = this.#table[handle & INDEX_MASK];
    if (slot === undefined || slot.handle !== handle) {
      if (this.#epoch > 0) return;
      throw new SlotError(`[free] ${describe(handle)} is not in use`);
    }
    const index = handle & INDEX_MASK;
    this.#table[index] = undefined;
    this.#live--;
    this.release(slot.block);
  }

  /** The slot of a handle, whatever it holds. */
  find(handle: number, what: string): Slot {
    const slot = this.#table[handle & INDEX_MASK];
    if (slot === undefined || slot.handle !== handle) {
      throw new SlotError(
        `[${what}] ${describe(handle)} is not in use` +
          (slot ? `: it was freed and its number was given to another slot` : ": it was freed or never allocated"),
      );
    }
    return slot;
  }

  /** The slot of a handle; an error when its content is poisoned. */
  get(handle: number, what: string): Slot {
    const slot = this.find(handle, what);
    const failure = slot.block.poison ?? slot.block.buffer.failure;
    if (failure) {
      const root = failure.cause instanceof WebgpuError ? failure.cause : failure;
      const make = failure.constructor as new (message: string, options?: ErrorOptions) => WebgpuError;
      throw new make(`[${what}] ${describe(handle)} holds no result, because: ${root.message}`, { cause: root });
    }
    return slot;
  }

  /** Keeps a block while a read of it is under way. */
  hold(block: Block): void {
    block.holders++;
  }

  release(block: Block): void {
    block.holders--;
    if (block.holders === 0 && block.epoch === this.#epoch) this.#pool.give(block.buffer, block.bytes);
  }

  /** Forgets all slots: the device is gone. */
  clear(): void {
    this.#epoch++;
    this.#table.length = 0;
    this.#live = 0;
    this.#pool.clear();
  }

  #put(slot: Slot): Slot {
    this.#table[slot.handle & INDEX_MASK] = slot;
    this.#live++;
    return slot;
  }

  #checkFree(handle: number, what: string): void {
    const index = handle & INDEX_MASK;
    if (index === 0) throw new SlotError(`[${what}] slot 0 means "none" and cannot be allocated`);
    if (this.#table[index] !== undefined) throw new SlotError(`[${what}] slot ${index} is in use already`);
  }
}

export function describe(handle: number): string {
  return `slot ${handle & INDEX_MASK} (generation ${handle >>> INDEX_BITS})`;
}

export function checkRange(slot: Slot, offset: number, bytes: number, what: string): void {
  if (offset < 0 || bytes < 0 || offset + bytes > slot.size) {
    throw new SlotError(
      `[${what}] bytes ${offset} to ${offset + bytes} are outside of ${describe(slot.handle)} (${slot.size} bytes)`,
    );
  }
}
