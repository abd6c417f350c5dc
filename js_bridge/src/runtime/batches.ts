/**
 * Batches of commands under way. The GPU reports mistakes late. What a failed batch should have written, and what later
 * batches made of it, is poisoned, so that nobody reads a plausible wrong number.
 */
import { MARKS } from "./builtin";
import { Usage } from "./constants";
import type { DeviceHolder } from "./device";
import { OutOfMemoryError, WebgpuError } from "./errors";
import type { Pipelines } from "./pipelines";
import type { Block } from "./slots";

interface Batch {
  readonly number: number;
  readonly kernels: Set<number>;
  readonly written: Set<Block>;
}

/**
 * Words that accepted batches cleared: `count` of them, for batches in order, from `since` on and around the buffer's
 * end.
 */
export interface Marks {
  readonly buffer: GPUBuffer;
  readonly since: number;
  readonly count: number;
}

export class Batches {
  readonly #holder: DeviceHolder;
  readonly #pipelines: Pipelines;
  readonly #maxInFlight: number;
  #batch: Batch = emptyBatch(1);
  readonly #unchecked: Batch[] = [];
  #failures: WebgpuError[] = [];
  #open = false;
  #submitted = 0;
  #completed = 0;
  /** Of the last batch: why it was not accepted. */
  #checked: Promise<WebgpuError | null> = Promise.resolve(null);
  #marks: GPUBuffer | null = null;
  /** Batches up to this one are known to be accepted, or have nothing left that could be read. */
  #seen = 0;
  /** Batches up to this one hold one that failed; which and why is known when the event loop has turned. */
  #bad = 0;
  #look: () => void = () => undefined;

  constructor(holder: DeviceHolder, pipelines: Pipelines, maxInFlight: number) {
    this.#holder = holder;
    this.#pipelines = pipelines;
    this.#maxInFlight = maxInFlight;
  }

  /** Number of the batch being recorded. */
  get current(): number {
    return this.#batch.number;
  }

  /** Batches submitted and not yet known to be done; more than `maxInFlight` of them ask for a wait. */
  get inFlight(): number {
    return this.#submitted - this.#completed;
  }

  get backlogged(): boolean {
    return this.inFlight > this.#maxInFlight;
  }

  used(kernel: number): void {
    this.#batch.kernels.add(kernel);
  }

  wrote(block: Block): void {
    this.#batch.written.add(block);
  }

  fail(error: WebgpuError): void {
    this.#failures.push(error);
  }

  /** Takes the first failure that was not reported yet. */
  takeFailure(): WebgpuError | undefined {
    const first = this.#failures[0];
    this.#failures = [];
    return first;
  }

  /**
   * What a synchronous read looks at, as the browser says only when its event loop turns whether it accepted a batch:
   * the marks of all batches of which that is not known. Null where there are none.
   */
  marks(): Marks | null {
    const last = this.#batch.number - 1;
    const cycle = last - (last % MARKS);
    const first = Math.max(this.#unchecked[0]?.number ?? last + 1, this.#seen + 1, cycle);
    return this.#marks && first <= last ? { buffer: this.#marks, since: first % MARKS, count: last - first + 1 } : null;
  }

  /** Takes what a read found out: how many of marks() failed. */
  judge(failed: number): void {
    const last = this.#batch.number - 1;
    if (failed > 0) {
      this.#bad = last;
      return;
    }
    // the read waited for them: a program that never lets the event loop turn keeps nothing of them
    this.#seen = last;
    this.#completed = Math.max(this.#completed, this.#submitted);
    // one of those before failed, as an earlier look found
    const after = this.#unchecked.findIndex(({ number }) => number > this.#bad);
    for (const { kernels, written } of after < 0 ? [] : this.#unchecked.splice(after)) {
      kernels.clear();
      written.clear();
    }
  }

  /** Whether a batch failed, and what it should have written is not poisoned yet. */
  get failing(): boolean {
    const first = this.#unchecked[0];
    return first !== undefined && first.number <= this.#bad;
  }

  /** Who looks at the marks before they are used again. */
  onFull(look: () => void): void {
    this.#look = look;
  }

  /** Lets the batch leave its mark, if it is accepted. */
  sign(encoder: GPUCommandEncoder): void {
    const at = this.#batch.number % MARKS;
    if (!this.#marks || at === 0) {
      if (this.#marks) this.#look();
      const { device } = this.#holder;
      this.#marks ??= device.createBuffer({ label: "marks", size: MARKS * 4, usage: Usage.STORAGE | Usage.COPY_DST });
      device.queue.writeBuffer(this.#marks, 0, new Uint32Array(MARKS).fill(1));
    }
    encoder.clearBuffer(this.#marks, at * 4, 4);
  }

  begin(): void {
    const device = this.#holder.device;
    device.pushErrorScope("out-of-memory");
    device.pushErrorScope("validation");
    this.#open = true;
  }

  /** The batch was submitted, or could not be: `refused` says why. */
  end(refused: WebgpuError | null = null): void {
    const device = this.#holder.device;
    const batch = this.#batch;
    this.#batch = emptyBatch(batch.number + 1);
    if (refused) {
      this.#failures.push(refused);
      for (const block of batch.written) block.poison ??= refused;
      batch.written.clear();
    }
    this.#open = false;
    this.#unchecked.push(batch);
    const scopes = Promise.all([device.popErrorScope(), device.popErrorScope()]);
    const { epoch } = this.#holder;
    const before = this.#checked; // in order, so that a later batch is still listed when an earlier one turns out bad
    this.#checked = scopes.then(
      async ([validation, memory]) => {
        await before;
        return (await this.#check(batch, validation ?? memory, epoch)) ?? refused;
      },
      () => refused, // the device is lost; its `lost` promise reports that
    );
    this.#submitted = batch.number;
    if (batch.number % 8 === 0 || this.backlogged) this.#watch(batch.number);
  }

  /**
   * Resolves when it is known of every batch submitted so far whether it was accepted; to the failure of the last one.
   */
  settled(): Promise<WebgpuError | null> {
    return this.#checked;
  }

  /** Resolves when all submitted work is done. */
  async done(): Promise<void> {
    const number = this.#submitted;
    await this.#holder.device.queue.onSubmittedWorkDone();
    this.#completed = Math.max(this.#completed, number);
  }

  clear(): void {
    this.#batch = emptyBatch(this.#batch.number + 1);
    this.#open = false;
    this.#unchecked.length = 0;
    this.#failures = [];
    this.#submitted = this.#completed = this.#batch.number - 1;
    this.#checked = Promise.resolve(null);
    this.#marks = null;
    this.#seen = this.#bad = this.#submitted;
  }

  get recording(): boolean {
    return this.#open;
  }

  #watch(number: number): void {
    const epoch = this.#holder.epoch;
    this.#holder.device.queue.onSubmittedWorkDone().then(
      () => {
        if (this.#holder.epoch === epoch) this.#completed = Math.max(this.#completed, number);
      },
      () => undefined,
    );
  }

  async #check(batch: Batch, error: GPUError | null, epoch: number): Promise<WebgpuError | null> {
    let failure: WebgpuError | null = null;
    if (error) {
      failure = await this.#cause(batch, error);
      if (!this.#holder.current(epoch)) return failure; // of a device that is gone
      this.#failures.push(failure);
      const from = this.#unchecked.indexOf(batch);
      const later = from < 0 ? [batch] : this.#unchecked.slice(from);
      for (const { written } of [...later, this.#batch]) for (const block of written) block.poison ??= failure;
    }
    const at = this.#unchecked.indexOf(batch);
    if (at >= 0) this.#unchecked.splice(at, 1);
    return failure;
  }

  /** The kernel that does not compile, where that is the reason; else the message, with the kernels it may be about. */
  async #cause(batch: Batch, error: GPUError): Promise<WebgpuError> {
    await this.#pipelines.settled();
    for (const id of batch.kernels) {
      const failure = this.#pipelines.failure(id);
      if (failure) return failure;
    }
    const names = [...batch.kernels].slice(0, 8).map((id) => this.#pipelines.key(id));
    const text = `[webgpu] a batch of commands failed: ${error.message} (kernels: ${names.join(", ") || "none"})`;
    return error.constructor.name === "GPUOutOfMemoryError" ? new OutOfMemoryError(text) : new WebgpuError(text);
  }
}

function emptyBatch(number: number): Batch {
  return { number, kernels: new Set(), written: new Set() };
}
