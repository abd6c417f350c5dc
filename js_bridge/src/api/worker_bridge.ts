/**
 * PageBridge's methods where the device lives in a GPU worker: reads block this thread on shared memory. Needs a thread
 * that may wait (a worker) in a page that is cross-origin isolated.
 */
import { TEXTS } from "../runtime/errors";
import { ReadModeBit, State } from "./bridge";
import { type Heap, type PageBridge, type PyBuffer } from "./page_bridge";
import { call, CALLS, Word, type CallName, type PageOptions } from "./worker_calls";
import { WorkerLink, type Port } from "./worker_link";

/** Why there can be no GPU worker for this thread; empty when there can. */
export function workerProblem(): string {
  const scope = globalThis as { crossOriginIsolated?: boolean; Worker?: unknown };
  try {
    if (typeof SharedArrayBuffer === "undefined" || !scope.crossOriginIsolated)
      return "the page is not cross-origin isolated (COOP and COEP headers)";
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1, 0);
  } catch {
    return "Python does not run in a worker";
  }
  return scope.Worker === undefined ? TEXTS.NO_WORKERS : "";
}

/** Starts the script of this bundle as a GPU worker. */
export function startWorker(source: string): Port {
  const url = URL.createObjectURL(new Blob([source, "\ntorchlite_webgpu.serve(self);"], { type: "text/javascript" }));
  const worker = new Worker(url, { name: "torchlite GPU" });
  // not before it has answered: browsers may fetch the script late
  worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
  worker.addEventListener("error", () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

type Calls = Pick<PageBridge, CallName>;
export interface WorkerBridge extends Calls {}

export class WorkerBridge {
  readonly #heap: Heap;
  readonly #start: () => Port;
  readonly #canvasProblem: string;
  readonly #options: PageOptions;
  readonly #link: WorkerLink;
  /** Devices of GPU workers that ended. */
  #before = 0;
  /** Reads that blocked this thread. */
  #blocked = 0;
  readonly #plans: string[] = [];
  readonly #kept = new Map<CallName, readonly unknown[]>();

  constructor(heap: Heap, options: PageOptions, canvasProblem: string, start: () => Port) {
    this.#heap = heap;
    this.#options = options;
    this.#canvasProblem = canvasProblem;
    this.#start = start;
    this.#link = new WorkerLink(options.worker);
  }

  static {
    const methods = this.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of Object.keys(CALLS) as CallName[]) {
      methods[name] ??= function (this: WorkerBridge, ...args) {
        return this.#call(name, args);
      };
    }
  }

  // --- device ---

  /** Starts a GPU worker with a device; false when there is no device to be had. */
  async open(): Promise<boolean> {
    const { worker: _, ...options } = this.#options;
    this.#before = this.epoch();
    this.#blocked = 0;
    this.#link.begin(this.#start(), { options, plans: this.#plans });
    const opened = (await this.#link.promise("open", [])) as boolean;
    if (!opened) this.#link.end(this.reason(), State.CLOSED);
    else for (const [name, args] of this.#kept) this.#link.ask(name, args);
    return opened;
  }

  /** A new device; where the GPU worker has ended, in a new one. */
  async reset(): Promise<boolean> {
    return this.#link.open ? ((await this.#link.promise("reset", [])) as boolean) : this.open();
  }

  close(): void {
    this.#link.end(TEXTS.CLOSED, State.CLOSED);
  }

  state(): number {
    return this.#link.open ? (this.#now("state") as number) : this.#link.ended.state;
  }

  reason(): string {
    const reason = this.#now("reason") as string;
    return this.#link.open ? reason : this.#link.ended.reason;
  }

  epoch(): number {
    return this.#before + this.#link.word(Word.EPOCH);
  }

  // --- commands ---

  plan(key: string): number {
    const number = this.#link.ask("plan", [key]) as number;
    this.#plans[number] = key;
    return number;
  }

  /** Hands commands over. Their failure is thrown by this call or a later one. */
  run(pointer: number, count: number): void {
    const { buffer } = this.#heap.HEAPU8;
    const words = new Uint32Array(buffer, pointer, count).slice();
    try {
      this.#link.post({ run: words }, words);
    } finally {
      new Uint32Array(buffer, pointer, 1)[0] = 0;
    }
  }

  upload(handle: number, offset: number, source: PyBuffer): void {
    const view = source.getBuffer("u8");
    try {
      const upload = view.data.slice();
      this.#link.post({ handle, offset, upload }, upload);
    } finally {
      view.release();
    }
  }

  backlogged(): boolean {
    return this.#link.word(Word.BACKLOGGED) !== 0;
  }

  barrier(): void {
    this.#link.ask("synchronize", []);
  }

  // --- reads ---

  readSyncInto(handle: number, offset: number, bytes: number, pointer: number): void {
    this.#link.fill("read", [handle, offset, bytes], new Uint8Array(this.#heap.HEAPU8.buffer, pointer, bytes));
    this.#blocked++;
  }

  readProblem(bit: number): string {
    if (bit !== ReadModeBit.WORKER) return this.#canvasProblem;
    return this.#link.open ? "" : this.#link.ended.reason;
  }

  // --- figures ---

  /** Reads that blocked this thread are counted as synchronous ones, whatever the GPU worker did for them. */
  figures(): string {
    const figures = JSON.parse(this.#now("figures") as string) as Record<string, number>;
    if (figures["reads"] === undefined) return "{}";
    return JSON.stringify({ ...figures, reads: figures["reads"] - this.#blocked, syncReads: this.#blocked });
  }

  /** With what is on its way: here it can be waited for. */
  timesNow(): string {
    return this.#now("times") as string;
  }

  spansNow(): string {
    return this.#now("spans") as string;
  }

  #call(name: CallName, args: readonly unknown[]): unknown {
    const { promise, gone, kept } = call(name);
    if (kept) this.#kept.set(name, args);
    if (!promise) return this.#now(name, args);
    return this.#link.open || gone === undefined ? this.#link.promise(name, args) : Promise.resolve(gone);
  }

  /** A call whose answer this thread waits for; the table says what it is when there is no GPU worker any more. */
  #now(name: CallName, args: readonly unknown[] = []): unknown {
    const { gone } = call(name);
    if (gone === undefined) return this.#link.ask(name, args);
    try {
      if (this.#link.open) return this.#link.ask(name, args);
    } catch (e) {
      if (this.#link.open) throw e;
    }
    return gone;
  }
}
