// Which of Python's objects JavaScript holds, and when they are let go.
//
// A tensor is freed when JavaScript's collector finds its wrapper, when the scope that it was made in ends, or by
// free(). The collector knows wrappers of some ten bytes, not the megabytes behind them. So what tensors take is told
// to it by empty ArrayBuffers of that size, which hang on wrappers: memory that is reserved, and never touched.

import type { Python } from "./python.js";

const EVERY = 256; // wrappers between two looks at the memory
const LARGE = 1 << 18; // bytes that are worth telling
const LARGEST = 1 << 28;
const OBJECT = 1 << 10; // bytes that an object takes beside its elements, about

/** What wraps a tensor: its handle is 0 once it is freed. */
export interface Held {
  handle: number;
  ballast?: ArrayBuffer | undefined;
}

export class Memory {
  readonly #python: Python;
  readonly #registry: FinalizationRegistry<number>;
  readonly #scopes: Held[][] = [];
  /** Parameters: one object each, as long as something holds it. */
  readonly #parameters = new Map<number, WeakRef<Held>>();
  #made = 0;
  #taken = 0;

  constructor(python: Python) {
    this.#python = python;
    this.#registry = new FinalizationRegistry((handle) => {
      if (this.parameter(handle)) return; // it has got a new wrapper meanwhile
      this.#parameters.delete(handle);
      this.#python.release(handle);
    });
  }

  /** The parameter of a handle, where there is one. */
  parameter(handle: number, make?: (handle: number) => Held): Held | undefined {
    let found = this.#parameters.get(handle)?.deref();
    if (!found?.handle) found = make?.(handle);
    if (found && make) this.#parameters.set(handle, new WeakRef(found));
    return found;
  }

  /** Bytes of all tensors, and how many of Python's objects JavaScript holds. */
  get usage(): { bytes: number; objects: number } {
    const [bytes = 0, objects = 0] = this.#python.memory().split(" ").map(Number);
    return { bytes, objects };
  }

  /** A new wrapper of a tensor. Handles are never used twice, so one may be released twice. */
  hold(tensor: Held): void {
    this.#registry.register(tensor, tensor.handle);
    this.#scopes.at(-1)?.push(tensor);
    if (++this.#made % EVERY) return;
    const { bytes, objects } = this.usage;
    const taken = bytes + objects * OBJECT;
    const more = taken - this.#taken;
    this.#taken = taken;
    if (more >= LARGE) tensor.ballast = new ArrayBuffer(Math.min(more, LARGEST));
  }

  free(tensor: Held): void {
    if (tensor.handle) this.#python.release(tensor.handle);
    tensor.handle = 0;
    tensor.ballast = undefined;
  }

  /** Runs `work`, then frees the tensors that were made meanwhile, without those in its result. */
  scope<T>(work: () => T): T {
    const made: Held[] = [];
    const parent = this.#scopes.at(-1);
    this.#scopes.push(made);
    const close = (result?: unknown): void => {
      const at = this.#scopes.indexOf(made);
      if (at >= 0) this.#scopes.splice(at, 1);
      const kept = new Set<unknown>();
      gather(result, kept);
      const freed: number[] = [];
      for (const tensor of made) {
        if (kept.has(tensor)) {
          parent?.push(tensor);
        } else if (tensor.handle) {
          freed.push(tensor.handle);
          tensor.handle = 0;
          tensor.ballast = undefined;
        }
      }
      for (let i = 0; i < freed.length; i += 1000) this.#python.release(...freed.slice(i, i + 1000));
    };
    return settled(work, close);
  }

  /** A tensor, or all in an array, map or object, that outlives the scopes it was made in. */
  keep(value: unknown): void {
    const kept = new Set<unknown>();
    gather(value, kept);
    for (const made of this.#scopes) {
      const rest = made.filter((tensor) => !kept.has(tensor));
      made.splice(0, made.length, ...rest);
    }
  }
}

/** Calls `work`, and `close` with its result; for an async function when its promise has settled. */
export function settled<T>(work: () => T, close: (result?: unknown) => void): T {
  let result: T;
  try {
    result = work();
  } catch (error) {
    close();
    throw error;
  }
  if (result instanceof Promise) {
    return result.then(
      (value: unknown) => {
        close(value);
        return value;
      },
      (error: unknown) => {
        close();
        throw error;
      },
    ) as T;
  }
  close(result);
  return result;
}

/** The tensors in arrays, maps, sets and plain objects. */
function gather(value: unknown, found: Set<unknown>): void {
  if (typeof value !== "object" || value === null || found.has(value)) return;
  found.add(value);
  if (Array.isArray(value) || value instanceof Set) for (const item of value) gather(item, found);
  else if (value instanceof Map) for (const item of value.values()) gather(item, found);
  else if (Object.getPrototypeOf(value) === Object.prototype)
    for (const item of Object.values(value)) gather(item, found);
}
