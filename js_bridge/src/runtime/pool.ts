/**
 * Buffers by size class. A freed buffer goes to a free list and is handed out again: work is queued in order, so a
 * buffer may be reused as soon as the commands that used it are recorded. Reuse is what bounds memory: destroying
 * instead leaves the memory with the GPU process until the work before it is done.
 */
import { Usage } from "./constants";
import type { DeviceHolder } from "./device";
import { OutOfMemoryError, bytesText } from "./errors";

export interface PoolBuffer {
  readonly gpu: GPUBuffer;
  /** Never given out twice; bind groups are cached by it. */
  readonly id: number;
  /** Bytes of the size class. */
  readonly size: number;
  /** Set when the GPU turned out to have no memory for it; it holds nothing then and is not handed out again. */
  failure: OutOfMemoryError | null;
  /** Number of the last batch of commands that uses it; a write must not overtake a batch that is still recorded. */
  batch: number;
}

export interface PoolStats {
  /** Bytes in use, by what was asked for. */
  readonly allocated: number;
  readonly allocatedPeak: number;
  /** Bytes of all buffers that exist, free lists included. */
  readonly reserved: number;
  readonly reservedPeak: number;
  /** Bytes destroyed while queued work may still use them; memory that will come back by itself. */
  readonly retiring: number;
  readonly created: number;
  readonly reused: number;
  readonly live: number;
}

/** Where commands are recorded. */
export interface Queue {
  /** Number of the batch that is being recorded. */
  readonly current: number;
  flush(): void;
}

export const STORAGE_USAGE = Usage.STORAGE | Usage.COPY_DST | Usage.COPY_SRC;
const MIN_CLASS = 256;
/**
 * All buffers together take at most this much more than was in use at the peak, or a quarter of the peak, so that a
 * program with ever new sizes does not pile up buffers. Up to there free lists keep them: a training step frees its
 * activations and takes as much in the next, and memory from the driver is slow (a step of GPT-2 on an H200 took 270 ms
 * where free lists held 512 MiB, 175 ms where they held up to the peak). PyTorch's allocator gives nothing back by
 * itself.
 *
 * Sizes that take turns need more than the peak. What was destroyed and had to be made again raises the limit by as
 * much, up to twice the peak: a buffer of 400 MiB takes the driver 8 ms, as long as a product of such a size.
 */
const CACHE_LIMIT = 512 * 1024 * 1024;
const COARSE = 1 << 20;

/**
 * Into a list with the highest id first. A step that repeats then gets the same buffers each time, so its bind groups
 * are found again; last in, first out would deal them anew at every step.
 */
function insert(list: PoolBuffer[], buffer: PoolBuffer): void {
  let low = 0,
    high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.id > buffer.id) low = middle + 1;
    else high = middle;
  }
  list.splice(low, 0, buffer);
}

/** Rounds up to a size class: four steps per power of two up to 4 MiB (at most 25% more), then whole MiB. */
export function sizeClass(bytes: number): number {
  if (bytes <= MIN_CLASS) return MIN_CLASS;
  if (bytes > 4 * COARSE) return Math.ceil(bytes / COARSE) * COARSE;
  const step = Math.max(MIN_CLASS, 2 ** (Math.floor(Math.log2(bytes - 1)) - 2));
  return Math.ceil(bytes / step) * step;
}

export class Pool {
  readonly #holder: DeviceHolder;
  /** By size; the oldest buffer of a list is its last and goes out first, whatever the order they came back in. */
  readonly #free = new Map<number, PoolBuffer[]>();
  /** Buffers to be destroyed that commands not yet submitted use. */
  #doomed: PoolBuffer[] = [];
  #doomedBytes = 0;
  #queue: Queue = { current: -1, flush: () => undefined };
  #nextId = 1;
  #budget = Infinity;
  #cacheLimit = CACHE_LIMIT;
  #onFailure: (error: OutOfMemoryError) => void = () => undefined;
  #cached = 0;
  #usedPeak = 0;
  /** How many buffers of a size were destroyed and not made again, and the bytes of those that were. */
  readonly #trimmed = new Map<number, number>();
  #regretted = 0;
  #allocated = 0;
  #allocatedPeak = 0;
  #reserved = 0;
  #reservedPeak = 0;
  #retiring = 0;
  #created = 0;
  #reused = 0;
  #live = 0;

  constructor(holder: DeviceHolder) {
    this.#holder = holder;
  }

  /** Most bytes that buffers may take together; unbounded by default (then the GPU says when it is full). */
  get budget(): number {
    return this.#budget;
  }

  set budget(bytes: number) {
    this.#budget = bytes > 0 ? bytes : Infinity;
    this.#trim(this.#room());
  }

  /** Most bytes on the free lists. */
  set cacheLimit(bytes: number) {
    this.#cacheLimit = bytes;
    this.#trim(this.#room());
  }

  /** Who records commands on the buffers; it calls submitted() after each batch. */
  attach(queue: Queue): void {
    this.#queue = queue;
  }

  /** The batch is on its way: what it used may be destroyed. */
  submitted(): void {
    if (this.#doomed.length === 0) return;
    for (const buffer of this.#doomed) buffer.gpu.destroy();
    this.#reserved -= this.#doomedBytes;
    this.#retire(this.#doomedBytes);
    this.#doomed = [];
    this.#doomedBytes = 0;
  }

  /** SentError when the GPU reports, some time after the fact, that it had no memory for a buffer. */
  onFailure(listener: (error: OutOfMemoryError) => void): void {
    this.#onFailure = listener;
  }

  get stats(): PoolStats {
    return {
      allocated: this.#allocated,
      allocatedPeak: this.#allocatedPeak,
      reserved: this.#reserved,
      reservedPeak: this.#reservedPeak,
      retiring: this.#retiring,
      created: this.#created,
      reused: this.#reused,
      live: this.#live,
    };
  }

  resetPeaks(): void {
    this.#allocatedPeak = this.#allocated;
    this.#reservedPeak = this.#reserved;
  }

  /** A buffer of at least `bytes`. Its content is whatever it held before. */
  take(bytes: number, what = "alloc"): PoolBuffer {
    const size = this.#class(bytes);
    const list = this.#free.get(size);
    let buffer = list?.pop();
    if (buffer) {
      this.#cached -= size;
      this.#reused++;
    } else {
      buffer = this.#create(bytes, size, what);
    }
    this.#live++;
    this.#usedPeak = Math.max(this.#usedPeak, this.#used);
    this.#allocated += bytes;
    this.#allocatedPeak = Math.max(this.#allocatedPeak, this.#allocated);
    return buffer;
  }

  /** Takes back what take(bytes) gave. */
  give(buffer: PoolBuffer, bytes: number): void {
    this.#live--;
    this.#allocated -= bytes;
    if (buffer.failure) {
      this.#retire(this.#destroy(buffer));
      return;
    }
    this.#cached += buffer.size;
    const list = this.#free.get(buffer.size);
    if (list) insert(list, buffer);
    else this.#free.set(buffer.size, [buffer]);
    this.#trim(this.#room());
  }

  /** Destroys the buffers on the free lists; returns their bytes. */
  emptyCache(): number {
    const before = this.#cached;
    this.#trim(0);
    this.#forget();
    this.#usedPeak = this.#used;
    return before - this.#cached;
  }

  /** Forgets all: the device is gone, and its buffers with it. */
  clear(): void {
    this.#free.clear();
    this.#doomed = [];
    this.#doomedBytes = 0;
    this.#forget();
    this.#cached = this.#usedPeak = this.#allocated = this.#reserved = this.#retiring = this.#live = 0;
  }

  #forget(): void {
    this.#trimmed.clear();
    this.#regretted = 0;
  }

  /** Bytes of the buffers that are given out. */
  get #used(): number {
    return this.#reserved - this.#doomedBytes - this.#cached;
  }

  /** What the free lists may hold once `more` bytes are given out. */
  #room(more = 0): number {
    const used = this.#used + more;
    const spare = Math.min(this.#usedPeak / 4 + this.#regretted, this.#usedPeak);
    const most = this.#usedPeak + Math.max(this.#cacheLimit, spare);
    return Math.max(0, Math.min(Math.max(most - used, this.#cacheLimit), this.#budget - used));
  }

  /** The size class, unless only the rounding would go over the device's limit. */
  #class(bytes: number): number {
    const size = sizeClass(bytes);
    const limit = this.#holder.limits.maxBufferSize;
    return size > limit && bytes <= limit ? Math.min(limit, Math.ceil(bytes / 16) * 16) : size;
  }

  #create(bytes: number, size: number, what: string): PoolBuffer {
    const { device, limits } = this.#holder;
    if (size > limits.maxBufferSize) {
      throw new OutOfMemoryError(
        `[${what}] a buffer of ${bytesText(bytes)} is over this device's limit of ${bytesText(limits.maxBufferSize)} ` +
          "per buffer (maxBufferSize) - split the tensor",
      );
    }
    const trimmed = this.#trimmed.get(size) ?? 0;
    if (trimmed > 0) {
      this.#trimmed.set(size, trimmed - 1);
      this.#regretted = Math.min(this.#regretted + size, this.#usedPeak);
    }
    this.#trim(this.#room(size));
    if (this.#doomedBytes > 0 && (this.#reserved + size > this.#budget || this.#doomedBytes > CACHE_LIMIT))
      this.#queue.flush();
    if (this.#reserved + size > this.#budget) {
      throw new OutOfMemoryError(
        `[${what}] out of WebGPU memory: ${bytesText(bytes)} more were asked for; ` +
          `in use ${bytesText(this.#allocated)}, reserved ${bytesText(this.#reserved)}, ` +
          `budget ${bytesText(this.#budget)} - free tensors or raise the budget`,
      );
    }
    const { epoch } = this.#holder;
    device.pushErrorScope("out-of-memory");
    let buffer: PoolBuffer | null = null;
    try {
      buffer = {
        gpu: device.createBuffer({ size, usage: STORAGE_USAGE }),
        id: this.#nextId++,
        size,
        failure: null,
        batch: 0,
      };
    } finally {
      const made = buffer;
      device.popErrorScope().then(
        (error) => {
          if (error && made && this.#holder.current(epoch)) this.#failed(made, error.message);
        },
        () => undefined, // the device is lost; its `lost` promise reports that
      );
    }
    this.#created++;
    this.#reserved += size;
    this.#reservedPeak = Math.max(this.#reservedPeak, this.#reserved);
    return buffer;
  }

  #failed(buffer: PoolBuffer, message: string): void {
    buffer.failure = new OutOfMemoryError(
      `[alloc] the GPU has no memory for a buffer of ${bytesText(buffer.size)}; ` +
        `in use ${bytesText(this.#allocated)}, reserved ${bytesText(this.#reserved)} - ` +
        `free tensors and call empty_cache(). ${message}`,
    );
    const list = this.#free.get(buffer.size),
      at = list?.indexOf(buffer) ?? -1;
    if (at >= 0) {
      list?.splice(at, 1);
      this.#cached -= buffer.size;
      this.#retire(this.#destroy(buffer));
    }
    this.#onFailure(buffer.failure);
  }

  /** Destroys free buffers, large ones first, until at most `keep` bytes of them are left. */
  #trim(keep: number): void {
    if (this.#cached <= keep) return;
    let retired = 0;
    for (const size of [...this.#free.keys()].sort((a, b) => b - a)) {
      const list = this.#free.get(size) ?? [];
      while (list.length > 0 && this.#cached > keep) {
        const buffer = list.shift();
        if (!buffer) break;
        this.#cached -= size;
        this.#trimmed.set(size, (this.#trimmed.get(size) ?? 0) + 1);
        retired += this.#destroy(buffer);
      }
      if (list.length === 0) this.#free.delete(size);
    }
    this.#retire(retired);
  }

  /** Destroys a buffer, after the open batch if that uses it; the bytes that come back by that at once. */
  #destroy(buffer: PoolBuffer): number {
    if (buffer.batch === this.#queue.current) {
      this.#doomed.push(buffer);
      this.#doomedBytes += buffer.size;
      return 0;
    }
    buffer.gpu.destroy();
    this.#reserved -= buffer.size;
    return buffer.size;
  }

  #retire(bytes: number): void {
    if (bytes === 0 || this.#holder.state !== "ready") return;
    const epoch = this.#holder.epoch;
    this.#retiring += bytes;
    const done = (): void => {
      if (this.#holder.epoch === epoch) this.#retiring = Math.max(0, this.#retiring - bytes);
    };
    this.#holder.device.queue.onSubmittedWorkDone().then(done, done);
  }
}
