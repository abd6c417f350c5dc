/**
 * Counters; on request also notes of what is compiled and sent, GPU times where the adapter has timestamp queries.
 */
import { MAP_READ, Usage } from "./constants";
import type { DeviceHolder } from "./device";
import type { WordName } from "./kernel";

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
  aliasCopies: number;
}

export interface KernelTime {
  readonly key: string;
  readonly calls: number;
  /** Nanoseconds on the GPU; browsers round them to 100 microseconds by default. */
  readonly ns: number;
}

/** Bits of watch(). */
export const Watch = { KERNELS: 1, WGSL: 2, SPANS: 4 } as const;

/** A kernel that was sent (its uniform words by name, its workgroups), or the text of one that was compiled. */
export type Note =
  | { readonly kernel: string; readonly words: Readonly<Record<string, number>>; readonly groups: readonly number[] }
  | { readonly kernel: string; readonly wgsl: string };

/** When kernels ran. */
export interface Spans {
  readonly kernels: readonly string[];
  /**
   * Of each run: index of the kernel; begin and end by the GPU's clock, nanoseconds since the first of all; when it was
   * submitted, performance.now().
   */
  readonly rows: readonly (readonly [number, number, number, number])[];
  /** Runs that are not among the rows, as there were too many. */
  readonly lost: number;
  /** Batches whose times are still on their way. */
  readonly pending: number;
}

/** Runs whose begin and end are kept until somebody takes them. */
const MOST_SPANS = 1 << 20;
/** Notes kept until somebody takes them. */
const MOST_NOTES = 1 << 16;

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
  #watching = 0;
  #notes: Note[] = [];
  #spans: [number, number, number, number][] = [];
  #lost = 0;
  /** The GPU's clock at the first stamp, and the kernels of the spans. */
  #zero: bigint | null = null;
  readonly #names = new Map<string, number>();

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

  /** Bits of Watch: what to note from now on. What is no longer noted is forgotten. */
  watch(what: number): void {
    if (!(what & (Watch.KERNELS | Watch.WGSL))) this.#notes = [];
    if (!(what & this.#watching & Watch.SPANS)) {
      this.#spans = [];
      this.#lost = 0;
      this.#zero = null;
      this.#names.clear();
    }
    this.#watching = what;
  }

  /** Whether dispatches are noted. */
  get watching(): boolean {
    return (this.#watching & Watch.KERNELS) !== 0;
  }

  compiled(kernel: string, wgsl: string): void {
    this.counters.pipelines++;
    if (this.#watching & Watch.WGSL && this.#notes.length < MOST_NOTES) this.#notes.push({ kernel, wgsl });
  }

  dispatched(
    kernel: { readonly key: string; readonly words: readonly WordName[] },
    words: Uint32Array,
    from: number,
    groups: readonly number[],
  ): void {
    if (this.#notes.length >= MOST_NOTES) return;
    const view = new DataView(words.buffer, words.byteOffset + 4 * from);
    const values: Record<string, number> = {};
    kernel.words.forEach(({ name, type }, i) => {
      if (type === "f32") values[name] = view.getFloat32(4 * i, true);
      else values[name] = type === "i32" ? view.getInt32(4 * i, true) : view.getUint32(4 * i, true);
    });
    this.#notes.push({ kernel: kernel.key, words: values, groups });
  }

  /** The notes since the last call. */
  notes(): Note[] {
    const notes = this.#notes;
    this.#notes = [];
    return notes;
  }

  /** The spans that are known by now and were not taken yet. */
  spans(): Spans {
    const rows = this.#spans;
    const lost = this.#lost;
    this.#spans = [];
    this.#lost = 0;
    return { kernels: [...this.#names.keys()], rows, lost, pending: this.#pending.size };
  }

  /** When the times of all that was submitted are known. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
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
      const submitted = performance.now();
      const work = staging
        .mapAsync(MAP_READ)
        .then(
          () => this.#add(keys, new BigUint64Array(staging.getMappedRange().slice(0)), submitted),
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
    await this.settled();
    return this.reportNow();
  }

  /** As report(), of the batches whose times have come. */
  reportNow(): KernelTime[] {
    const rows = [...this.#times].map(([key, t]) => ({ key, calls: t.calls, ns: t.ns }));
    return rows.sort((a, b) => b.ns - a.ns);
  }

  #add(keys: readonly string[], stamps: BigUint64Array, submitted: number): void {
    if (this.#watching & Watch.SPANS) this.#addSpans(keys, stamps, submitted);
    keys.forEach((key, i) => {
      const ns = Number((stamps[2 * i + 1] ?? 0n) - (stamps[2 * i] ?? 0n));
      const entry = this.#times.get(key) ?? { calls: 0, ns: 0 };
      entry.calls++;
      entry.ns += Math.max(0, ns);
      this.#times.set(key, entry);
    });
  }

  #addSpans(keys: readonly string[], stamps: BigUint64Array, submitted: number): void {
    this.#zero ??= stamps[0] ?? 0n;
    const zero = this.#zero;
    keys.forEach((key, i) => {
      if (this.#spans.length >= MOST_SPANS) {
        this.#lost++;
        return;
      }
      let name = this.#names.get(key);
      if (name === undefined) this.#names.set(key, (name = this.#names.size));
      const begin = Number((stamps[2 * i] ?? 0n) - zero);
      const end = Number((stamps[2 * i + 1] ?? 0n) - zero);
      this.#spans.push([name, begin, Math.max(begin, end), submitted]);
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
    aliasCopies: 0,
  };
}
