// Wrappers of what is no tensor: modules, classes, functions, optimizers, dtypes, and torch itself.
//
// An object of Python is one object in JavaScript, as long as something here holds it. A name that its type has as a
// method is a function, without a question to Python; any other name is asked for each time.

import { HANDLE, handleOf } from "./convert.js";
import type { Link } from "./link.js";
import type { Kind } from "./python.js";

type Prototype = Record<PropertyKey, unknown>;

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
// names by which JavaScript asks what something is
const NEVER = new Set(["then", "toJSON", "$$typeof", "nodeType", "asymmetricMatch"]);

export class Objects {
  readonly #link: Link;
  readonly #wrappers = new Map<number, WeakRef<object>>();
  readonly #registry: FinalizationRegistry<number>;
  readonly #subclasses = new WeakMap<object, number>();
  readonly #prototype: Prototype;
  /** What `class extends nn.Module` inherits: the methods of Python's class. */
  readonly #modulePrototype: Prototype;

  constructor(link: Link) {
    this.#link = link;
    this.#prototype = {
      toString(this: object) {
        return link.text(handleOf(this)!);
      },
      [INSPECT](this: object) {
        return link.text(handleOf(this)!, true);
      },
      [Symbol.toPrimitive](this: object) {
        return link.text(handleOf(this)!);
      },
      [Symbol.iterator](this: object) {
        return link.iterate(handleOf(this)!);
      },
    };
    this.#modulePrototype = Object.create(this.#prototype) as Prototype;
    this.#registry = new FinalizationRegistry((handle) => {
      // the object may have got a new wrapper meanwhile
      if (this.#wrappers.get(handle)?.deref()) return;
      this.#wrappers.delete(handle);
      link.python.release(handle);
    });
  }

  /** Methods of nn.Module, for all modules, and for `super.train()` in JavaScript classes. */
  addModuleMethods({ methods }: Kind): void {
    const link = this.#link;
    for (const name of methods) {
      const method = function (this: Prototype, ...args: unknown[]): unknown {
        const replaced = this[name] !== method;
        if (name === "load_state_dict" && !replaced) return link.loadState(this, args);
        return link.call(handleOf(this)!, name, args, this, replaced);
      };
      this.#modulePrototype[name] = method;
    }
  }

  /** `body`: the number of JavaScript's part of the object, or 0. */
  wrap(handle: number, type: number, body = 0): object {
    const known = this.#wrappers.get(handle)?.deref();
    if (known) return known;
    const wrapper = this.#make(handle, this.#link.kind(type), body);
    this.#wrappers.set(handle, new WeakRef(wrapper));
    this.#registry.register(wrapper, handle);
    return wrapper;
  }

  #make(handle: number, kind: Kind, body: number): object {
    switch (kind.kind) {
      case "function":
        return this.#function(handle);
      case "class":
        return this.#class(handle);
      case "namespace":
        return this.namespace(handle, {});
    }
    if (body) return this.#object(handle, kind, this.#link.callbacks.get(body) as object);
    const prototype = kind.kind === "module" ? this.#modulePrototype : this.#prototype;
    return this.#object(handle, kind, makeBody(prototype, kind.callable));
  }

  #function(handle: number): object {
    const link = this.#link;
    const called = (...args: unknown[]): unknown => link.call(handle, "", args);
    Object.defineProperty(called, HANDLE, { value: handle });
    Object.defineProperty(called, INSPECT, { value: () => link.text(handle, true) });
    return called;
  }

  #object(handle: number, kind: Kind, body: object): object {
    const link = this.#link;
    const names = new Set(kind.methods);
    const methods = new Map<string, unknown>();
    const isModule = kind.kind === "module";
    const set = (target: object, name: string | symbol, value: unknown): boolean => {
      if (typeof name === "symbol") return Reflect.set(target, name, value);
      const held = handleOf(value) !== undefined;
      // what is nothing to Python stays here
      const local = isModule && !held && value !== null && !link.python.has(handle, name);
      if (!local) {
        const { spec, values } = link.encoder.one(value);
        link.decode(link.python.put(handle, name, spec, ...values));
      }
      // modules are found here as well, without asking Python; tensors, which to() may replace, only there
      const here = local || (isModule && typeof value === "function");
      if (here) Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
      else Reflect.deleteProperty(target, name);
      return true;
    };
    return new Proxy(body, {
      get(target, name, receiver): unknown {
        if (name === HANDLE) return handle;
        if (name in target) return Reflect.get(target, name, receiver);
        if (typeof name === "symbol" || NEVER.has(name)) return undefined;
        if (names.has(name)) {
          let method = methods.get(name);
          if (!method) {
            method = (...args: unknown[]): unknown => link.call(handle, name, args);
            methods.set(name, method);
          }
          return method;
        }
        if (name === "length" && kind.kind === "list") return link.call(handle, "__len__", []);
        return link.decode(link.python.get(handle, name));
      },
      set,
      // fields of JavaScript classes
      defineProperty(target, name, property): boolean {
        return "value" in property ? set(target, name, property.value) : Reflect.defineProperty(target, name, property);
      },
      has: (target, name) =>
        name === HANDLE || name in target || (typeof name === "string" && link.python.has(handle, name)),
      apply: (_target, _this, args: unknown[]) => link.call(handle, "", args),
    });
  }

  /** torch, torch.nn and others: what they hold is looked up once, unless it is a plain value. `own`: what there is in
   * JavaScript only. */
  namespace(handle: number, own: object): object {
    const link = this.#link;
    const found = new Map<PropertyKey, unknown>(Object.entries(own));
    found.set(HANDLE, handle);
    found.set(INSPECT, () => link.text(handle, true));
    found.set(Symbol.toPrimitive, () => link.text(handle));
    return new Proxy(Object.create(null) as object, {
      get(_target, name): unknown {
        const known = found.get(name);
        if (known !== undefined) return known;
        if (typeof name === "symbol" || NEVER.has(name)) return undefined;
        const value = link.decode(link.python.get(handle, name));
        if (handleOf(value) !== undefined && !(value instanceof link.Tensor)) found.set(name, value);
        return value;
      },
      set(_target, name, value: unknown): boolean {
        const { spec, values } = link.encoder.one(value);
        found.delete(name);
        link.decode(link.python.put(handle, String(name), spec, ...values));
        return true;
      },
      has: (_target, name) => found.has(name) || (typeof name === "string" && link.python.has(handle, name)),
      ownKeys: () => JSON.parse(link.python.names(handle)) as string[],
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
    });
  }

  /** A class: it makes objects with and without `new`, and can be extended. */
  #class(handle: number): object {
    const link = this.#link;
    // a class that is extended has to be a function with a prototype
    const target = function (): void {};
    target.prototype = this.#modulePrototype;
    const found = new Map<PropertyKey, unknown>();
    found.set(HANDLE, handle);
    found.set("prototype", target.prototype);
    found.set(INSPECT, () => link.text(handle, true));
    found.set(Symbol.toPrimitive, () => link.text(handle));
    found.set(Symbol.hasInstance, (value: unknown) => {
      const held = handleOf(value);
      return held !== undefined && link.python.is_instance(held, handle);
    });
    const made: object = new Proxy(target, {
      apply: (_target, _this, args: unknown[]) => link.call(handle, "", args),
      construct: (_target, args: unknown[], newTarget) =>
        (newTarget === made ? link.call(handle, "", args) : this.#instance(handle, made, newTarget, args)) as object,
      get(_target, name): unknown {
        if (found.has(name)) return found.get(name);
        if (typeof name === "symbol" || NEVER.has(name)) return undefined;
        const value = link.decode(link.python.get(handle, name === "name" ? "__name__" : name));
        if (typeof value === "function") found.set(name, value);
        return value;
      },
      has: (_target, name) => found.has(name) || (typeof name === "string" && link.python.has(handle, name)),
    });
    return made;
  }

  /** An object of a JavaScript class that extends a class of Python's. */
  #instance(base: number, made: object, newTarget: object, args: unknown[]): object {
    const { python, callbacks, encoder } = this.#link;
    const { name, prototype } = newTarget as { name: string; prototype: object };
    let subclass = this.#subclasses.get(newTarget);
    if (subclass === undefined) {
      subclass = python.subclass(base, name || "Module", methodNames(prototype, made).join(" "));
      this.#subclasses.set(newTarget, subclass);
    }
    const body = callbacks.keep(makeBody(prototype, true));
    const { spec, values } = encoder.arguments(args);
    return this.#link.decode(python.instance(subclass, body, spec, ...values)) as object;
  }
}

/** What the proxy of an object stands before: it holds what JavaScript adds, and can be called where the object can. */
function makeBody(prototype: object, callable: boolean): object {
  if (!callable) return Object.create(prototype) as object;
  const body = (): void => {};
  for (const name of ["name", "length"]) Reflect.deleteProperty(body, name);
  return Object.setPrototypeOf(body, prototype) as object;
}

/** The methods that JavaScript's classes down to `prototype` add to Python's. */
function methodNames(prototype: object, base: object): string[] {
  const names = new Set<string>();
  const end = (base as { prototype: object }).prototype;
  for (let at = prototype; at !== end; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name !== "constructor" && typeof value === "function") names.add(name);
    }
  }
  return [...names];
}
