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

/** A tuple of Python's; an array is a list. */
export class Tuple {
  constructor(readonly items: readonly unknown[]) {}
}

export interface Encoded {
  spec: string;
  values: unknown[];
}

const LARGEST = 2 ** 53; // whole numbers below are exact
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
    let last = args.length - 1;
    // as for functions of JavaScript: what is not given has its default
    while (last >= 0 && args[last] === undefined) last--;
    for (let i = 0; i <= last; i++) {
      const value = args[i];
      const type = typeof value;
      if (type === "string" || type === "boolean" || (type === "number" && Math.abs(value as number) < LARGEST)) {
        spec += "v";
        values.push(value === 0 ? 0 : value); // -0 is a whole number, as 0 is
        continue;
      }
      plain = false;
      if (i === last && isPlain(value)) {
        let names = "";
        for (const [name, item] of Object.entries(value)) {
          if (item === undefined) continue;
          if (!name || /\s/.test(name)) throw new TypeError(`no keyword argument has the name "${name}"`);
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
        if (Math.abs(value) < LARGEST) {
          values.push(value === 0 ? 0 : value);
          return "v";
        }
        // not a Python int, though whole: its last digits are not there
        values.push(String(value));
        return "f";
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
      if (value.length >= LONG) {
        const text = isNumbers(value) ? JSON.stringify(value) : jsonOf(value);
        if (text !== undefined) {
          values.push(text);
          return "j";
        }
      }
      if ("re" in value && "im" in value) {
        values.push(value.re, value.im);
        return "z";
      }
      return this.#list(value, values);
    }
    if (ArrayBuffer.isView(value)) {
      // not its class: node's Buffer has the elements of a Uint8Array
      const name = (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? value.constructor.name;
      values.push(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), name);
      return "a";
    }
    if (value instanceof ArrayBuffer) {
      values.push(new Uint8Array(value), "Uint8Array");
      return "a";
    }
    if (value instanceof Map) return this.#entries(value.entries(), values);
    if (value instanceof Set) return this.#list([...value], values);
    if (value instanceof Tuple) return `(${this.#items(value.items, values)})`;
    if (value instanceof Slice) return `<${this.#items([value.start, value.stop, value.step], values)}>`;
    if (isPlain(value)) return this.#entries(Object.entries(value), values);
    if (value instanceof Promise) throw new TypeError("a promise was passed to Python: await it first");
    const { next } = value as Partial<Iterator<unknown>>;
    if (typeof next === "function") {
      const step = (): unknown => {
        const { done, value: item } = next.call(value);
        return done ? null : [item];
      };
      values.push(this.#callback(step));
      return "g";
    }
    const name = value.constructor?.name ?? "object";
    throw new TypeError(`an object of the class ${name} has no counterpart in Python`);
  }

  #list(items: readonly unknown[], values: unknown[]): string {
    return `[${this.#items(items, values)}]`;
  }

  #items(items: readonly unknown[], values: unknown[]): string {
    let spec = "";
    // not map(), which leaves holes out. An element of an array may be the float -0; an argument by itself is 0, since
    // -0 comes from an index or a dim that was negated
    for (const item of items) spec += Object.is(item, -0) ? (values.push("-0"), "f") : this.#value(item, values);
    return spec;
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

/** Whether JSON.stringify says all of it: finite numbers, in arrays in arrays. Large ones would be ints there. */
function isNumbers(value: readonly unknown[]): boolean {
  return value.every((item) =>
    Array.isArray(item)
      ? isNumbers(item)
      : typeof item === "number" && Number.isFinite(item) && Math.abs(item) < LARGEST && !Object.is(item, -0),
  );
}

/** The text of arrays of numbers, strings, booleans and null that Python's json reads, which has NaN and Infinity;
 * undefined where there is anything else. A call with a value for each would be too long. */
function jsonOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const items: string[] = [];
    for (const item of value) {
      const text = jsonOf(item);
      if (text === undefined) return undefined;
      items.push(text);
    }
    return `[${items.join()}]`;
  }
  if (typeof value === "number") {
    if (Object.is(value, -0)) return "-0.0";
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
  }
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string" || typeof value === "boolean" || value === null) return JSON.stringify(value);
  return value === undefined ? "null" : undefined;
}
