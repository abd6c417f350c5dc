/** The parts put together: one WebGPU device and all that lives on it. */
import { probeCanvas, UNTRIED } from "./canvas";
import { type Plan, planOf } from "../kernels/plan";
import { DeviceHolder, type DeviceOptions } from "./device";
import { WebgpuError } from "./errors";
import { readsHalves } from "./halves";
import { Pipelines } from "./pipelines";
import { Plans } from "./plans";
import { Pool } from "./pool";
import { Profile } from "./profile";
import { Reader, type ReaderOptions } from "./reader";
import { Recorder, type RecorderOptions } from "./recorder";
import { Slots } from "./slots";
import { Stream } from "./stream";

export interface RuntimeOptions extends DeviceOptions, RecorderOptions, ReaderOptions {
  /** Whether open() finds out about canvas reads, on a throwaway device. True when left out. */
  readonly probe?: boolean;
  /** What the caller found out about canvas reads before the first open(), which then does not try them. */
  readonly canvas?: string;
  /** What makes the plan of a key: the kernel families, unless tests bring kernels of their own. */
  readonly planOf?: (key: string) => Plan;
  /** Most bytes on the GPU; see Pool.budget. */
  readonly budget?: number;
}

/** Bytes destroyed and not yet given back after which the caller is asked to wait. */
const MOST_RETIRING = 256 << 20;

export class Runtime {
  readonly holder = new DeviceHolder();
  readonly pool: Pool;
  readonly slots: Slots;
  readonly profile: Profile;
  readonly pipelines: Pipelines;
  readonly recorder: Recorder;
  readonly plans: Plans;
  readonly stream: Stream;
  readonly reader: Reader;
  readonly #options: RuntimeOptions;
  #canvas: string | undefined;
  #opening: Promise<boolean> | null = null;

  constructor(options: RuntimeOptions = {}) {
    this.#options = options;
    this.#canvas = options.canvas;
    this.pool = new Pool(this.holder);
    if (options.budget !== undefined) this.pool.budget = options.budget;
    this.slots = new Slots(this.pool);
    this.profile = new Profile(this.holder);
    this.pipelines = new Pipelines(this.holder, this.profile);
    this.recorder = new Recorder(this.holder, this.pool, this.pipelines, this.profile, options);
    this.plans = new Plans(this.holder, this.pool, this.pipelines, this.recorder, options.planOf ?? planOf);
    this.stream = new Stream(this.slots, this.pool, this.recorder, this.plans);
    this.reader = new Reader(this.holder, this.slots, this.recorder, this.profile, options);
    this.holder.onLost(() => this.#clear());
    this.holder.onError((message) => this.recorder.batches.fail(new WebgpuError(`[webgpu] ${message}`)));
    this.pool.onFailure((error) => this.recorder.batches.fail(error));
  }

  /** Opens the device; false, with `holder.reason`, when there is none. */
  open(): Promise<boolean> {
    if (this.#opening === null && this.holder.state === "ready") return Promise.resolve(true);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** A new device, after a loss or to start afresh. Slots of the old one are gone; kernels keep their numbers. */
  reset(): Promise<boolean> {
    this.close("WebGPU is being reset");
    return this.open();
  }

  close(reason?: string): void {
    this.#clear();
    this.holder.close(reason);
  }

  /** Submits what is recorded and waits for all of it; rejects with the first failure not reported yet. */
  async synchronize(): Promise<void> {
    this.recorder.flush();
    const { batches } = this.recorder;
    await this.reader.pump.wait(Promise.all([batches.done(), batches.settled(), this.pipelines.settled()]));
    const failure = batches.takeFailure();
    if (failure) throw failure;
    void this.holder.device; // a loss meanwhile is an error as well
  }

  /** Whether so much is under way that the caller should wait (synchronize) as soon as it can. */
  get backlogged(): boolean {
    return this.recorder.batches.backlogged || this.pool.stats.retiring > MOST_RETIRING;
  }

  /** Frees what is cached for reuse; returns the bytes of it. */
  emptyCache(): number {
    if (this.holder.state !== "ready") return 0;
    this.recorder.flush();
    this.recorder.emptyCache();
    this.reader.emptyCache();
    return this.pool.emptyCache();
  }

  async #open(): Promise<boolean> {
    const gpu = this.#options.gpu ?? (globalThis.navigator as Navigator | undefined)?.gpu;
    // the probe may take the GPU process down: before the device that is to live
    const problem =
      this.#canvas ?? (gpu && this.#options.probe !== false ? await probeCanvas(gpu) : "it was not tried");
    this.#canvas = undefined;
    let opened = await this.holder.open(this.#options);
    // a GPU process that the probe took down is back in a moment; until then there is no adapter
    for (let ms = 100; !opened && problem && !UNTRIED.has(problem) && ms < 2000; ms *= 2) {
      await new Promise((done) => setTimeout(done, ms));
      opened = await this.holder.open(this.#options);
    }
    if (opened && this.holder.has("shader-f16") && (await this.reader.pump.wait(readsHalves(this.holder.device))))
      this.holder.setHalves("f16");
    this.reader.canvasProblem = opened ? problem : this.holder.reason;
    return opened;
  }

  #clear(): void {
    this.recorder.clear();
    this.stream.clear();
    this.plans.clear();
    this.reader.clear();
    this.slots.clear();
  }
}
