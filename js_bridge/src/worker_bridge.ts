/**
 * PageBridge's methods where the device lives in a GPU worker: reads block this thread on shared memory. Needs a thread that
 * may wait (a worker) in a page that is cross-origin isolated.
 */
import { DeviceLostError, ReadError } from "./errors";
import { State } from "./index";
import { Blocking, type Heap, type PageBridge, type PyBuffer } from "./page_bridge";
import { call, CALLS, HEAD_BYTES, Kind, told, Word, type Answer, type CallName, type Message, type PageOptions, type Told } from "./worker_calls";

/** A Worker, or what stands for it in tests. */
export interface Port {
  postMessage(message: Message, transfer: Transferable[]): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<Answer>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

/** Messages, and bytes in them, that are posted before this thread looks whether the GPU worker follows. */
const MOST_POSTED = 64;
const MOST_BYTES = 64 << 20;

/** Why there can be no GPU worker for this thread; empty when there can. */
export function workerProblem(): string {
  const scope = globalThis as { crossOriginIsolated?: boolean; Worker?: unknown };
  try {
    if (typeof SharedArrayBuffer === "undefined" || !scope.crossOriginIsolated) return "the page is not cross-origin isolated (COOP and COEP headers)";
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1, 0);
  } catch {
    return "Python does not run in a worker";
  }
  return scope.Worker === undefined ? "workers cannot start workers here" : "";
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

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Calls = Pick<PageBridge, CallName>;
export interface WorkerBridge extends Calls {}

export class WorkerBridge {
  readonly #heap: Heap;
  readonly #start: () => Port;
  readonly #canvasProblem: string;
  readonly #options: PageOptions;
  #port: Port | null = null;
  #state: number = State.CLOSED;
  #reason = "WebGPU was not opened yet";
  #head = new Int32Array(new SharedArrayBuffer(HEAD_BYTES));
  #data = new Uint8Array(new SharedArrayBuffer(0));
  #last = 0;
  /** Devices of GPU workers that ended. */
  #before = 0;
  #blocked = 0;
  #posted = 0;
  #bytes = 0;
  readonly #plans: string[] = [];
  readonly #kept = new Map<CallName, readonly unknown[]>();
  readonly #waiting = new Map<number, Waiting>();
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(heap: Heap, options: PageOptions, canvasProblem: string, start: () => Port) {
    this.#heap = heap;
    this.#options = options;
    this.#canvasProblem = canvasProblem;
    this.#start = start;
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
    this.#begin();
    const opened = (await this.#promise("open", [])) as boolean;
    if (!opened) this.#end(this.reason(), State.CLOSED);
    else for (const [name, args] of this.#kept) this.#ask(name, args);
    return opened;
  }

  /** A new device; where the GPU worker has ended, in a new one. */
  async reset(): Promise<boolean> {
    return this.#port ? ((await this.#promise("reset", [])) as boolean) : this.open();
  }

  close(): void {
    this.#end("WebGPU was closed", State.CLOSED);
  }

  state(): number {
    return this.#port ? (this.#call("state", []) as number) : this.#state;
  }

  reason(): string {
    const reason = this.#call("reason", []) as string;
    return this.#port ? reason : this.#reason;
  }

  epoch(): number {
    return this.#before + Atomics.load(this.#head, Word.EPOCH);
  }

  // --- commands ---

  plan(key: string): number {
    const number = this.#ask("plan", [key]) as number;
    this.#plans[number] = key;
    return number;
  }

  /** Hands commands over. Their failure is thrown by this call or a later one. */
  run(pointer: number, count: number): void {
    const { buffer } = this.#heap.HEAPU8;
    const words = new Uint32Array(buffer, pointer, count).slice();
    try {
      this.#post({ run: words }, words);
    } finally {
      new Uint32Array(buffer, pointer, 1)[0] = 0;
    }
  }

  upload(handle: number, offset: number, source: PyBuffer): void {
    const view = source.getBuffer("u8");
    try {
      const upload = view.data.slice();
      this.#post({ handle, offset, upload }, upload);
    } finally {
      view.release();
    }
  }

  pressing(): boolean {
    return Atomics.load(this.#head, Word.PRESSING) !== 0;
  }

  barrier(): void {
    this.#ask("synchronize", []);
  }

  // --- reads ---

  readSyncInto(handle: number, offset: number, bytes: number, pointer: number): void {
    this.#request("read", [handle, offset, bytes]);
    if (this.#length() !== bytes) throw new ReadError(`[read] the GPU worker gave ${this.#length()} bytes in place of ${bytes}`);
    this.#take(new Uint8Array(this.#heap.HEAPU8.buffer, pointer, bytes));
    this.#blocked++;
  }

  rungProblem(bit: number): string {
    if (bit !== Blocking.WORKER) return this.#canvasProblem;
    return this.#port ? "" : this.#reason;
  }

  // --- figures ---

  /** Reads that blocked this thread are told as synchronous ones, whatever the GPU worker did for them. */
  figures(): string {
    const figures = JSON.parse(this.#call("figures", []) as string) as Record<string, number>;
    if (figures["reads"] === undefined) return "{}";
    return JSON.stringify({ ...figures, reads: figures["reads"] - this.#blocked, syncReads: this.#blocked });
  }

  resetStats(): void {
    this.#blocked = 0;
    this.#call("resetStats", []);
  }

  /** With what is on its way: here it can be waited for. */
  timesNow(): string {
    return this.#now("times") as string;
  }

  spansNow(): string {
    return this.#now("spans") as string;
  }

  // --- the GPU worker ---

  #begin(): void {
    const { worker = {}, ...options } = this.#options;
    const memory = new SharedArrayBuffer(HEAD_BYTES + (worker.shared ?? 1 << 20));
    this.#before += Atomics.load(this.#head, Word.EPOCH);
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#data = new Uint8Array(memory, HEAD_BYTES);
    this.#last = this.#blocked = this.#posted = this.#bytes = 0;
    const port = this.#start();
    port.onmessage = ({ data }) => {
      if (this.#port === port) this.#settle(data);
    };
    port.onerror = (event) => {
      const why = event.message || "its script was not loaded; a Content-Security-Policy must allow blob: in worker-src";
      if (this.#port === port) this.#end(`the GPU worker failed: ${why}`);
    };
    this.#port = port;
    port.postMessage({ start: { memory, options, plans: this.#plans, beat: (worker.tick ?? 1000) / 2 } }, []);
  }

  /** Gives the GPU worker up. */
  #end(reason: string, state: number = State.LOST): void {
    this.#port?.terminate();
    this.#port = null;
    this.#state = state;
    this.#reason = reason;
    clearInterval(this.#watch);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(this.#lost());
  }

  #lost(): Error {
    return new DeviceLostError(`[webgpu] the device was lost (${this.#reason}); its tensors are gone - reset() starts a new device`);
  }

  #alive(): Port {
    if (!this.#port) throw this.#lost();
    return this.#port;
  }

  #call(name: CallName, args: readonly unknown[]): unknown {
    const { promise, gone, kept } = call(name);
    if (kept) this.#kept.set(name, args);
    if (!promise) return this.#now(name, args);
    return this.#port || gone === undefined ? this.#promise(name, args) : Promise.resolve(gone);
  }

  #now(name: CallName, args: readonly unknown[] = []): unknown {
    const { gone } = call(name);
    if (gone === undefined) return this.#ask(name, args);
    try {
      if (this.#port) return this.#ask(name, args);
    } catch (e) {
      if (this.#port) throw e;
    }
    return gone;
  }

  #post(message: Message, data: Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): void {
    const { byteLength } = data;
    this.#alive().postMessage(message, [data.buffer]);
    this.#posted++;
    this.#bytes += byteLength;
    const behind = this.#posted > MOST_POSTED || this.#bytes > MOST_BYTES;
    if (behind || Atomics.load(this.#head, Word.FAILED)) this.#ask("check", []);
  }

  /** A call whose answer this thread waits for. */
  #ask(name: CallName, args: readonly unknown[]): unknown {
    return this.#request(name, args) === Kind.VALUE ? this.#json() : this.#take(new Uint8Array(this.#length()));
  }

  #request(name: CallName, args: readonly unknown[]): number {
    const ask = ++this.#last;
    this.#alive().postMessage({ ask, name, args }, []);
    this.#wait(ask);
    this.#posted = this.#bytes = 0;
    const kind = this.#head[Word.KIND] ?? 0;
    if (kind === Kind.ERROR) throw told(this.#json() as Told);
    return kind;
  }

  #length(): number {
    return (this.#head[Word.BYTES] ?? 0) >>> 0;
  }

  #json(): unknown {
    return JSON.parse(new TextDecoder().decode(this.#take(new Uint8Array(this.#length()))));
  }

  /** The answer, of which the first piece is there. */
  #take(out: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    for (let at = 0; at < out.length; at += this.#data.length) {
      if (at > 0) {
        const ask = ++this.#last;
        this.#alive().postMessage({ ask, from: at }, []);
        this.#wait(ask);
      }
      out.set(this.#data.subarray(0, Math.min(this.#data.length, out.length - at)), at);
    }
    return out;
  }

  /** Blocks until an answer is there; throws when none is to be expected any more. */
  #wait(ask: number): void {
    const { tick = 1000, silent = 60, patient = 1800 } = this.#options.worker ?? {};
    const quiet = this.#silence();
    for (let waited = 0, still = 0; ; ) {
      const answered = Atomics.load(this.#head, Word.ANSWER);
      if (answered === ask) return;
      if (Atomics.wait(this.#head, Word.ANSWER, answered, tick) !== "timed-out") continue;
      // in ticks and not by the clock, which goes on while the machine sleeps
      still = quiet() ? still + 1 : 0;
      waited++;
      if (still >= silent) this.#end(`the GPU worker gave no sign of life for ${(still * tick) / 1000} s`);
      else if (waited >= patient) this.#end(`the GPU worker gave no answer for ${(waited * tick) / 1000} s`);
      else continue;
      throw this.#lost();
    }
  }

  /** A function that says whether the GPU worker was silent since the last call. */
  #silence(): () => boolean {
    let before = Atomics.load(this.#head, Word.BEAT);
    return () => {
      const now = Atomics.load(this.#head, Word.BEAT);
      const same = now === before;
      before = now;
      return same;
    };
  }

  /** A call whose answer comes by message. */
  #promise(name: CallName, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const promise = ++this.#last;
      this.#alive().postMessage({ promise, name, args }, []);
      this.#waiting.set(promise, { resolve, reject });
      if (this.#waiting.size === 1) this.#guard();
    });
  }

  #settle({ promise, value, error }: Answer): void {
    const waiting = this.#waiting.get(promise);
    this.#waiting.delete(promise);
    if (this.#waiting.size === 0) clearInterval(this.#watch);
    if (error) waiting?.reject(told(error));
    else waiting?.resolve(value);
  }

  /** Looks for signs of life while promises are open. */
  #guard(): void {
    const { tick = 1000, silent = 60 } = this.#options.worker ?? {};
    const quiet = this.#silence();
    let still = 0;
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      still = quiet() ? still + 1 : 0;
      if (still >= silent) this.#end(`the GPU worker gave no sign of life for ${(still * tick) / 1000} s`);
    }, tick);
  }
}
