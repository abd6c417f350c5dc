/** Counters, and GPU time per kernel where the adapter has timestamp queries and somebody asked for it. */
import { MAP_READ, Usage } from "./constants";
import type { DeviceHolder } from "./device";

export interface Counters {
  dispatches: number;
  submits: number;
  passes: number;
  bytesWritten: number;
  bytesRead: number;
  bytesCopied: number;
  reads: number;
  syncReads: number;
  pipelines: number;
  bindGroups: number;
  bindGroupHits: number;
  /** Copies made because a view was not aligned or an input was an output too. */
  asideCopies: number;
}

export interface KernelTime {
  readonly key: string;
  readonly calls: number;
  /** Nanoseconds on the GPU; browsers round them to 100 microseconds unless told otherwise. */
  readonly ns: number;
}

/** Dispatches timed per batch: a query set holds 4096 timestamps. */
const TIMED = 2048;

export class Profile {
  readonly #holder: DeviceHolder;
  readonly counters: Counters = zero();
  readonly #times = new Map<string, { calls: number; ns: number }>();
  #timing = false;
  #querySet: GPUQuerySet | null = null;
  #queryEpoch = 0;
  #keys: string[] = [];
  readonly #pending = new Set<Promise<void>>();

  constructor(holder: DeviceHolder) {
    this.#holder = holder;
  }

  /** Each dispatch then gets a pass of its own, which costs time itself. */
  get timing(): boolean {
    return this.#timing;
  }

  /** Turns timing on or off; false where the device has no timestamps. */
  setTiming(on: boolean): boolean {
    this.#timing = on && this.#holder.has("timestamp-query");
    return this.#timing === on;
  }

  reset(): void {
    Object.assign(this.counters, zero());
    this.#times.clear();
  }

  /** Where the next dispatch's pass writes its two timestamps; nothing when the batch is full. */
  timestampWrites(key: string): GPUComputePassTimestampWrites | undefined {
    if (!this.#timing || this.#keys.length >= TIMED) return undefined;
    if (this.#queryEpoch !== this.#holder.epoch || !this.#querySet) {
      this.#querySet = this.#holder.device.createQuerySet({ type: "timestamp", count: TIMED * 2 });
      this.#queryEpoch = this.#holder.epoch;
    }
    const i = this.#keys.push(key) - 1;
    return { querySet: this.#querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
  }

  /** Records the read-out of a batch's timestamps; the function it returns is called after the submit. */
  resolve(encoder: GPUCommandEncoder): (() => void) | null {
    const keys = this.#keys;
    if (keys.length === 0 || !this.#querySet) return null;
    this.#keys = [];
    const device = this.#holder.device;
    const size = keys.length * 16;
    const resolved = device.createBuffer({ size, usage: Usage.QUERY_RESOLVE | Usage.COPY_SRC });
    const staging = device.createBuffer({ size, usage: Usage.MAP_READ | Usage.COPY_DST });
    encoder.resolveQuerySet(this.#querySet, 0, keys.length * 2, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
    return () => {
      const work = staging
        .mapAsync(MAP_READ)
        .then(
          () => this.#add(keys, new BigUint64Array(staging.getMappedRange().slice(0))),
          () => undefined, // the device went away: no times then
        )
        .finally(() => {
          resolved.destroy();
          staging.destroy();
          this.#pending.delete(work);
        });
      this.#pending.add(work);
    };
  }

  /** Drops what was recorded for a device that is gone. */
  clear(): void {
    this.#keys = [];
    this.#querySet = null;
  }

  /** GPU time per kernel, longest first; waits for the batches that are under way. */
  async report(): Promise<KernelTime[]> {
    await Promise.all(this.#pending);
    const rows = [...this.#times].map(([key, t]) => ({ key, calls: t.calls, ns: t.ns }));
    return rows.sort((a, b) => b.ns - a.ns);
  }

  #add(keys: readonly string[], stamps: BigUint64Array): void {
    keys.forEach((key, i) => {
      const ns = Number((stamps[2 * i + 1] ?? 0n) - (stamps[2 * i] ?? 0n));
      const entry = this.#times.get(key) ?? { calls: 0, ns: 0 };
      entry.calls++;
      entry.ns += Math.max(0, ns);
      this.#times.set(key, entry);
    });
  }
}

function zero(): Counters {
  return {
    dispatches: 0,
    submits: 0,
    passes: 0,
    bytesWritten: 0,
    bytesRead: 0,
    bytesCopied: 0,
    reads: 0,
    syncReads: 0,
    pipelines: 0,
    bindGroups: 0,
    bindGroupHits: 0,
    asideCopies: 0,
  };
}
