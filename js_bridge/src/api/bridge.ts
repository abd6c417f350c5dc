/**
 * What Python calls: integers, strings and typed arrays in, the same out. Errors are thrown as Error objects whose
 * `name` is one of errors.ts. Pointers are byte addresses in the memory that `attach` named (WebAssembly's heap).
 */
import { ReadError } from "../runtime/errors";
import type { LimitName } from "../runtime/device";
import type { ReadMode } from "../runtime/reader";
import { Runtime, type RuntimeOptions } from "../runtime/runtime";

export { Op, REST } from "../runtime/stream";
export { INDEX_BITS } from "../runtime/slots";
export type { RuntimeOptions };

/** Values of state(). */
export const State = { CLOSED: 0, READY: 1, LOST: 2 } as const;
const STATES = { closed: State.CLOSED, ready: State.READY, lost: State.LOST } as const;

/** Bits of readProblem(): ways of reading. WORKER is that of PageBridge and WorkerBridge. */
export const ReadModeBit = { MAP: 1, CANVAS: 2, WORKER: 4 } as const;
const READ_MODES: readonly ReadMode[] = ["map", "canvas"];

/** What stats() writes, in order. */
export const STATS = [
  "allocated",
  "allocatedPeak",
  "reserved",
  "reservedPeak",
  "retiring",
  "created",
  "reused",
  "live",
  "slots",
  "inFlight",
  "dispatches",
  "submits",
  "passes",
  "bytesWritten",
  "bytesRead",
  "bytesCopied",
  "reads",
  "syncReads",
  "pipelines",
  "bindGroups",
  "bindGroupHits",
  "aliasCopies",
] as const;

/** What is submitted after a stream: all that is recorded, that if it is worth a submit, or nothing yet. */
export type Submit = "all" | "enough" | "none";

export class Bridge {
  readonly #runtime: Runtime;
  #memory: () => ArrayBufferLike = () => {
    throw new ReadError("[webgpu] no memory is attached");
  };

  constructor(options: RuntimeOptions = {}) {
    this.#runtime = new Runtime(options);
  }

  /** Names the memory that pointers point into. A function, because WebAssembly replaces its buffer when it grows. */
  attach(memory: () => ArrayBufferLike): void {
    this.#memory = memory;
  }

  // --- device ---

  /** Opens the device; false when there is none, then reason() says why. */
  open(): Promise<boolean> {
    return this.#runtime.open();
  }

  /** Starts a new device, after a loss or to start afresh; all slots are gone then. */
  reset(): Promise<boolean> {
    return this.#runtime.reset();
  }

  close(): void {
    this.#runtime.close();
  }

  state(): number {
    return STATES[this.#runtime.holder.state];
  }

  reason(): string {
    return this.#runtime.holder.reason;
  }

  /** Counts devices: a slot belongs to the device it was allocated on. */
  epoch(): number {
    return this.#runtime.holder.epoch;
  }

  /** Adapter, features and limits, as JSON. */
  info(): string {
    return JSON.stringify(this.#runtime.holder.info);
  }

  has(feature: string): boolean {
    return this.#runtime.holder.has(feature);
  }

  limit(name: LimitName): number {
    return this.#runtime.holder.limits[name];
  }

  // --- plans ---

  /**
   * The number of a plan, "family:{parameters as JSON}", by which PLAN names it. Throws UnsupportedKernelError where
   * there is none.
   */
  plan(key: string): number {
    return this.#runtime.plans.id(key);
  }

  /**
   * A plan by a number that the caller chose, the next one: for callers that do not wait for plan(). One without
   * kernels fails when it is run.
   */
  assume(key: string, number: number): void {
    this.#runtime.plans.assume(key, number);
  }

  // --- slots and commands ---

  /** Allocates at once, so that lack of memory shows here and not when a stream runs. */
  alloc(handle: number, bytes: number): void {
    this.#runtime.slots.alloc(handle, bytes);
  }

  free(handle: number): void {
    this.#runtime.slots.free(handle);
  }

  /** Runs a stream of `count` words that lies at `pointer`. */
  run(pointer: number, count: number, submit: Submit = "all"): void {
    const memory = this.#memory();
    this.execute(new Uint32Array(memory, pointer, count), submit, memory);
  }

  /** Runs a stream from an array of its own. */
  execute(words: Uint32Array, submit: Submit = "all", memory: ArrayBufferLike = words.buffer): void {
    const { holder, stream, recorder } = this.#runtime;
    void holder.device; // says first when there is none
    try {
      stream.execute(words, 0, words.length, memory);
    } finally {
      if (holder.state === "ready") {
        if (submit === "all") recorder.flush();
        else if (submit === "enough") recorder.feed();
      }
    }
  }

  /** Submits what is recorded. */
  flush(): void {
    this.#runtime.recorder.flush();
  }

  /** Submits and waits; rejects with the first failure not reported yet. */
  synchronize(): Promise<void> {
    return this.#runtime.synchronize();
  }

  /** Whether so much is under way that the caller should synchronize as soon as it can. */
  backlogged(): boolean {
    return this.#runtime.backlogged;
  }

  // --- reads ---

  read(handle: number, offset: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#runtime.reader.read(handle, offset, bytes);
  }

  readSync(handle: number, offset: number, bytes: number): Uint8Array<ArrayBuffer> {
    return this.#runtime.reader.readSync(handle, offset, bytes);
  }

  readSyncInto(handle: number, offset: number, bytes: number, pointer: number): void {
    new Uint8Array(this.#memory(), pointer, bytes).set(this.readSync(handle, offset, bytes));
  }

  /** Why a way (its bit) is closed; empty when it is open. */
  readProblem(bit: number): string {
    const mode = READ_MODES[Math.log2(bit)];
    return mode ? this.#runtime.reader.problems()[mode] : "there is no such read mode";
  }

  // --- memory and figures ---

  setBudget(bytes: number): void {
    this.#runtime.pool.budget = bytes;
  }

  emptyCache(): number {
    return this.#runtime.emptyCache();
  }

  /** Writes figures in the order of STATS. */
  stats(out: Float64Array): void {
    const { pool, slots, recorder, profile } = this.#runtime;
    const all: Record<(typeof STATS)[number], number> = {
      ...pool.stats,
      ...profile.counters,
      slots: slots.live,
      inFlight: recorder.batches.inFlight,
    };
    STATS.forEach((name, i) => {
      out[i] = all[name];
    });
  }

  resetPeaks(): void {
    this.#runtime.pool.resetPeaks();
  }

  /** Times every kernel on the GPU; false where the adapter has no timestamps. */
  setTiming(on: boolean): boolean {
    return this.#runtime.profile.setTiming(on);
  }

  /** GPU time per kernel as JSON, [{key, calls, ns}], longest first. */
  async times(): Promise<string> {
    this.#runtime.recorder.flush();
    return JSON.stringify(await this.#runtime.profile.report());
  }

  /** As times(), without those that are on their way. */
  timesNow(): string {
    return JSON.stringify(this.#runtime.profile.reportNow());
  }

  /**
   * Says what to note from now on (bits of Watch in profile.ts; 0: nothing); the clock of spans(), performance.now().
   */
  watch(what: number): number {
    this.#runtime.profile.watch(what);
    return performance.now();
  }

  /** What was sent and compiled since the last call, as JSON: a list of Note. */
  notes(): string {
    return JSON.stringify(this.#runtime.profile.notes());
  }

  /** When each kernel ran since the last call, as JSON: Spans. Needs watch(Watch.SPANS) and setTiming(true). */
  async spans(): Promise<string> {
    this.#runtime.recorder.flush();
    await this.#runtime.reader.pump.wait(this.#runtime.profile.settled());
    return this.spansNow();
  }

  /** As spans(), without those that are on their way. */
  spansNow(): string {
    return JSON.stringify(this.#runtime.profile.spans());
  }
}
