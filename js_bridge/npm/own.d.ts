// The types of torchlite for JavaScript. What PyTorch has is written by declarations.py.

export interface Progress {
  /** "pyodide": Python is fetched and started; "wheel": torchlite is fetched; "import": it is imported. */
  stage: "pyodide" | "wheel" | "import";
  loaded: number;
  total: number;
}

export interface Options {
  /** Python in a worker: calls are messages, results are awaited, and run() can be stopped. */
  worker?: boolean;
  /** Where tensors are made unless a call says otherwise; "auto": on the GPU where there is one. */
  device?: "cpu" | "webgpu" | "auto";
  /** The folder of Pyodide's files. */
  indexURL?: string | URL;
  /** torchlite's wheel. */
  wheelURL?: string | URL;
  onProgress?: (progress: Progress) => void;
  /** Ends the start; what was loaded until then is dropped. */
  signal?: AbortSignal;
  /** What Python prints, by lines; to the console otherwise. */
  stdout?: (line: string) => void;
  stderr?: (line: string) => void;
}

/** Starts Python with torchlite, and resolves to `torch`. Nothing is fetched before it is called. */
export function load(options: Options & { worker: true }): Promise<WorkerTorch>;
export function load(options?: Options & { worker?: false }): Promise<Torch>;

export interface RunOptions {
  /** Stops the script. */
  signal?: AbortSignal;
  /** What the script prints, as it comes. */
  stdout?: (text: string) => void;
  stderr?: (text: string) => void;
}

/** torch in a worker. Calls return at once; values are awaited: `await x.data()`, `await x.shape`. */
export interface WorkerTorch {
  /** Runs Python source, or the file at an address that ends in .py; the result has its names. */
  run(source: string | URL, options?: RunOptions): Promise<any>;
  /** Runs `work`, then lets go of what was made meanwhile, without its result. */
  scope<T>(work: () => T): T;
  /** Ends the worker. */
  terminate(): void;
  [name: string]: any;
}

/** A Python exception: its class as `name`, PyTorch's text as `message`. */
export class PythonError extends Error {
  /** The full name of Python's class: "RuntimeError", "torch.OutOfMemoryError". */
  readonly type: string;
  /** Python's traceback. */
  readonly traceback: string;
}

export type Scalar = number | bigint | boolean;
export type Numbers = readonly (Scalar | Numbers)[];
export type Typed = ArrayLike<number> | ArrayLike<bigint>;
/** A file: its address, or its bytes. */
export type File_ = string | URL | Response | Blob | Uint8Array | ArrayBuffer;

export interface DType {
  readonly is_floating_point: boolean;
  readonly is_complex: boolean;
  readonly itemsize: number;
  toString(): string;
}

export interface Device {
  readonly type: string;
  readonly index: number | null;
  toString(): string;
}

/** Python's slice(start, stop, step), for indices. */
export class Slice {
  private constructor();
}

/** A tuple of Python's. */
export interface Tuple {
  readonly items: readonly unknown[];
}

export type Index = number | boolean | null | "..." | Slice | Tensor | readonly number[];

export interface Tensor extends Iterable<any> {
  /** The elements in row-major order, as a typed array that shares no memory with the tensor. */
  data(): Promise<Typed>;
  /** `x[...]`: integers, null, "...", torch.slice(), booleans, arrays and tensors. */
  at(...indices: Index[]): Tensor;
  /** `x[...] = value`. */
  put(indices: Index | readonly Index[], value: Tensor | Scalar | Numbers | Typed): this;
  /** Lets go of the tensor now. */
  free(): void;
  /** Nested arrays, for JSON.stringify. */
  toJSON(): unknown;
  toString(): string;
  /* PyTorch's methods */
}

export interface Torch {
  /** The class of all tensors, for `instanceof`. */
  readonly Tensor: { new (never: never): Tensor; readonly prototype: Tensor };
  /** Runs `work` without recording gradients; for an async function until its promise settles. */
  no_grad<T>(work: () => T): T;
  no_grad(): any;
  enable_grad<T>(work: () => T): T;
  enable_grad(): any;
  inference_mode<T>(work: () => T): T;
  inference_mode(): any;
  /** Runs `work` within a context manager of Python's. */
  within<T>(manager: any, work: () => T): T;
  /** Runs `work`, then frees the tensors that were made meanwhile, without those in its result. */
  scope<T>(work: () => T): T;
  /** A tensor, or those in an array, Map or object, that outlive the scopes they were made in. */
  keep<T>(value: T): T;
  /** A tuple of Python's, where an array, which is a list, will not do. */
  tuple(...items: unknown[]): Tuple;
  readonly __version__: string;
  /** Bytes of all tensors, and how many of Python's objects JavaScript holds. */
  memory(): { bytes: number; objects: number };
  /** Python's slice(start, stop, step), for indices. */
  slice(start?: number | null, stop?: number | null, step?: number | null): Slice;
  /** What a file of torch.save or safetensors holds. */
  load(file: File_, options?: { map_location?: any; weights_only?: boolean }): Promise<any>;
  /** What torch.save writes of an object. */
  save(value: any): Uint8Array;
  /** Runs Python source, or the file at an address that ends in .py; the result has its names. */
  run(source: string | URL): Promise<any>;
  /* PyTorch's names */
}
