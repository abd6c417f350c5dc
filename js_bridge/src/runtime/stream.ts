/**
 * The command stream: u32 words, so that a program in WebAssembly can write it straight into its own memory.
 *
 * Every command begins with one word, `opcode | words << 8`, where `words` counts the whole command, this word
 * included.
 *
 *   op          words that follow
 *   1 ALLOC     slot, bytes
 *   2 FREE      slot
 *   3 WRITE     slot, offset, bytes, the bytes themselves (padded to words)
 *   4 UPLOAD    slot, offset, bytes, pointer           bytes that lie in the memory the stream is run with
 *   5 COPY      from, fromOffset, to, toOffset, bytes
 *   6 FILL      slot, offset, bytes, pattern           a 32-bit pattern
 *   7 PLAN      plan, buffers | words << 8, slot per buffer, words   runs the kernels of a plan (plans.ts)
 *
 * Slots are handles (slots.ts); 0 stands for a buffer that is not there. Offsets and sizes are in bytes. `bytes` =
 * REST means "to the end of the slot". Sizes that are no multiple of 4 are rounded up where they reach into the slot's
 * padding.
 *
 * A command that fails poisons the slots that it should have written: using one throws the cause. The commands after it
 * run, and the first failure is thrown at the end. Only a malformed stream stops at once.
 */
import type { Binding } from "./bindings";
import { asWebgpuError, StreamError, type WebgpuError } from "./errors";
import type { Plans } from "./plans";
import type { Pool, PoolBuffer } from "./pool";
import type { Recorder } from "./recorder";
import { checkRange, type Slot, type Slots } from "./slots";

/** As native/src/gpu/commands.inc has them. */
export const Op = {
  ALLOC: 1,
  FREE: 2,
  WRITE: 3,
  UPLOAD: 4,
  COPY: 5,
  FILL: 6,
  PLAN: 7,
} as const;

const NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(Op).map(([name, op]) => [op, name.toLowerCase()]),
);
/** Words of each command at the least. */
export const LEAST: Readonly<Record<number, number>> = {
  [Op.ALLOC]: 3,
  [Op.FREE]: 2,
  [Op.WRITE]: 4,
  [Op.UPLOAD]: 5,
  [Op.COPY]: 6,
  [Op.FILL]: 5,
  [Op.PLAN]: 3,
};

/** The words of a command. */
export const command = (op: number, ...operands: number[]): number[] => [
  (op | ((operands.length + 1) << 8)) >>> 0,
  ...operands,
];

/** A byte count that reaches to the end of the slot. */
export const REST = 0xffffffff;

export class Stream {
  readonly #slots: Slots;
  readonly #pool: Pool;
  readonly #recorder: Recorder;
  readonly #plans: Plans;
  /** What is bound for a buffer that is not there. */
  #none: PoolBuffer | null = null;
  /** The words that are run now. */
  #words: Uint32Array = new Uint32Array(0);

  constructor(slots: Slots, pool: Pool, recorder: Recorder, plans: Plans) {
    this.#slots = slots;
    this.#pool = pool;
    this.#recorder = recorder;
    this.#plans = plans;
  }

  /** Runs `count` words from `start` on. `memory` is what UPLOAD points into: the stream's own buffer if left out. */
  execute(words: Uint32Array, start = 0, count = words.length - start, memory: ArrayBufferLike = words.buffer): void {
    if (start < 0 || count < 0 || start + count > words.length) {
      throw new StreamError(`[stream] words ${start} to ${start + count} are outside of an array of ${words.length}`);
    }
    this.#words = words;
    const end = start + count;
    let first: WebgpuError | null = null;
    for (let at = start; at < end;) {
      const head = words[at] ?? 0;
      const op = head & 0xff;
      const length = head >>> 8;
      const least = LEAST[op];
      if (least === undefined || length < least || at + length > end) {
        const name = NAMES[op] ?? `opcode ${op}`;
        throw new StreamError(
          `[stream] word ${at - start} is no command: ${name} of ${length} words, ${end - at} are left`,
        );
      }
      try {
        this.#run(op, at + 1, length - 1, memory);
      } catch (e) {
        const failure = asWebgpuError(e, NAMES[op] ?? "stream");
        first ??= failure;
        this.#poison(op, at + 1, failure);
      }
      at += length;
    }
    if (first) throw first;
  }

  /** Forgets what belonged to the device. */
  clear(): void {
    this.#none = null;
  }

  #run(op: number, at: number, count: number, memory: ArrayBufferLike): void {
    const w = (i: number): number => this.#words[at + i] ?? 0;
    switch (op) {
      case Op.ALLOC:
        this.#slots.alloc(w(0), w(1));
        return;
      case Op.FREE:
        this.#slots.free(w(0));
        return;
      case Op.WRITE: {
        if (count < 3 + Math.ceil(w(2) / 4))
          throw new StreamError(`[write] ${w(2)} bytes do not fit into ${count - 3} words`);
        this.#write(w(0), w(1), w(2), this.#words.buffer, this.#words.byteOffset + (at + 3) * 4);
        return;
      }
      case Op.UPLOAD:
        this.#write(w(0), w(1), w(2), memory, w(3));
        return;
      case Op.COPY: {
        const from = this.#slots.get(w(0), "copy");
        const to = this.#slots.get(w(2), "copy");
        const bytes = padded(to, w(3), w(4) === REST ? from.bytes - w(1) : w(4));
        checkRange(from, w(1), bytes, "copy");
        checkRange(to, w(3), bytes, "copy");
        this.#recorder.copy(from.block.buffer, w(1), to.block.buffer, w(3), bytes);
        this.#recorder.batches.wrote(to.block);
        return;
      }
      case Op.FILL: {
        const slot = this.#slots.get(w(0), "fill");
        const bytes = padded(slot, w(1), w(2) === REST ? slot.bytes - w(1) : w(2));
        checkRange(slot, w(1), bytes, "fill");
        this.#recorder.fill(slot, w(1), bytes, w(3));
        return;
      }
      case Op.PLAN:
        this.#plan(at, count);
    }
  }

  #plan(at: number, count: number): void {
    const words = this.#words;
    const id = words[at]!;
    const head = words[at + 1]!;
    const buffers = head & 0xff;
    const name = this.#plans.name(id);
    if (count !== 2 + buffers + (head >>> 8)) {
      throw new StreamError(`[${name}] ${buffers} buffers and ${head >>> 8} words do not make ${count} words`);
    }
    const bindings: Binding[] = [];
    for (let i = 0; i < buffers; i++) bindings.push(this.#bind(name, words[at + 2 + i]!));
    this.#plans.run(id, bindings, words, at + 2 + buffers, head >>> 8);
  }

  #bind(name: string, handle: number): Binding {
    if (handle === 0) {
      if (!this.#none || this.#none.failure) this.#none = this.#pool.take(16);
      return { slot: null, buffer: this.#none, offset: 0, size: this.#none.size };
    }
    const slot = this.#slots.get(handle, name);
    return { slot, buffer: slot.block.buffer, offset: 0, size: slot.size };
  }

  #write(handle: number, offset: number, bytes: number, memory: ArrayBufferLike, pointer: number): void {
    const slot = this.#slots.get(handle, "write");
    checkRange(slot, offset, bytes, "write");
    if (pointer + bytes > memory.byteLength) {
      throw new StreamError(
        `[write] bytes ${pointer} to ${pointer + bytes} are outside of a memory of ${memory.byteLength}`,
      );
    }
    const size = padded(slot, offset, bytes);
    let data = new Uint8Array(memory as ArrayBuffer, pointer, bytes);
    // the queue reads neither past the end nor from shared memory in all browsers
    if (size !== bytes || !(memory instanceof ArrayBuffer)) {
      const copy = new Uint8Array(size);
      copy.set(data);
      data = copy;
    }
    this.#recorder.write(slot, offset, data);
  }

  /** Poisons what a failed command should have written. */
  #poison(op: number, at: number, error: WebgpuError): void {
    const w = (i: number): number => this.#words[at + i] ?? 0;
    const mark = (handle: number): void => this.#slots.poison(handle, error);
    if (op === Op.WRITE || op === Op.UPLOAD || op === Op.FILL) mark(w(0));
    else if (op === Op.COPY) mark(w(2));
    else if (op === Op.PLAN) {
      const access = this.#plans.access(w(0));
      const buffers = w(1) & 0xff;
      // an unknown plan might have written any of them
      for (let i = 0; i < buffers; i++) if (access === null || access[i] !== "r") mark(w(2 + i));
    }
  }
}

/** A byte count rounded up to words where that only touches the padding behind the slot's last byte. */
function padded(slot: Slot, offset: number, bytes: number): number {
  return bytes & 3 && offset + bytes >= slot.bytes ? Math.ceil(bytes / 4) * 4 : bytes;
}
