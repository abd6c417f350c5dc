/**
 * Read-back. A read sees what its slot holds when it is asked for, whatever is recorded while it is under way. Any
 * number of reads may be pending. The read modes that are here (the caller has the others):
 *   map     mapAsync; a promise. Under JSPI the caller waits for it in the middle of synchronous code.
 *   canvas  at once, through a canvas, where the probe says that it works.
 */
import { MAP_READ, Usage } from "./constants";
import { CanvasReader } from "./canvas";
import type { DeviceHolder } from "./device";
import { DeviceLostError, ReadError, WebgpuError } from "./errors";
import type { Profile } from "./profile";
import { Pump } from "./pump";
import type { Recorder } from "./recorder";
import { checkRange, type Slot, type Slots } from "./slots";

export type ReadMode = "map" | "canvas";

export interface ReaderOptions {
  /** Largest staging buffer, in bytes; longer reads go in pieces. */
  readonly chunk?: number;
  /**
   * Bytes copied to scratch at once. A read beyond that is no longer a snapshot: later commands show in its last parts.
   */
  readonly snapshot?: number;
  /** Whether mapAsync needs to be driven (Firefox); found out when left out. */
  readonly pump?: boolean;
}

const MIN_STAGING = 4096;
const KEPT_STAGING = 64 << 20;

interface Piece {
  readonly staging: GPUBuffer;
  readonly at: number;
  readonly bytes: number;
}

export class Reader {
  readonly #holder: DeviceHolder;
  readonly #slots: Slots;
  readonly #recorder: Recorder;
  readonly #profile: Profile;
  readonly #chunk: number;
  readonly #snapshot: number;
  readonly pump: Pump;
  readonly #staging = new Map<number, GPUBuffer[]>();
  #kept = 0;
  #canvas: CanvasReader | null = null;
  #canvasProblem = "the device is not open";

  constructor(holder: DeviceHolder, slots: Slots, recorder: Recorder, profile: Profile, options: ReaderOptions = {}) {
    this.#holder = holder;
    this.#slots = slots;
    this.#recorder = recorder;
    this.#profile = profile;
    this.#chunk = Math.max(MIN_STAGING, options.chunk ?? 16 << 20);
    this.#snapshot = Math.max(this.#chunk, options.snapshot ?? 256 << 20);
    this.pump = new Pump(holder, options.pump);
    recorder.batches.onFull(() => {
      if (this.problems().canvas === "") this.#look();
    });
  }

  /** What the canvas probe found: empty when canvas reads work, else why not. */
  set canvasProblem(problem: string) {
    this.#canvasProblem = problem;
  }

  /** Which ways are open now, and why the others are not. */
  problems(): Record<ReadMode, string> {
    if (this.#holder.state !== "ready") return { map: this.#holder.reason, canvas: this.#holder.reason };
    return { map: "", canvas: this.#canvasProblem };
  }

  /** Reads bytes of a slot. */
  async read(handle: number, offset: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#allow("map");
    const slot = this.#slot(handle, offset, bytes);
    if (bytes === 0) return new Uint8Array(0);
    const { block } = slot;
    const first = offset - (offset % 4); // copies count in words
    const words = new Uint8Array(Math.ceil((offset + bytes) / 4) * 4 - first);
    const { epoch } = this.#holder;
    this.#slots.hold(block);
    try {
      for (let done = 0; done < words.length; done += this.#snapshot) {
        if (this.#holder.epoch !== epoch)
          throw new DeviceLostError("[read] the device was replaced while the read was under way");
        const part = words.subarray(done, Math.min(words.length, done + this.#snapshot));
        await this.#readPart(block.buffer.gpu, first + done, part, epoch);
      }
      const failure = block.poison ?? block.buffer.failure;
      if (failure) throw failure;
    } finally {
      this.#slots.release(block);
    }
    this.#profile.counters.reads++;
    this.#profile.counters.bytesRead += bytes;
    return words.subarray(offset - first, offset - first + bytes);
  }

  /** Reads bytes of a slot without waiting; throws where no way to do that is open. */
  readSync(handle: number, offset: number, bytes: number): Uint8Array<ArrayBuffer> {
    this.#allow("canvas");
    const slot = this.#slot(handle, offset, bytes);
    const first = offset - (offset % 4);
    const words = new Uint32Array(Math.ceil((offset + bytes - first) / 4));
    this.#recorder.flush();
    this.#look(slot.block.buffer.gpu, first, words);
    if (this.#recorder.batches.failing) {
      throw new ReadError(
        "[read] commands before this read failed on the GPU; what and why is known when the page's event loop has " +
          "turned, and an asynchronous read tells it",
      );
    }
    const failure = slot.block.poison ?? slot.block.buffer.failure;
    if (failure) throw failure;
    this.#profile.counters.syncReads++;
    this.#profile.counters.bytesRead += bytes;
    return new Uint8Array(words.buffer, offset - first, bytes);
  }

  emptyCache(): void {
    for (const list of this.#staging.values()) for (const buffer of list) buffer.destroy();
    this.#staging.clear();
    this.#kept = 0;
    this.#canvas?.clear();
  }

  /** Forgets what belonged to the device. */
  clear(): void {
    this.#staging.clear();
    this.#kept = 0;
    this.#canvas = null;
  }

  /** Reads by the canvas, and finds out whether the batches before were accepted. */
  #look(buffer?: GPUBuffer, offset = 0, out = new Uint32Array(1)): void {
    const { device, limits } = this.#holder;
    const { batches } = this.#recorder;
    const marks = batches.marks();
    const source = buffer ?? marks?.buffer;
    if (!source) return;
    this.#canvas ??= new CanvasReader(device, limits);
    const failed = this.#canvas.read(source, offset, out, marks ?? undefined);
    if (marks) batches.judge(failed);
  }

  #allow(mode: ReadMode): void {
    void this.#holder.device; // says first when there is none
    const problem = this.problems()[mode];
    if (problem === "") return;
    if (mode !== "canvas") throw new ReadError(`[read] ${problem}`);
    throw new ReadError(
      `[read] a tensor on the GPU cannot be read synchronously here: ${problem} - ` +
        "use the asynchronous form of the read",
    );
  }

  #slot(handle: number, offset: number, bytes: number): Slot {
    const slot = this.#slots.get(handle, "read");
    checkRange(slot, offset, bytes, "read");
    return slot;
  }

  async #readPart(buffer: GPUBuffer, offset: number, out: Uint8Array<ArrayBuffer>, epoch: number): Promise<void> {
    const pieces: Piece[] = [];
    const encoder = this.#recorder.encoder();
    for (let at = 0; at < out.length; at += this.#chunk) {
      const bytes = Math.min(this.#chunk, out.length - at);
      const staging = this.#takeStaging(bytes);
      encoder.copyBufferToBuffer(buffer, offset + at, staging, 0, bytes);
      pieces.push({ staging, at, bytes });
    }
    this.#recorder.flush();
    const accepted = this.#recorder.batches.settled();
    let mapped = false;
    try {
      const maps = pieces.map((p) => p.staging.mapAsync(MAP_READ, 0, p.bytes));
      await this.pump.wait(Promise.all([...maps, accepted]));
      const refused = await accepted;
      if (refused) throw refused; // the copies were not made
      mapped = true;
      for (const p of pieces) out.set(new Uint8Array(p.staging.getMappedRange(0, p.bytes)), p.at);
    } catch (e) {
      throw await this.#explain(e, epoch);
    } finally {
      for (const p of pieces) this.#giveStaging(p.staging, mapped && this.#holder.epoch === epoch);
    }
  }

  /** mapAsync says little when it fails; most often the device went away, which is reported a moment later. */
  async #explain(e: unknown, epoch: number): Promise<WebgpuError> {
    if (e instanceof WebgpuError) return e;
    for (let i = 0; i < 24 && this.#holder.epoch === epoch && this.#holder.state === "ready"; i++) {
      await new Promise((resolve) => setTimeout(resolve, 4 * i));
    }
    if (this.#holder.epoch !== epoch || this.#holder.state !== "ready") {
      return new DeviceLostError(
        `[read] the device was lost during the read (${this.#holder.reason || "it was replaced"})`,
      );
    }
    return new ReadError(`[read] mapping the result failed: ${e instanceof Error ? e.message : String(e)}`);
  }

  #takeStaging(bytes: number): GPUBuffer {
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, MIN_STAGING)));
    const kept = this.#staging.get(size)?.pop();
    if (kept) {
      this.#kept -= size;
      return kept;
    }
    return this.#holder.device.createBuffer({ label: "read", size, usage: Usage.MAP_READ | Usage.COPY_DST });
  }

  #giveStaging(buffer: GPUBuffer, good: boolean): void {
    if (!good || this.#kept + buffer.size > KEPT_STAGING) {
      buffer.destroy();
      return;
    }
    buffer.unmap();
    this.#kept += buffer.size;
    const list = this.#staging.get(buffer.size);
    if (list) list.push(buffer);
    else this.#staging.set(buffer.size, [buffer]);
  }
}
