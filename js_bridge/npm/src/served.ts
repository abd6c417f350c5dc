// The worker's side of load({ worker: true }): objects by the numbers that the page has given them.

import { attach } from "./attach.js";
import { handleOf, isPlain, Slice } from "./convert.js";
import { PythonError } from "./errors.js";
import type { Link } from "./link.js";
import type { Pyodide } from "./python.js";

/** A call, a `new`, a read or a write of what `path` leads to, from object `on` (0 is torch). `id`: the result's. */
export interface Asked {
  id: number;
  on: number;
  how: "call" | "get" | "set";
  path: string[];
  args: unknown[];
}

/** A value that can be copied, or the number of an object; or an error. */
export type Told = { value: unknown } | { object: true } | { error: ToldError };

export interface ToldError {
  type: string;
  message: string;
  traceback: string;
}

/** What stands for an object within an array, a Map, or arguments: its number, and what to read from it. */
export interface Reference {
  torchliteObject: number;
  path?: string[];
}

export function isReference(value: unknown): value is Reference {
  return isPlain(value) && typeof value["torchliteObject"] === "number";
}

/** Slices are sent as what they are made of. */
export interface SentSlice {
  torchliteSlice: (number | null)[];
}

/** An error that is told again to whoever uses the result of the failed call. */
class Failed {
  constructor(readonly error: unknown) {}
}

export class Served {
  readonly #pyodide: Pyodide;
  readonly #namespace: () => unknown;
  readonly #objects = new Map<number, unknown>();
  #link: Link | undefined;
  #next = -1; // numbers of objects that the page did not ask for one by one

  constructor(pyodide: Pyodide, namespace: () => unknown) {
    this.#pyodide = pyodide;
    this.#namespace = namespace;
  }

  async call(asked: Asked): Promise<Told> {
    let result: unknown;
    try {
      const pending = this.#run(asked);
      this.#objects.set(asked.id, pending);
      result = pending instanceof Promise ? await pending : pending;
      if (pending instanceof Promise) this.#objects.set(asked.id, result);
    } catch (error) {
      this.#objects.set(asked.id, new Failed(error));
      return { error: tell(error) };
    }
    if (isObject(result)) return { object: true };
    return { value: this.#encode(result) };
  }

  release(ids: number[]): void {
    for (const id of ids) {
      const object = this.#objects.get(id);
      this.#objects.delete(id);
      if (this.#link && object instanceof this.#link.Tensor) object.free();
    }
  }

  #run({ on, how, path, args }: Asked): unknown {
    this.#link ??= attach(this.#pyodide);
    const link = this.#link;
    if (how === "get" && !on && path[0] === "$namespace") {
      return link.decode(link.python.adopt(this.#namespace()));
    }
    let target = on ? this.#object(on) : link.torch;
    const last = path.at(-1);
    for (const name of path.slice(0, -1)) target = read(target, name);
    const given = args.map((value) => this.#decode(value));
    if (how === "get") return read(target, last!);
    if (how === "set") return void ((target as Record<string, unknown>)[last!] = given[0]);
    if (last === undefined) return (target as (...args: unknown[]) => unknown)(...given);
    return (target as Record<string, (...args: unknown[]) => unknown>)[last]!(...given);
  }

  #object(id: number): unknown {
    if (!this.#objects.has(id)) throw new Error("this object was freed: the torch.scope() that made it has ended");
    const object = this.#objects.get(id);
    if (object instanceof Failed) throw object.error;
    if (object instanceof Promise) throw new Error("this result is not there yet: await it before it is used");
    return object;
  }

  #decode(value: unknown): unknown {
    if (isReference(value)) {
      const { torchliteObject: id, path = [] } = value;
      return path.reduce(read, id ? this.#object(id) : this.#link!.torch);
    }
    if (Array.isArray(value)) return value.map((item) => this.#decode(item));
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, this.#decode(item)]));
    if (!isPlain(value)) return value;
    if (Array.isArray(value["torchliteSlice"])) return new Slice(...(value as unknown as SentSlice).torchliteSlice);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#decode(item)]));
  }

  #encode(value: unknown): unknown {
    if (isObject(value)) {
      const id = this.#next--;
      this.#objects.set(id, value);
      return { torchliteObject: id } satisfies Reference;
    }
    if (Array.isArray(value)) {
      // named results keep their names
      const names = Object.keys(Object.getOwnPropertyDescriptors(value)).filter((name) => !/^(\d+|length)$/.test(name));
      const items = value.map((item) => this.#encode(item));
      return names.length ? { torchliteNamed: [names, items] } : items;
    }
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [this.#encode(key), this.#encode(item)]));
    return value;
  }
}

function read(target: unknown, name: string): unknown {
  return (target as Record<string, unknown>)[name];
}

/** Whether it stays here: what belongs to Python, and functions. */
function isObject(value: unknown): boolean {
  return typeof value === "function" || handleOf(value) !== undefined;
}

function tell(error: unknown): ToldError {
  if (error instanceof PythonError) {
    return { type: error.type, message: error.message, traceback: error.traceback };
  }
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { type: name, message, traceback: "" };
}
