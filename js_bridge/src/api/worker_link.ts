/** The wire to a GPU worker: messages to it, answers from it, and whether it is alive. */
import { DeviceLostError, ReadError, TEXTS, worded } from "../runtime/errors";
import { State } from "./bridge";
import {
  DEFAULTS,
  HEAD_BYTES,
  Kind,
  MOST_BYTES,
  MOST_POSTED,
  errorOf,
  Word,
  type Answer,
  type CallName,
  type Message,
  type Start,
  type SentError,
  type WorkerOptions,
} from "./worker_calls";

/** A Worker, or what stands for it in tests. */
export interface Port {
  postMessage(message: Message, transfer: Transferable[]): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<Answer>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

interface Waiting {
  /** Ticks. */
  waited: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class WorkerLink {
  readonly #options: Required<WorkerOptions>;
  #port: Port | null = null;
  #state: number = State.CLOSED;
  #reason: string = TEXTS.UNOPENED;
  #head = new Int32Array(new SharedArrayBuffer(HEAD_BYTES));
  #data = new Uint8Array(new SharedArrayBuffer(0));
  #last = 0;
  #posted = 0;
  #bytes = 0;
  readonly #waiting = new Map<number, Waiting>();
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(options: WorkerOptions = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  get open(): boolean {
    return this.#port !== null;
  }

  /** What state() and reason() are while there is no GPU worker. */
  get ended(): { readonly state: number; readonly reason: string } {
    return { state: this.#state, reason: this.#reason };
  }

  /** A word that the GPU worker keeps up to date. */
  word(at: number): number {
    return Atomics.load(this.#head, at);
  }

  begin(port: Port, start: Omit<Start, "memory" | "beat">): void {
    const memory = new SharedArrayBuffer(HEAD_BYTES + this.#options.shared);
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#data = new Uint8Array(memory, HEAD_BYTES);
    this.#last = this.#posted = this.#bytes = 0;
    port.onmessage = ({ data }) => {
      if (this.#port === port) this.#settle(data);
    };
    port.onerror = (event) => {
      if (this.#port === port) this.end(worded(TEXTS.WORKER_FAILED, event.message || TEXTS.REFUSED));
    };
    this.#port = port;
    port.postMessage({ start: { ...start, memory, beat: this.#options.tick / 2 } }, []);
  }

  /** Gives the GPU worker up. */
  end(reason: string, state: number = State.LOST): void {
    this.#port?.terminate();
    this.#port = null;
    this.#state = state;
    this.#reason = reason;
    clearInterval(this.#watch);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(this.#lost());
  }

  /** Hands something over. Its failure is thrown by this call or a later one. */
  post(message: Message, data: Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): void {
    const { byteLength } = data;
    this.#alive().postMessage(message, [data.buffer]);
    this.#posted++;
    this.#bytes += byteLength;
    if (this.#posted > MOST_POSTED || this.#bytes > MOST_BYTES || this.word(Word.FAILED)) this.ask("check", []);
  }

  /** A call whose answer this thread waits for. */
  ask(name: CallName, args: readonly unknown[]): unknown {
    return this.#request(name, args) === Kind.VALUE ? this.#json() : this.#take(new Uint8Array(this.#length()));
  }

  /** The same for an answer of as many bytes as there are in `out`. */
  fill(name: CallName, args: readonly unknown[], out: Uint8Array<ArrayBuffer>): void {
    this.#request(name, args);
    if (this.#length() !== out.length)
      throw new ReadError(`[read] the GPU worker gave ${this.#length()} bytes in place of ${out.length}`);
    this.#take(out);
  }

  /** A call whose answer comes by message. */
  promise(name: CallName, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const promise = ++this.#last;
      this.#alive().postMessage({ promise, name, args }, []);
      this.#waiting.set(promise, { waited: 0, resolve, reject });
      if (this.#waiting.size === 1) this.#guard();
    });
  }

  #lost(): Error {
    return new DeviceLostError(worded(TEXTS.LOST, this.#reason));
  }

  #alive(): Port {
    if (!this.#port) throw this.#lost();
    return this.#port;
  }

  #request(name: CallName, args: readonly unknown[]): number {
    const ask = ++this.#last;
    this.#alive().postMessage({ ask, name, args }, []);
    this.#wait(ask);
    this.#posted = this.#bytes = 0;
    const kind = this.#head[Word.KIND] ?? 0;
    if (kind === Kind.ERROR) throw errorOf(this.#json() as SentError);
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
    const { tick } = this.#options;
    const quiet = this.#silence();
    for (let waited = 0, still = 0; ;) {
      const answered = this.word(Word.ANSWER);
      if (answered === ask) return;
      if (Atomics.wait(this.#head, Word.ANSWER, answered, tick) !== "timed-out") continue;
      // in ticks and not by the clock, which goes on while the machine sleeps
      still = quiet() ? still + 1 : 0;
      waited++;
      if (this.#givesUp(still, waited)) throw this.#lost();
    }
  }

  /** Ends a GPU worker that was silent, or gave no answer, for too many ticks. */
  #givesUp(still: number, waited: number): boolean {
    const { tick, silent, patient } = this.#options;
    if (still >= silent) this.end(worded(TEXTS.SILENT, (still * tick) / 1000));
    else if (waited >= patient) this.end(worded(TEXTS.UNANSWERED, (waited * tick) / 1000));
    else return false;
    return true;
  }

  /** A function that says whether the GPU worker was silent since the last call. */
  #silence(): () => boolean {
    let before = this.word(Word.BEAT);
    return () => {
      const now = this.word(Word.BEAT);
      const same = now === before;
      before = now;
      return same;
    };
  }

  #settle({ promise, value, error }: Answer): void {
    const waiting = this.#waiting.get(promise);
    this.#waiting.delete(promise);
    if (this.#waiting.size === 0) clearInterval(this.#watch);
    if (error) waiting?.reject(errorOf(error));
    else waiting?.resolve(value);
  }

  /** Looks for signs of life while promises are open, and gives up on one that never settles though there are some. */
  #guard(): void {
    const { tick } = this.#options;
    const quiet = this.#silence();
    let still = 0;
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      still = quiet() ? still + 1 : 0;
      const waited = Math.max(...[...this.#waiting.values()].map((w) => ++w.waited));
      this.#givesUp(still, waited);
    }, tick);
  }
}
