/** The GPU worker: it owns the device, and runs the calls of Python's worker. */
import { PageBridge } from "./page_bridge";
import {
  HEAD_BYTES,
  Kind,
  sentError,
  Served,
  Word,
  type Answer,
  type CallName,
  type Message,
  type Start,
  type Words,
} from "./worker_calls";

/** A worker's global scope, or a test's object in its place. */
export interface Scope {
  postMessage(message: Answer | Words, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<Message>) => void) | null;
}

export function serve(scope: Scope): void {
  let worker: GpuWorker | null = null;
  scope.onmessage = ({ data }) => {
    if ("start" in data) worker = new GpuWorker(data.start, scope);
    else worker?.take(data);
  };
}

class GpuWorker {
  readonly #scope: Scope;
  readonly #served: Served;
  readonly #shared: boolean;
  readonly #head: Int32Array;
  readonly #data: Uint8Array;
  /** Without shared memory: the words that were posted last. */
  #words = "";
  /** An answer of which Python has not taken all pieces yet. */
  #answer = new Uint8Array(0);

  constructor({ memory, options, plans, beat }: Start, scope: Scope) {
    this.#scope = scope;
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#data = new Uint8Array(memory, HEAD_BYTES);
    this.#served = new Served(new PageBridge({ HEAPU8: new Uint8Array(0) }, options));
    this.#shared = typeof SharedArrayBuffer !== "undefined" && memory instanceof SharedArrayBuffer;
    plans.forEach((key, number) => this.#served.assume(key, number));
    setInterval(() => {
      this.#beat();
      this.#publish(true);
    }, beat);
  }

  take(message: Exclude<Message, { start: Start }>): void {
    this.#beat();
    if ("run" in message) this.#served.run(message.run);
    else if ("upload" in message) this.#served.upload(message.handle, message.offset, message.upload);
    else if ("assume" in message) this.#served.assume(message.assume, message.number);
    else if ("promise" in message) void this.#resolve(message.promise, message.name, message.args);
    else if ("from" in message) this.#show(message.ask, Kind.BYTES, message.from);
    else void this.#reply(message.ask, message.name, message.args);
    this.#publish();
  }

  async #reply(ask: number, name: CallName, args: readonly unknown[]): Promise<void> {
    let kind: number = Kind.BYTES;
    try {
      const value = await this.#served.call(name, args);
      if (!(value instanceof Uint8Array)) kind = Kind.VALUE;
      this.#answer = value instanceof Uint8Array ? (value as Uint8Array<ArrayBuffer>) : json(value ?? null);
    } catch (e) {
      kind = Kind.ERROR;
      this.#answer = json(sentError(e));
    }
    this.#publish();
    this.#show(ask, kind, 0);
  }

  /** Puts a piece of the answer where Python sees it, and wakes Python. */
  #show(ask: number, kind: number, from: number): void {
    const answer = this.#answer;
    this.#data.set(answer.subarray(from, from + this.#data.length));
    this.#head[Word.KIND] = kind;
    this.#head[Word.BYTES] = answer.length;
    if (from + this.#data.length >= answer.length) this.#answer = new Uint8Array(0);
    Atomics.store(this.#head, Word.ANSWER, ask);
    Atomics.notify(this.#head, Word.ANSWER);
  }

  async #resolve(promise: number, name: CallName, args: readonly unknown[]): Promise<void> {
    try {
      const value = await this.#served.call(name, args);
      this.#publish();
      this.#scope.postMessage({ promise, value }, value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : []);
    } catch (e) {
      this.#publish();
      this.#scope.postMessage({ promise, error: sentError(e) }, []);
    }
  }

  /** Updates the words that Python reads without asking. alive: post them even if they are the same. */
  #publish(alive = false): void {
    const { bridge, failed } = this.#served;
    if (!this.#shared) {
      const words = JSON.stringify({
        failed,
        backlogged: bridge.backlogged(),
        epoch: bridge.epoch(),
        state: bridge.state(),
        reason: bridge.reason(),
      });
      if (alive || words !== this.#words) this.#scope.postMessage({ words }, []);
      this.#words = words;
      return;
    }
    Atomics.store(this.#head, Word.FAILED, Number(failed));
    Atomics.store(this.#head, Word.BACKLOGGED, Number(bridge.backlogged()));
    Atomics.store(this.#head, Word.EPOCH, bridge.epoch());
  }

  #beat(): void {
    Atomics.add(this.#head, Word.BEAT, 1);
  }
}

function json(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
