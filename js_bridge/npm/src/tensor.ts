// The tensor class. Its methods and attributes are PyTorch's, put there by name when Python has told them.

import { HANDLE } from "./convert.js";
import type { Held } from "./memory.js";
import type { Kind } from "./python.js";
import type { Link } from "./link.js";

type Typed = ArrayLike<number> | ArrayLike<bigint>;

export type TensorClass = ReturnType<typeof tensorClass>;

/** The class of a link's tensors. */
export function tensorClass(link: Link) {
  class Tensor implements Held {
    handle: number;
    ballast: ArrayBuffer | undefined;

    constructor(handle: number) {
      if (typeof handle !== "number")
        throw new TypeError("tensors are made by torch.tensor(), torch.zeros() and others");
      this.handle = handle;
      link.memory.hold(this);
    }

    get [HANDLE](): number {
      return this.handle;
    }

    /** The elements in row-major order, as a typed array that shares no memory with the tensor. */
    async data(): Promise<Typed> {
      await link.pause();
      const where = link.python.read(this.handle, "Float16Array" in globalThis);
      return link.bytes(where === "w" ? await link.python.fetch(this.handle, "Float16Array" in globalThis) : where);
    }

    /** `x[...]`: integers, null, "...", torch.slice(), booleans, arrays and tensors. */
    at(...indices: unknown[]): unknown {
      const { spec, values } = link.encoder.indices(indices);
      return link.decode(link.python.index(this.handle, spec, ...values), this);
    }

    /** `x[...] = value`. */
    put(indices: unknown, value: unknown): this {
      const where = link.encoder.indices(Array.isArray(indices) ? indices : [indices]);
      const { spec, values } = link.encoder.one(value);
      link.decode(link.python.index(this.handle, where.spec + spec, ...where.values, ...values), this);
      return this;
    }

    /** Lets go of the tensor now. */
    free(): void {
      link.memory.free(this);
    }

    *[Symbol.iterator](): Iterator<unknown> {
      yield* link.iterate(this.handle);
    }

    /** Nested arrays, for JSON.stringify. */
    toJSON(): unknown {
      return link.call(this.handle, "tolist", []);
    }

    toString(): string {
      return link.text(this.handle);
    }

    /** For `${x}` and String(x). With `x * 2` and `x > 0` JavaScript would compute with the text: NaN, and false. */
    [Symbol.toPrimitive](hint: string): string {
      if (hint === "string") return this.toString();
      throw new TypeError(
        "JavaScript has no operators for tensors: write x.add(y), x.mul(2), x.gt(0), or x.item() for a number",
      );
    }

    /** `using x = ...` frees it at the end of the block, where the language has that. */
    [(Symbol as { dispose?: symbol }).dispose ?? Symbol("dispose")](): void {
      this.free();
    }

    [Symbol.for("nodejs.util.inspect.custom")](): string {
      return this.handle ? this.toString() : "Tensor (freed)";
    }
  }
  // Behind the prototype: only names that a tensor does not have come here, so that no call is slower for it.
  const rest = new Proxy(
    {},
    {
      get(target, name, tensor): unknown {
        if (isIndex(name)) throw new TypeError(`JavaScript has no indices for tensors: write x.at(${name})`);
        return Reflect.get(target, name, tensor);
      },
      set(target, name, value, tensor): boolean {
        if (isIndex(name)) throw new TypeError(`JavaScript has no indices for tensors: write x.put(${name}, value)`);
        return Reflect.set(target, name, value, tensor);
      },
    },
  );
  Object.setPrototypeOf(Tensor.prototype, rest);
  return Tensor;
}

function isIndex(name: string | symbol): name is string {
  return typeof name === "string" && /^-?\d+$/.test(name);
}

/** Gives the class what Python's has, except for names that are its own here. */
export function addMembers(Tensor: TensorClass, link: Link, kind: Kind): void {
  const own = new Set(Object.getOwnPropertyNames(Tensor.prototype));
  const define = (name: string, property: PropertyDescriptor): void => {
    if (!own.has(name)) Object.defineProperty(Tensor.prototype, name, { configurable: true, ...property });
  };
  for (const name of kind.methods) {
    const value = function (this: Held, ...args: unknown[]): unknown {
      return link.call(this.handle, name, args, this);
    };
    define(name, { value, writable: true });
  }
  for (const name of kind.properties) {
    define(name, {
      get(this: Held) {
        return link.decode(link.python.get(this.handle, name));
      },
      set(this: Held, value: unknown) {
        const { spec, values } = link.encoder.one(value);
        link.decode(link.python.put(this.handle, name, spec, ...values));
      },
    });
  }
}
