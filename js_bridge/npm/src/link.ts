// One Python with torchlite in it: calls into it, and what comes back.

import { Callbacks } from "./callbacks.js";
import { Encoder, HANDLE, handleOf, isPlain } from "./convert.js";
import { PythonError, Thrown, type Failure } from "./errors.js";
import { readFile } from "./files.js";
import { Memory } from "./memory.js";
import { Objects } from "./objects.js";
import { ownNames } from "./names.js";
import type { Kind, Pyodide, Python, Raw } from "./python.js";
import { addMembers, tensorClass, type TensorClass } from "./tensor.js";

let loads = 0;
const TURN = 16; // ms that calls which are awaited may keep the page's other work waiting

export class Link {
  readonly pyodide: Pyodide;
  readonly python: Python;
  readonly memory: Memory;
  readonly thrown = new Thrown();
  readonly encoder: Encoder;
  readonly objects: Objects;
  readonly callbacks: Callbacks;
  readonly Tensor: TensorClass;
  /** torch itself. */
  readonly torch: unknown;
  readonly #kinds: Kind[] = [];
  #paused = performance.now();

  constructor(pyodide: Pyodide, python: Python) {
    this.pyodide = pyodide;
    this.python = python;
    this.memory = new Memory(python);
    this.callbacks = new Callbacks(this);
    this.encoder = new Encoder((callback) => this.callbacks.keep(callback));
    this.objects = new Objects(this);
    this.Tensor = tensorClass(this);
    const [torch = 0, tensor = 0, module = 0] = python.start(this.callbacks, loads++).split(" ").map(Number);
    addMembers(this.Tensor, this, this.kind(tensor));
    this.objects.addModuleMethods(this.kind(module));
    this.torch = this.objects.namespace(torch, ownNames(this));
  }

  kind(type: number): Kind {
    return (this.#kinds[type] ??= JSON.parse(this.python.describe(type)) as Kind);
  }

  /** Calls a method, or the object itself where the name is empty. `self` is what 0 stands for; `base`: the method that
   * a JavaScript class has replaced. */
  call(handle: number, name: string, args: readonly unknown[], self?: unknown, base = false): unknown {
    const { spec, values } = this.encoder.arguments(args);
    const { python } = this;
    if (base) return this.decode(python.invoke_base(handle, name, spec, ...values), self);
    // the usual lengths without a spread, which is slower
    if (values.length === 0) return this.decode(python.invoke(handle, name, spec), self);
    if (values.length === 1) return this.decode(python.invoke(handle, name, spec, values[0]), self);
    return this.decode(python.invoke(handle, name, spec, ...values), self);
  }

  decode(raw: Raw, self?: unknown): unknown {
    if (typeof raw === "number") return raw ? new this.Tensor(raw) : self;
    if (typeof raw !== "string") return raw ?? null;
    const text = raw.slice(1);
    switch (raw[0]) {
      case "n":
        return Number(text);
      case "i":
        return BigInt(text);
      case "s":
        return text;
      case "z":
        return text ? text.split(",").map(Number) : [];
      case "o": {
        const [handle = 0, type = 0, body = 0] = text.split(" ").map(Number);
        return this.objects.wrap(handle, type, body);
      }
      case "p":
        return this.parameter(Number(text));
      case "a":
        return this.python.settle(Number(text)).then((settled) => this.decode(settled));
      case "j":
        return this.plain(JSON.parse(text));
      case "u":
        return undefined;
      case "x":
        throw this.thrown.take(Number(text));
      default:
        throw new PythonError(JSON.parse(text) as Failure);
    }
  }

  parameter(handle: number): unknown {
    return this.memory.parameter(handle, (number) => new this.Tensor(number));
  }

  /** What `plain` of torchlite_js wrote. */
  plain(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.plain(item));
    const { t, p, o, i, f, m, n, b } = value as Packed;
    if (t) return new this.Tensor(t);
    if (p) return this.parameter(p);
    if (o) return this.objects.wrap(...o);
    if (i) return BigInt(i);
    if (f) return Number(f);
    if (m) {
      const map = new Map(m.map(([key, item]) => [this.plain(key), this.plain(item)]));
      // const { logits } = model(x), as of named tuples
      for (const [key, item] of map) {
        if (typeof key === "string" && !(key in map)) Object.defineProperty(map, key, { value: item });
      }
      return map;
    }
    if (n) {
      const items = n[1].map((item) => this.plain(item));
      n[0].forEach((name, at) => Object.defineProperty(items, name, { value: items[at] }));
      return items;
    }
    return new Uint8Array(b ?? []);
  }

  /** A value as a text that Python's `_answer` reads; undefined for None, a handle for a tensor. */
  answer(value: unknown): Raw {
    if (value === undefined || value === null) return undefined;
    const handle = handleOf(value);
    if (handle !== undefined) return handle;
    const { spec, values } = this.encoder.one(value);
    if (!values.every(isJson)) return this.#packed(spec, values);
    return JSON.stringify([spec, ...values]);
  }

  #packed(spec: string, values: unknown[]): Raw {
    const handle = this.python.pack(spec, ...values);
    if (typeof handle === "string") this.decode(handle);
    return handle;
  }

  *iterate(handle: number): Generator<unknown> {
    const iterator = this.decode(this.python.iterate(handle)) as { [HANDLE]: number };
    for (;;) {
      const raw = this.python.step(iterator[HANDLE]);
      if (raw === "u") return;
      yield this.decode(raw);
    }
  }

  /** load_state_dict of a dict; or of a file, by its address or bytes. */
  loadState(module: object, args: unknown[]): unknown {
    const handle = handleOf(module)!;
    const [state, ...rest] = args;
    if (state instanceof Map || isPlain(state) || handleOf(state) !== undefined) {
      const given = isPlain(state) ? new Map(Object.entries(state)) : state;
      return this.call(handle, "load_state_dict", [given, ...rest]);
    }
    const load = (bytes: Uint8Array): unknown => {
      const { spec, values } = this.encoder.arguments(rest);
      return this.decode(this.python.load_state(handle, bytes, spec, ...values));
    };
    return readFile(state).then(load);
  }

  /** What print() shows of an object; with `full` its repr. */
  text(handle: number, full = false): string {
    const text = this.python.text(handle, full);
    return text.startsWith("e{") ? (this.decode(text) as string) : text;
  }

  /** A copy of the bytes that `read` found, which it holds until then. */
  bytes(where: string): ArrayLike<number> | ArrayLike<bigint> {
    if (!where.startsWith("d")) this.decode(where);
    const [address = "", size = "", type = "", handle = ""] = where.slice(1).split(" ");
    const begin = Number(address);
    const { buffer } = this.pyodide._module.HEAPU8.slice(begin, begin + Number(size));
    this.python.release(Number(handle));
    const made = (globalThis as unknown as Record<string, new (buffer: ArrayBufferLike) => ArrayLike<number>>)[type];
    return new made!(buffer);
  }

  /** Now and then lets the page draw, and its collector tell what it found; awaiting a promise alone does not. */
  async pause(): Promise<void> {
    if (performance.now() - this.#paused < TURN) return;
    await turn();
    this.#paused = performance.now();
  }
}

function isJson(value: unknown): boolean {
  return typeof value === "number" ? Number.isFinite(value) : typeof value === "string" || typeof value === "boolean";
}

/** Resolves when other tasks had their turn; a timer would wait longer in a page that is hidden. */
function turn(): Promise<void> {
  const { setImmediate } = globalThis as { setImmediate?: (call: () => void) => void };
  return new Promise((resolve) => {
    if (setImmediate) {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

interface Packed {
  t?: number;
  p?: number;
  o?: [number, number, number];
  i?: string;
  f?: string;
  m?: [unknown, unknown][];
  n?: [string[], unknown[]];
  b?: number[];
}
