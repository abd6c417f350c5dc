// The page's side of load({ worker: true }): every call is a message, and its result stands for what the worker has.
// `await` gives values (numbers, text, arrays, typed arrays); of tensors and other objects it waits for the call.

import { Engine } from "../../../demos/shared/engine.js";
import { isPlain, Slice } from "./convert.js";
import { PythonError } from "./errors.js";
import { absolute, readFile } from "./files.js";
import { settled } from "./memory.js";
import type { Options } from "../own.js";
import { isReference, type Asked, type SentSlice, type Told, type ToldError } from "./served.js";

const REMOTE = Symbol("torchlite remote object");
const CONTEXTS = new Set(["no_grad", "enable_grad", "inference_mode"]);

const STAGES = { download: "pyodide", install: "wheel", import: "import" } as const;

interface RunOptions {
  signal?: AbortSignal;
  stdout?: (text: string) => void;
  stderr?: (text: string) => void;
}

/** An object in the worker, or a name of it: the reply is there once it was asked for. */
interface Place {
  on: number;
  path: string[];
  reply: Promise<unknown> | null;
}

export async function startWorker(pyodide: string, wheel: string, options: Options): Promise<object> {
  if (typeof location === "undefined") throw new Error("load({ worker: true }) works in pages only");
  const engine = new Engine({ runtime: { pyodide, wheel } });
  const { onProgress, signal } = options;
  listen(engine, "progress", (detail) => {
    const { stage, done = 0, total = 1 } = detail as { stage: keyof typeof STAGES; done?: number; total?: number };
    onProgress?.({ stage: STAGES[stage], loaded: done, total });
  });
  const page = new Page(engine, options);
  const stop = (): void => engine.end();
  signal?.addEventListener("abort", stop, { once: true });
  await Promise.race([engine.start(), aborted(signal)]);
  signal?.removeEventListener("abort", stop);
  return page.torch;
}

function listen(engine: Engine, type: string, heard: (detail: unknown) => void): void {
  engine.addEventListener(type, (event) => heard((event as CustomEvent).detail));
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

class Page {
  readonly torch: object;
  readonly #engine: Engine;
  readonly #registry = new FinalizationRegistry<number>((id) => this.#release([id]));
  readonly #scopes: number[][] = [];
  readonly #options: Options;
  #running: RunOptions | null = null;
  #next = 1;

  constructor(engine: Engine, options: Options) {
    this.#engine = engine;
    this.#options = options;
    listen(engine, "output", (detail) => this.#print(detail as { stream: string; text: string }));
    const own = {
      run: (source: string | URL, given?: RunOptions) => this.#run(source, given),
      terminate: () => engine.end(),
      scope: <T>(work: () => T) => this.#scope(work),
      slice: (start?: number | null, stop?: number | null, step?: number | null) => new Slice(start, stop, step),
      within: (manager: unknown, work: () => unknown) => this.#within(manager, work),
    };
    this.torch = this.#proxy({ on: 0, path: [], reply: null }, own);
  }

  /** `settled`: what its own `await` has given; it is no promise any more. */
  #proxy(place: Place, own: object = {}, settled = false): object {
    const target = function (): void {};
    const proxy: object = new Proxy(target, {
      get: (_target, name): unknown => {
        if (name === REMOTE) return place;
        if (typeof name === "symbol") return undefined;
        if (Object.hasOwn(own, name)) return (own as Record<string, unknown>)[name];
        if (name === "then") return settled || place.on + place.path.length === 0 ? undefined : this.#then(place);
        return this.#proxy({ on: place.on, path: [...place.path, name], reply: null });
      },
      set: (_target, name, value: unknown): boolean => {
        this.#send(place.on, "set", [...place.path, String(name)], [value]);
        return true;
      },
      apply: (_target, _this, args: unknown[]) => this.#call(place, args),
      construct: (_target, args: unknown[], newTarget) => {
        if (newTarget !== proxy) {
          throw new TypeError(
            "a class of the page cannot extend one of the worker's: write it in Python for torch.run(), " +
              "or load() in a worker of your own",
          );
        }
        return this.#call(place, args);
      },
    });
    return proxy;
  }

  #then(place: Place): PromiseLike<unknown>["then"] {
    place.reply ??= this.#send(place.on, "get", place.path, []).reply;
    const reply = place.reply!;
    return (done, failed) => reply.then(done, failed);
  }

  #call(place: Place, args: unknown[]): object {
    const name = place.path.at(-1);
    const work = args.at(-1);
    if (place.on === 0 && name !== undefined && CONTEXTS.has(name) && typeof work === "function" && !remote(work)) {
      const manager = this.#call(place, args.slice(0, -1));
      return this.#within(manager, work as () => unknown) as object;
    }
    // addresses are relative to the page, not to the worker's script
    const isFile = name === "load_state_dict" || (name === "load" && place.on === 0 && place.path.length === 1);
    const given = isFile && typeof args[0] === "string" ? [absolute(args[0]).href, ...args.slice(1)] : args;
    return this.#proxy(this.#send(place.on, "call", place.path, given));
  }

  #within(manager: unknown, work: () => unknown): unknown {
    const { __enter__, __exit__ } = manager as Record<string, (...args: unknown[]) => unknown>;
    __enter__!();
    return settled(work, () => void __exit__!(null, null, null));
  }

  /** Sends a call; the result's number is known before the worker has it. */
  #send(on: number, how: Asked["how"], path: string[], args: unknown[]): Place {
    const id = this.#next++;
    const place: Place = { on: id, path: [], reply: null };
    this.#registry.register(place, id);
    this.#scopes.at(-1)?.push(id);
    const asked: Asked = { id, on, how, path, args: args.map(encode) };
    const answered = (told: Told): unknown => {
      if ("error" in told) throw failure(told.error);
      return "object" in told ? this.#proxy(place, {}, true) : this.#decode(told.value);
    };
    place.reply = this.#engine.request("call", asked).then((told) => answered(told as Told));
    place.reply.catch(() => {}); // told to whoever awaits it, or uses the result
    return place;
  }

  #decode(value: unknown): unknown {
    if (isReference(value)) {
      const place: Place = { on: value.torchliteObject, path: [], reply: null };
      this.#registry.register(place, place.on);
      this.#scopes.at(-1)?.push(place.on);
      return this.#proxy(place, {}, true);
    }
    if (Array.isArray(value)) return value.map((item) => this.#decode(item));
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [this.#decode(key), this.#decode(item)]));
    if (!isPlain(value) || !Array.isArray(value["torchliteNamed"])) return value;
    const [names, items] = value["torchliteNamed"] as [string[], unknown[]];
    const array = items.map((item) => this.#decode(item));
    names.forEach((name, at) => Object.defineProperty(array, name, { value: array[at] }));
    return array;
  }

  #scope<T>(work: () => T): T {
    const made: number[] = [];
    const parent = this.#scopes.at(-1);
    this.#scopes.push(made);
    return settled(work, (result) => {
      this.#scopes.splice(this.#scopes.indexOf(made), 1);
      const kept = new Set([result, ...(Array.isArray(result) ? (result as unknown[]) : [])].map((v) => remote(v)?.on));
      parent?.push(...made.filter((id) => kept.has(id)));
      this.#release(made.filter((id) => !kept.has(id)));
    });
  }

  #release(ids: number[]): void {
    // a worker that was replaced has none of them
    this.#engine.request("release", ids).catch(() => {});
  }

  #print({ stream, text }: { stream: string; text: string }): void {
    const name = stream === "err" ? "stderr" : "stdout";
    const print = this.#running?.[name] ?? this.#options[name];
    if (print) print(text);
    else console[stream === "err" ? "error" : "log"](text.replace(/\n$/, ""));
  }

  /** Runs a script; its names are those of the result. */
  async #run(source: string | URL, { signal, ...streams }: RunOptions = {}): Promise<unknown> {
    signal?.throwIfAborted();
    const isFile = source instanceof URL || /^[^\n]+\.py$/.test(source);
    const text = isFile ? new TextDecoder().decode(await readFile(absolute(source))) : source;
    const stop = (): void => this.#engine.stop();
    signal?.addEventListener("abort", stop, { once: true });
    this.#running = streams;
    try {
      const name = isFile ? absolute(source).pathname.split("/").at(-1) : "script.py";
      const { status, traceback } = (await this.#engine.run(text, { name })) as { status: string; traceback: string };
      if (status === "stopped")
        throw (signal?.reason as Error | undefined) ?? new DOMException("stopped", "AbortError");
      if (status === "failed") throw failure(fromTraceback(traceback));
    } finally {
      this.#running = null;
      signal?.removeEventListener("abort", stop);
    }
    return this.#send(0, "get", ["$namespace"], []).reply;
  }
}

function remote(value: unknown): Place | undefined {
  return (value as { [REMOTE]?: Place } | null | undefined)?.[REMOTE];
}

function encode(value: unknown): unknown {
  const place = remote(value);
  if (place) return { torchliteObject: place.on, path: place.path };
  if (typeof value === "function") {
    throw new TypeError("a function of the page cannot be called by the worker: write it in Python, for torch.run()");
  }
  if (value instanceof URL) return value.href;
  if (value instanceof Slice) return { torchliteSlice: [value.start, value.stop, value.step] } satisfies SentSlice;
  if (Array.isArray(value)) return value.map(encode);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, encode(item)]));
  if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item)]));
  return value;
}

function failure({ type, message, traceback }: ToldError): Error {
  if (traceback) return new PythonError({ type, message, traceback, number: 0 });
  return Object.assign(new Error(message), { name: type });
}

/** The exception that a traceback ends with. */
function fromTraceback(traceback: string): ToldError {
  const lines = traceback.trimEnd().split("\n");
  const at = lines.findLastIndex((line) => /^[\w.]+(: |$)/.test(line));
  const [type = "Error"] = (lines[at] ?? "").split(":", 1);
  return {
    type,
    message: lines
      .slice(at)
      .join("\n")
      .slice(type.length + 2),
    traceback,
  };
}
