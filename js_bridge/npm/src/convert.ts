// Values on their way to Python: numbers, text and handles, and a text that says what they are (see torchlite_js).

/** The key under which wrappers of Python's objects have their handle. */
export const HANDLE = Symbol("torchlite handle");

/** The handle of a wrapper of one of Python's objects. */
export function handleOf(value: unknown): number | undefined {
  return (value as { [HANDLE]?: number } | null | undefined)?.[HANDLE];
}

/** Python's slice(start, stop, step), for indices. */
export class Slice {
  constructor(
    readonly start: number | null = null,
    readonly stop: number | null = null,
    readonly step: number | null = null,
  ) {}
}

export interface Encoded {
  spec: string;
  values: unknown[];
}

const LONG = 16; // elements from which an array of numbers goes as JSON

/** The last of the arguments gives the keyword arguments, where it is a plain object. */
export class Encoder {
  readonly #callback: (value: (...args: never[]) => unknown) => number;

  /** `callback` keeps a function that Python may call, and gives its number. */
  constructor(callback: (value: (...args: never[]) => unknown) => number) {
    this.#callback = callback;
  }

  /** An empty text where all arguments go as they are. */
  arguments(args: readonly unknown[]): Encoded {
    const values: unknown[] = [];
    let spec = "";
    let plain = true;
    const last = args.length - 1;
    for (let i = 0; i <= last; i++) {
      const value = args[i];
      const type = typeof value;
      if (type === "string" || type === "boolean" || (type === "number" && !Object.is(value, -0))) {
        spec += "v";
        values.push(value);
        continue;
      }
      plain = false;
      if (i === last && isPlain(value)) {
        let names = "";
        for (const [name, item] of Object.entries(value)) {
          if (item === undefined) continue;
          names += ` ${name}`;
          spec += this.#value(item, values);
        }
        spec += names;
      } else {
        spec += this.#value(value, values);
      }
    }
    return { spec: plain ? "" : spec, values };
  }

  /** One value, plain objects included, which are dicts. */
  one(value: unknown): Encoded {
    const values: unknown[] = [];
    return { spec: this.#value(value, values), values };
  }

  /** What stands in x[...]: a tuple where there are several. */
  indices(indices: readonly unknown[]): Encoded {
    const values: unknown[] = [];
    const specs = indices.map((index) => {
      if (index === "...") return (values.push(0), "e");
      return this.#value(index, values);
    });
    return { spec: specs.length === 1 ? specs[0]! : `(${specs.join("")})`, values };
  }

  #value(value: unknown, values: unknown[]): string {
    switch (typeof value) {
      case "number":
        // Python's int has no -0
        values.push(Object.is(value, -0) ? "-0" : value);
        return Object.is(value, -0) ? "f" : "v";
      case "string":
      case "boolean":
      case "bigint":
        values.push(value);
        return "v";
      case "symbol":
        throw new TypeError("a symbol has no counterpart in Python");
    }
    if (value === null || value === undefined) {
      values.push(0);
      return "n";
    }
    const handle = handleOf(value);
    if (handle !== undefined) {
      values.push(handle);
      return "h";
    }
    if (typeof value === "function") {
      values.push(this.#callback(value as (...args: never[]) => unknown));
      return "c";
    }
    return this.#object(value, values);
  }

  #object(value: object, values: unknown[]): string {
    if (Array.isArray(value)) {
      if (value.length >= LONG && isNumbers(value)) {
        values.push(JSON.stringify(value));
        return "j";
      }
      return `[${value.map((item) => this.#value(item, values)).join("")}]`;
    }
    if (ArrayBuffer.isView(value)) {
      values.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), value.constructor.name);
      return "a";
    }
    if (value instanceof ArrayBuffer) {
      values.push(new Uint8Array(value), "Uint8Array");
      return "a";
    }
    if (value instanceof Map) return this.#entries(value.entries(), values);
    if (value instanceof Set) return `[${[...value].map((item) => this.#value(item, values)).join("")}]`;
    if (value instanceof Slice) {
      return `<${[value.start, value.stop, value.step].map((item) => this.#value(item, values)).join("")}>`;
    }
    if (isPlain(value)) return this.#entries(Object.entries(value), values);
    if (value instanceof Promise) throw new TypeError("a promise was passed to Python: await it first");
    const name = value.constructor?.name ?? "object";
    throw new TypeError(`an object of the class ${name} has no counterpart in Python`);
  }

  #entries(entries: Iterable<[unknown, unknown]>, values: unknown[]): string {
    let spec = "";
    for (const [key, item] of entries) spec += this.#value(key, values) + this.#value(item, values);
    return `{${spec}}`;
  }
}

export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether JSON says all of it: finite numbers, in arrays in arrays. */
function isNumbers(value: readonly unknown[]): boolean {
  return value.every((item) =>
    Array.isArray(item) ? isNumbers(item) : typeof item === "number" && Number.isFinite(item) && !Object.is(item, -0),
  );
}
