// The functions of torchlite_js, as JavaScript sees them.

/** What comes back of a call: a tensor's handle, None, a boolean, or a text (see torchlite_js). */
export type Raw = number | undefined | boolean | string;

export interface Python {
  start(host: Host, load: number): string;
  describe(type: number): string;
  invoke(target: number, name: string, spec: string, ...args: unknown[]): Raw;
  invoke_base(target: number, name: string, spec: string, ...args: unknown[]): Raw;
  tensor(spec: string, ...args: unknown[]): Raw;
  get(target: number, name: string): Raw;
  put(target: number, name: string, spec: string, ...args: unknown[]): Raw;
  has(target: number, name: string): Raw;
  index(target: number, spec: string, ...args: unknown[]): Raw;
  iterate(target: number): Raw;
  step(iterator: number): Raw;
  settle(awaitable: number): Promise<Raw>;
  names(target: number): string;
  is_instance(handle: number, kind: number): Raw;
  text(target: number, full: boolean): string;
  read(target: number, halves: boolean): string;
  fetch(target: number, halves: boolean): Promise<string>;
  load_file(bytes: Uint8Array, spec: string, ...args: unknown[]): Raw;
  load_state(target: number, bytes: Uint8Array, spec: string, ...args: unknown[]): Raw;
  save_file(spec: string, ...args: unknown[]): string;
  pack(spec: string, ...args: unknown[]): number | string;
  run(source: string, name: string): Raw;
  adopt(thing: unknown): Raw;
  subclass(base: number, name: string, methods: string): number;
  instance(subclass: number, body: number, spec: string, ...args: unknown[]): Raw;
  release(...handles: number[]): void;
  memory(): string;
}

export const FUNCTIONS: (keyof Python)[] = [
  ...([
    "start",
    "describe",
    "invoke",
    "get",
    "put",
    "has",
    "index",
    "iterate",
    "step",
    "names",
    "is_instance",
  ] as const),
  ...(["text", "read", "fetch", "load_file", "load_state", "save_file", "pack", "run", "subclass"] as const),
  ...(["instance", "release", "memory", "invoke_base", "tensor", "adopt", "settle"] as const),
];

/** What Python calls. Arguments come as JSON; an answer is a handle, undefined, or a text. */
export interface Host {
  call(callback: number, args: string): Raw;
  method(handle: number, type: number, body: number, name: string, args: string, layers: number): Raw;
  drop(number: number): void;
  copy(number: number): number;
}

/** A type of Python's, as `describe` tells. */
export interface Kind {
  name: string;
  kind: "class" | "namespace" | "function" | "module" | "list" | "dict" | "object";
  callable: boolean;
  sized: boolean;
  methods: string[];
  properties: string[];
}

/** The part of Pyodide that this package uses. */
export interface Pyodide {
  version: string;
  FS: { writeFile(path: string, data: string | Uint8Array): void; mkdirTree(path: string): void };
  _module: { HEAPU8: Uint8Array };
  unpackArchive(bytes: Uint8Array, format: string): void;
  pyimport(name: string): unknown;
  setStdout(options: { batched(text: string): void }): void;
  setStderr(options: { batched(text: string): void }): void;
}
