/**
 * What Python's worker and the GPU worker say to each other. Commands and uploads are posted, and nobody waits for
 * them; all else is a call by name, from one table. Python waits for its answer either on shared memory, in the middle
 * of synchronous code, or by a promise that a message resolves.
 *
 * Python speaks this too (torchlite/webgpu/transport/link.py), by tables that `npm run tables` writes from these.
 *
 * An answer on shared memory is a piece as long as the memory; the next one is asked for, so there is no limit to its
 * length.
 */
import { State } from "./bridge";
import type { PageBridge } from "./page_bridge";
import type { RuntimeOptions } from "../runtime/runtime";

interface Call {
  readonly promise?: true;
  /**
   * The answer when the GPU worker has ended. A call that has one never fails, also not with the failure of commands
   * that were posted before.
   */
  readonly gone?: unknown;
  /** A setting, which the next GPU worker gets as well. */
  readonly kept?: true;
}

const NO_SPANS = '{"kernels":[],"rows":[],"lost":0,"pending":0}';

/** PageBridge's methods by name. `complete` checks that none is forgotten. */
export const CALLS = {
  open: { promise: true },
  reset: { promise: true, gone: false },
  synchronize: { promise: true },
  read: { promise: true },
  times: { promise: true, gone: "[]" },
  spans: { promise: true, gone: NO_SPANS },
  check: {},
  plan: {},
  claim: {},
  emptyCache: { gone: 0 },
  info: {},
  limit: {},
  has: { gone: false },
  state: { gone: State.LOST },
  reason: { gone: "" },
  figures: { gone: "{}" },
  resetPeaks: { gone: null },
  setBudget: { gone: null, kept: true },
  setTiming: { gone: false, kept: true },
  watch: { gone: 0, kept: true },
  notes: { gone: "[]" },
} as const satisfies Partial<Record<keyof PageBridge, Call>>;

export type CallName = keyof typeof CALLS;
/** Methods that WorkerBridge implements itself. */
type Own =
  | "run"
  | "upload"
  | "barrier"
  | "readSyncInto"
  | "backlogged"
  | "epoch"
  | "close"
  | "readProblem"
  | "timesNow"
  | "spansNow";
/** Methods that Python does not call. */
type Inner =
  "attach" | "alloc" | "free" | "execute" | "flush" | "assume" | "readSync" | "stats" | "put" | "workerProblem";
/** A new method of PageBridge fails here until it is in the table or named above. */
export const complete: Exclude<keyof PageBridge, CallName | Own | Inner> extends never ? true : never = true;

export const call = (name: CallName): Call => CALLS[name];

/** Words of the shared memory's head. */
export const Word = { ANSWER: 0, KIND: 1, BYTES: 2, FAILED: 3, BACKLOGGED: 4, EPOCH: 5, BEAT: 6 } as const;
export const HEAD_BYTES = 64;
/** What an answer is: JSON, the bytes that were asked for, or an error as JSON. */
export const Kind = { VALUE: 0, BYTES: 1, ERROR: 2 } as const;

/** Messages, and bytes in them, that are posted before the caller looks whether the GPU worker follows. */
export const MOST_POSTED = 64;
export const MOST_BYTES = 64 << 20;

export const DEFAULTS = { shared: 1 << 20, tick: 1000, silent: 60, patient: 1800 } as const;

export interface WorkerOptions {
  /** Bytes of shared memory for answers. */
  readonly shared?: number;
  /** How often a waiting caller looks whether the GPU worker is alive, in ms. */
  readonly tick?: number;
  /**
   * Ticks without a beat after which the worker counts as dead. Its event loop may stop for a while when it compiles.
   */
  readonly silent?: number;
  /** Ticks after which a caller stops waiting even if the worker's beat goes on. */
  readonly patient?: number;
}

export interface PageOptions extends RuntimeOptions {
  readonly worker?: WorkerOptions;
}

export interface Start {
  /** Without shared memory all calls are promises, and the status words of its head arrive as messages (Words). */
  readonly memory: SharedArrayBuffer | ArrayBuffer;
  readonly options: RuntimeOptions;
  /** Plans that Python knows the numbers of, from an earlier GPU worker. */
  readonly plans: readonly string[];
  /** Milliseconds between signs of life. */
  readonly beat: number;
}

export type Message =
  | { readonly start: Start }
  | { readonly run: Uint32Array<ArrayBuffer> }
  /** A plan by the number that the caller gave it, the next one. */
  | { readonly assume: string; readonly number: number }
  | { readonly handle: number; readonly offset: number; readonly upload: Uint8Array<ArrayBuffer> }
  | { readonly ask: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly promise: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly ask: number; readonly from: number };

export interface SentError {
  readonly name: string;
  readonly message: string;
}

export interface Answer {
  readonly promise: number;
  readonly value?: unknown;
  readonly error?: SentError;
}

/** What a caller without shared memory gets unasked: JSON of failed, backlogged, epoch, state, reason. */
export interface Words {
  readonly words: string;
}

export function sentError(e: unknown): SentError {
  return e instanceof Error ? { name: e.name, message: e.message } : { name: "Error", message: String(e) };
}

export function errorOf({ name, message }: SentError): Error {
  return Object.assign(new Error(message), { name });
}

/** A bridge with its caller in another thread. A posted call's first failure takes the place of the next answer. */
export class Served {
  readonly bridge: PageBridge;
  #failure: { readonly error: unknown } | null = null;

  constructor(bridge: PageBridge) {
    this.bridge = bridge;
  }

  get failed(): boolean {
    return this.#failure !== null;
  }

  run(words: Uint32Array): void {
    // there is no heap here: a stream that points into one is refused
    this.#post(() => this.bridge.execute(words, "all", new ArrayBuffer(0)));
  }

  assume(key: string, number: number): void {
    this.#post(() => this.bridge.assume(key, number));
  }

  upload(handle: number, offset: number, data: Uint8Array): void {
    this.#post(() => this.bridge.put(handle, offset, data));
  }

  /** Begins at once, so that calls take effect in the order in which they come. */
  async call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    const failure = this.#failure;
    if (name === "reset")
      this.#failure = null; // it was about the old device
    else if (failure && !("gone" in call(name))) {
      this.#failure = null;
      throw failure.error;
    }
    const method = this.bridge[name] as (...args: unknown[]) => unknown;
    return method.apply(this.bridge, [...args]);
  }

  #post(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}
