/**
 * Records commands into batches and submits them. They take effect in the order of the calls, whether they go through
 * the command encoder or through the queue.
 */
import { Aliases } from "./aliases";
import { Batches } from "./batches";
import { BindGroups, type Binding } from "./bindings";
import type { DeviceHolder } from "./device";
import { Specialised } from "./specialised";
import { asWebgpuError, KernelError, StreamError, type WebgpuError } from "./errors";
import { FILL } from "./builtin";
import type { Compiled, Pipelines } from "./pipelines";
import type { Pool, PoolBuffer } from "./pool";
import type { Profile } from "./profile";
import type { Slot } from "./slots";
import { Uniforms } from "./uniforms";

/**
 * Dispatches that are worth a submit: few at first, while the GPU waits for work, then twice as many each time, since a
 * submit takes the driver 0.2 ms (a training step of GPT-2 in 7 submits instead of 32: 9 ms less of the CPU's time).
 */
const ENOUGH = 16;
const MOST_ENOUGH = 128;

export interface RecorderOptions {
  /** A batch is submitted when it holds this many dispatches. */
  readonly maxDispatches?: number;
  /** Submitted batches after which the caller is asked to wait (`pressure`). */
  readonly maxInFlight?: number;
  /** After how many dispatches with the same words a kernel is compiled for them (specialised.ts); 0: never. */
  readonly specialise?: number;
}

export class Recorder {
  readonly #holder: DeviceHolder;
  readonly #pool: Pool;
  readonly #pipelines: Pipelines;
  readonly #profile: Profile;
  readonly #uniforms: Uniforms;
  readonly #groups: BindGroups;
  readonly batches: Batches;
  readonly #aliases: Aliases;
  readonly specialised: Specialised;
  readonly #offsets = new Uint32Array(1);
  readonly #maxDispatches: number;
  readonly #fill: number;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #boundPipeline: GPUComputePipeline | null = null;
  #dispatches = 0;
  /** Dispatches that feed() waits for. */
  #enough = ENOUGH;

  constructor(holder: DeviceHolder, pool: Pool, pipelines: Pipelines, profile: Profile, options: RecorderOptions = {}) {
    this.#holder = holder;
    this.#pool = pool;
    this.#pipelines = pipelines;
    this.#profile = profile;
    this.#uniforms = new Uniforms(holder);
    this.#groups = new BindGroups(holder, profile);
    this.batches = new Batches(holder, pipelines, options.maxInFlight ?? 64);
    pool.attach(this);
    this.#aliases = new Aliases(this, pool);
    this.specialised = new Specialised(holder, pipelines, options.specialise);
    this.#maxDispatches = options.maxDispatches ?? 512;
    this.#fill = pipelines.define("torchlite.fill", FILL);
  }

  /** Number of the batch being recorded. */
  get current(): number {
    return this.batches.current;
  }

  /** Runs a kernel in workgroups that are spread over three dimensions. `words[from...]` holds its uniform words. */
  dispatch(
    id: number,
    bindings: readonly Binding[],
    words: Uint32Array,
    from: number,
    count: number,
    workgroups: number,
  ): void {
    const general = this.#pipelines.get(id);
    this.#check(general, bindings.length, count);
    if (workgroups === 0) return;
    const [gx, gy, gz] = this.#grid(general, workgroups);
    const kernel = this.specialised.take(id, general, words, from, count, gx * gy * gz);
    try {
      const bound = this.#aliases.resolve(kernel, bindings, this.#holder.limits);
      if (this.#dispatches >= this.#maxDispatches || (count > 0 && this.#uniforms.full)) this.flush();
      const group = this.#groups.get(kernel, bound);
      const pass = this.#openPass(kernel.key);
      if (this.#boundPipeline !== kernel.pipeline) {
        pass.setPipeline(kernel.pipeline);
        this.#boundPipeline = kernel.pipeline;
      }
      pass.setBindGroup(0, group);
      if (count > 0) {
        this.#offsets[0] = this.#uniforms.push(words, from, count);
        pass.setBindGroup(1, this.#uniforms.group(this.#pipelines.uniformLayout), this.#offsets, 0, 1);
      }
      pass.dispatchWorkgroups(gx, gy, gz);
      if (this.#profile.watching) this.#profile.dispatched(kernel, words, from, [gx, gy, gz]);
      for (const b of bound) b.buffer.batch = this.batches.current;
      this.batches.used(id);
      for (let i = 0; i < bindings.length; i++) {
        const block = kernel.writes[i] ? bindings[i]?.slot?.block : null;
        if (block) this.batches.wrote(block);
      }
    } finally {
      this.#profile.counters.aliasCopies += this.#aliases.copies;
      this.#aliases.release();
    }
    this.#dispatches++;
    this.#profile.counters.dispatches++;
  }

  /** Copies bytes between buffers, in words. Ranges of one buffer may overlap. */
  copy(from: PoolBuffer, fromOffset: number, to: PoolBuffer, toOffset: number, bytes: number): void {
    if ((fromOffset | toOffset | bytes) & 3) {
      throw new StreamError(`[copy] offsets and sizes are multiples of 4 (${fromOffset}, ${toOffset}, ${bytes})`);
    }
    if (bytes === 0) return;
    if (from === to) {
      const temp = this.#pool.take(bytes, "copy");
      this.copy(from, fromOffset, temp, 0, bytes);
      this.copy(temp, 0, to, toOffset, bytes);
      this.#pool.give(temp, bytes);
      return;
    }
    this.encoder().copyBufferToBuffer(from.gpu, fromOffset, to.gpu, toOffset, bytes);
    from.batch = to.batch = this.batches.current;
    this.#profile.counters.bytesCopied += bytes;
  }

  /** Fills words with a 32-bit pattern. */
  fill(slot: Slot, offset: number, bytes: number, pattern: number): void {
    const buffer = slot.block.buffer;
    if ((offset | bytes) & 3)
      throw new StreamError(`[fill] offsets and sizes are multiples of 4 (${offset}, ${bytes})`);
    if (pattern === 0) {
      if (bytes > 0) this.encoder().clearBuffer(buffer.gpu, offset, bytes);
      buffer.batch = this.batches.current;
      this.batches.wrote(slot.block);
      return;
    }
    const { minStorageBufferOffsetAlignment: align, maxStorageBufferBindingSize } = this.#holder.limits;
    const most = Math.floor(maxStorageBufferBindingSize / align) * align - align;
    for (let at = offset; at < offset + bytes; at += most) {
      const base = Math.floor(at / align) * align;
      const words = Math.min(most, offset + bytes - at) / 4;
      const first = (at - base) / 4;
      const block = { slot: null, buffer, offset: base, size: first * 4 + words * 4 };
      this.dispatch(this.#fill, [block], Uint32Array.of(first, words, pattern, 0), 0, 4, Math.ceil(words / 256));
      this.batches.wrote(slot.block); // the dispatch may have begun a new batch
    }
  }

  /** Uploads bytes, in words. */
  write(slot: Slot, offset: number, data: Uint8Array<ArrayBuffer>): void {
    const buffer = slot.block.buffer;
    if ((offset | data.byteLength) & 3) {
      throw new StreamError(`[write] offsets and sizes are multiples of 4 (${offset}, ${data.byteLength})`);
    }
    if (data.byteLength === 0) return;
    // the queue's write must not overtake recorded commands on this buffer
    if (this.#encoder && buffer.batch === this.batches.current) this.flush();
    this.#holder.device.queue.writeBuffer(buffer.gpu, offset, data);
    this.#profile.counters.bytesWritten += data.byteLength;
  }

  /** The encoder of the batch, outside of any pass. */
  encoder(): GPUCommandEncoder {
    this.#endPass();
    if (!this.#encoder) {
      this.#encoder = this.#holder.device.createCommandEncoder();
      this.batches.begin();
    }
    return this.#encoder;
  }

  /** Submits what is recorded if that is enough dispatches to keep the GPU at work while the caller goes on. */
  feed(): void {
    if (this.#dispatches < this.#enough) return;
    const next = Math.min(2 * this.#enough, MOST_ENOUGH);
    this.flush();
    this.#enough = next;
  }

  /** Submits what is recorded. */
  flush(): void {
    const encoder = this.#encoder;
    this.#enough = ENOUGH;
    if (!encoder) return;
    let failure: WebgpuError | null = null;
    let readTimes: ReturnType<Profile["resolve"]> | undefined;
    try {
      this.#endPass();
      readTimes = this.#profile.resolve(encoder);
      this.#uniforms.upload();
      this.batches.sign(encoder);
      this.#holder.device.queue.submit([encoder.finish()]);
    } catch (e) {
      // reported as that of any batch, since the command at hand may not be part of it
      failure = asWebgpuError(e, "submit");
    }
    this.#encoder = null;
    this.#dispatches = 0;
    if (failure && this.#holder.state !== "ready") throw failure;
    this.batches.end(failure);
    this.#pool.submitted();
    this.#profile.counters.submits++;
    if (!failure) readTimes?.();
  }

  /** Frees what is cached beside the pool's buffers. */
  emptyCache(): void {
    this.#groups.clear();
  }

  /** Forgets the batch and all that belongs to the device. */
  clear(): void {
    this.#encoder = null;
    this.#pass = null;
    this.#boundPipeline = null;
    this.#dispatches = 0;
    this.#uniforms.clear();
    this.#groups.clear();
    this.specialised.clear();
    this.#pipelines.clear();
    this.#profile.clear();
    this.batches.clear();
  }

  #openPass(key: string): GPUComputePassEncoder {
    if (this.#pass && !this.#profile.timing) return this.#pass;
    const encoder = this.encoder();
    const timestampWrites = this.#profile.timestampWrites(key);
    this.#pass = encoder.beginComputePass(timestampWrites ? { timestampWrites } : {});
    this.#profile.counters.passes++;
    return this.#pass;
  }

  #endPass(): void {
    const pass = this.#pass;
    this.#pass = null;
    this.#boundPipeline = null;
    pass?.end();
  }

  #check(kernel: Compiled, bindings: number, words: number): void {
    if (bindings === kernel.writes.length && words === kernel.uniformWords) return;
    throw new KernelError(
      `[${kernel.key}] takes ${kernel.writes.length} buffers and ${kernel.uniformWords} uniform words, ` +
        `not ${bindings} and ${words}`,
    );
  }

  #grid(kernel: Compiled, workgroups: number): readonly [number, number, number] {
    const most = this.#holder.limits.maxComputeWorkgroupsPerDimension;
    // as few as possible: 65,536 workgroups as 65,535 * 2 would take twice the time
    const z = Math.ceil(workgroups / (most * most));
    const y = Math.ceil(workgroups / (most * z));
    const x = Math.ceil(workgroups / (y * z));
    if (z <= most) return [x, y, z];
    throw new KernelError(`[${kernel.key}] ${workgroups} workgroups are over this device's ${most} per dimension`);
  }
}
