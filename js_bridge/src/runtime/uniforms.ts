/**
 * The uniform words of a batch of dispatches, in one ring buffer bound with dynamic offsets. They are collected on the
 * CPU and uploaded in one write before the batch is submitted.
 */
import { Usage } from "./constants";
import type { DeviceHolder } from "./device";
import { MAX_UNIFORM_WORDS } from "./kernel";

/** Bytes bound per dispatch; at least the largest uniform struct. */
export const UNIFORM_BINDING = MAX_UNIFORM_WORDS * 4;
const RING = 256 * 1024;

export class Uniforms {
  readonly #holder: DeviceHolder;
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly #size: number;
  #buffer: GPUBuffer | null = null;
  #group: GPUBindGroup | null = null;
  #head = 0;
  #start = 0;

  constructor(holder: DeviceHolder, size = RING) {
    this.#holder = holder;
    this.#size = size;
    this.#words = new Uint32Array(size / 4);
  }

  get buffer(): GPUBuffer {
    this.#buffer ??= this.#holder.device.createBuffer({
      label: "uniforms",
      size: this.#size,
      usage: Usage.UNIFORM | Usage.COPY_DST,
    });
    return this.#buffer;
  }

  /** The ring as group 1 of a kernel; bound with the offset that push() gave. */
  group(layout: GPUBindGroupLayout): GPUBindGroup {
    this.#group ??= this.#holder.device.createBindGroup({
      layout,
      entries: [{ binding: 0, resource: { buffer: this.buffer, size: UNIFORM_BINDING } }],
    });
    return this.#group;
  }

  /** Whether a batch that is full must be submitted before more words fit. */
  get full(): boolean {
    return this.#head + UNIFORM_BINDING > this.#size;
  }

  /** Copies words in; returns their byte offset in the buffer. */
  push(words: Uint32Array, from: number, count: number): number {
    const offset = this.#head;
    const at = offset >> 2;
    for (let i = 0; i < count; i++) this.#words[at + i] = words[from + i] ?? 0;
    const align = this.#holder.limits.minUniformBufferOffsetAlignment;
    this.#head = offset + Math.ceil((count * 4) / align) * align;
    return offset;
  }

  /** Uploads what the batch uses. The write is queued after the batches before it, so the ring may wrap at once. */
  upload(): void {
    const start = this.#start,
      to = Math.min(this.#head, this.#size);
    this.#start = this.#head;
    if (this.full) this.#head = this.#start = 0; // before what may throw: the next batch needs room
    if (to > start)
      this.#holder.device.queue.writeBuffer(this.buffer, start, this.#words, start >> 2, (to - start) >> 2);
  }

  clear(): void {
    this.#buffer = null;
    this.#group = null;
    this.#head = this.#start = 0;
  }
}
