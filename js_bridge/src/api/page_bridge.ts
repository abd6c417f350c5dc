/** `Bridge` as Python sees it: on Pyodide's heap. */
import { command } from "../runtime/stream";
import { Bridge, INDEX_BITS, Op, ReadModeBit, STATS, State } from "./bridge";
import type { RuntimeOptions } from "../runtime/runtime";

/** Pyodide's Emscripten module; HEAPU8 is another array after the heap has grown. */
export interface Heap {
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
}

/** A Python object with the buffer interface, as Pyodide hands it over. */
export interface PyBuffer {
  getBuffer(type: "u8"): { readonly data: Uint8Array<ArrayBuffer>; release(): void };
}

export class PageBridge extends Bridge {
  readonly #heap: Heap;
  /** Why the device does not live in a GPU worker. */
  workerProblem = "it was not asked for";

  constructor(heap: Heap, options: RuntimeOptions = {}) {
    super(options);
    this.#heap = heap;
    this.attach(() => heap.HEAPU8.buffer);
  }

  /**
   * As Bridge.run(), but submits only when there is enough for the GPU to do: every large allocation sends what came
   * before it, and a submit costs as much as several dispatches. Reads and synchronize() submit the rest. The first
   * word is 0 from then on, which says that the commands were taken.
   */
  override run(pointer: number, count: number): void {
    try {
      super.run(pointer, count, "enough");
    } finally {
      new Uint32Array(this.#heap.HEAPU8.buffer, pointer, 1)[0] = 0;
    }
  }

  /** As alloc(), but a failure leaves no poisoned slot behind: the caller may use the number again. */
  claim(handle: number, bytes: number): void {
    try {
      this.alloc(handle, bytes);
    } catch (e) {
      if (this.state() === State.READY) this.free(handle);
      throw e;
    }
  }

  upload(handle: number, offset: number, source: PyBuffer): void {
    const view = source.getBuffer("u8");
    try {
      this.put(handle, offset, view.data);
    } finally {
      view.release();
    }
  }

  put(handle: number, offset: number, { buffer, byteOffset, byteLength }: Uint8Array): void {
    this.execute(Uint32Array.from(command(Op.UPLOAD, handle, offset, byteLength, byteOffset)), "none", buffer);
  }

  /** Throws if commands cannot be run. */
  check(): void {
    this.execute(new Uint32Array(0), "none");
  }

  override readProblem(bit: number): string {
    return bit === ReadModeBit.WORKER ? this.workerProblem : super.readProblem(bit);
  }

  /** Blocks until the GPU has run all that was submitted: a canvas read waits for the commands before it. */
  barrier(): void {
    const handle = 2 ** INDEX_BITS - 1; // the last one; the caller counts from 1
    this.alloc(handle, 16);
    try {
      this.readSync(handle, 0, 4);
    } finally {
      this.free(handle);
    }
  }

  /** stats() by name, as JSON. */
  figures(): string {
    const values = new Float64Array(STATS.length);
    this.stats(values);
    return JSON.stringify(Object.fromEntries(STATS.map((name, i) => [name, values[i]])));
  }
}
