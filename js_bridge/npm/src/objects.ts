// Wrappers of what is no tensor: modules, classes, functions, optimizers, dtypes, and torch itself.
//
// An object of Python is one object in JavaScript, as long as something here holds it. A name that its type has as a
// method is a function, without a question to Python; any other name is asked for each time.

import { HANDLE, handleOf } from "./convert.js";
import type { Link } from "./link.js";
import type { Kind } from "./python.js";

type Prototype = Record<PropertyKey, unknown>;

const { isPrototypeOf } = Object.prototype;

const BODY = Symbol("body");
const INSPECT = Symbol.for("nodejs.util.inspect.custom");
// what arrays have, for lists of Python's: functions that read
const OF_ARRAYS = new Set(
  "at entries every filter find findIndex flatMap forEach includes indexOf join map reduce slice some".split(" "),
);
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
        if (name.endsWith("_submodule") || name.endsWith("_module")) layersOf(this[BODY] as object).found.clear();
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
    if (body) return this.#object(handle, kind, this.#link.callbacks.get(body) as object, true);
    const isModule = kind.kind === "module";
    const prototype = isModule ? this.#modulePrototype : this.#prototype;
    return this.#object(handle, kind, makeBody(prototype, kind.callable), isModule);
  }

  #function(handle: number): object {
    const link = this.#link;
    const called = (...args: unknown[]): unknown => link.call(handle, "", args);
    Object.defineProperty(called, HANDLE, { value: handle });
    Object.defineProperty(called, INSPECT, { value: () => link.text(handle, true) });
    return called;
  }

  /** `holds`: the object is a module or of a JavaScript class; what is nothing to Python stays in `body`. */
  #object(handle: number, kind: Kind, body: object, holds: boolean): object {
    const link = this.#link;
    const names = new Set(kind.methods);
    const methods = new Map<string, unknown>();
    const has = (name: string): boolean => link.decode(link.python.has(handle, name)) as boolean;
    const layers = layersOf(body);
    const set = (target: object, name: string | symbol, value: unknown): boolean => {
      if (typeof name === "symbol") return Reflect.set(target, name, value);
      const stays = holds && value !== null && handleOf(value) === undefined;
      if (stays && (!has(name) || (names.has(name) && typeof value !== "function"))) {
        Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
        return true;
      }
      const { spec, values } = link.encoder.one(value);
      link.decode(link.python.put(handle, name, spec, ...values));
      layers.found.delete(name);
      Reflect.deleteProperty(target, name);
      names.delete(name);
      return true;
    };
    return new Proxy(body, {
      get: (target, name, receiver): unknown => {
        if (name === HANDLE) return handle;
        if (name === BODY) return target;
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
        if (kind.kind === "list" && OF_ARRAYS.has(name)) {
          return (...args: unknown[]): unknown => {
            const items = [...(receiver as Iterable<unknown>)] as unknown as Record<string, typeof link.call>;
            return (items[name] as unknown as (...args: unknown[]) => unknown)(...args);
          };
        }
        const known = layers.running && layers.found.get(name);
        if (known) return known;
        const found = link.decode(link.python.get(handle, name));
        if (layers.running && isPrototypeOf.call(this.#modulePrototype, found as object)) layers.found.set(name, found);
        if (found === undefined && name === "length" && kind.sized) return link.call(handle, "__len__", []);
        return found;
      },
      set,
      deleteProperty(target, name): boolean {
        layers.found.clear();
        if (typeof name === "string" && !Object.hasOwn(target, name) && has(name)) {
          link.call(handle, kind.kind === "dict" ? "__delitem__" : "__delattr__", [name]);
        }
        return Reflect.deleteProperty(target, name);
      },
      // fields of JavaScript classes
      defineProperty(target, name, property): boolean {
        return "value" in property ? set(target, name, property.value) : Reflect.defineProperty(target, name, property);
      },
      has: (target, name) => name === HANDLE || name in target || (typeof name === "string" && has(name)),
      apply: (_target, _this, args: unknown[]) => link.call(handle, "", args),
    });
  }

  /** torch, torch.nn and others: what they hold is looked up once, unless it is a plain value. `own`: what there is in
   * JavaScript only. */
  namespace(handle: number, own: object): object {
    const link = this.#link;
    const found = new Map<PropertyKey, unknown>(Object.entries(own));
    found.set(HANDLE, handle);
    found.set(Symbol.toPrimitive, () => link.text(handle));
    // those of a program's own change
    const constant = String(link.decode(link.python.get(handle, "__name__"))).startsWith("torch");
    const has = (name: string): boolean => link.decode(link.python.has(handle, name)) as boolean;
    return new Proxy(shown(Object.create(null) as object, link, handle), {
      get(_target, name): unknown {
        const known = found.get(name);
        if (known !== undefined) return known;
        if (typeof name === "symbol" || NEVER.has(name)) return undefined;
        const value = link.decode(link.python.get(handle, name));
        if (constant && handleOf(value) !== undefined && !(value instanceof link.Tensor)) found.set(name, value);
        return value;
      },
      set(_target, name, value: unknown): boolean {
        const { spec, values } = link.encoder.one(value);
        found.delete(name);
        link.decode(link.python.put(handle, String(name), spec, ...values));
        return true;
      },
      has: (_target, name) => found.has(name) || (typeof name === "string" && has(name)),
      ownKeys: () => JSON.parse(link.python.names(handle)) as string[],
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
    });
  }

  /** A class: it makes objects with and without `new`, and can be extended. */
  #class(handle: number): object {
    const link = this.#link;
    // a class that is extended has to be a function with a prototype
    const target = shown(function (): void {}, link, handle);
    // `super.step()` in a JavaScript class looks here for the methods of this class; a name that is only asked for
    // with `in` is not here, so that an object finds its own first
    target.prototype = new Proxy(this.#modulePrototype, {
      get(prototype, name, receiver: Prototype): unknown {
        if (name in prototype || typeof name === "symbol" || NEVER.has(name))
          return Reflect.get(prototype, name, receiver);
        if (typeof link.decode(link.python.get(handle, name)) !== "function") return undefined;
        return (...args: unknown[]): unknown => link.call(handleOf(receiver)!, name, args, receiver, true);
      },
    });
    const found = new Map<PropertyKey, unknown>();
    found.set(HANDLE, handle);
    found.set("prototype", target.prototype);
    found.set(Symbol.toPrimitive, () => link.text(handle));
    found.set(Symbol.hasInstance, (value: unknown) => {
      const held = handleOf(value);
      return held !== undefined && link.decode(link.python.is_instance(held, handle));
    });
    const has = (name: string): boolean => link.decode(link.python.has(handle, name)) as boolean;
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
      has: (_target, name) => found.has(name) || (typeof name === "string" && has(name)),
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

/** The layers of a module that a method of JavaScript's has found, while one runs. Python says with each call whether
 * it has others since; at other times they are asked for, as anybody may have replaced them. */
interface Layers {
  version: number;
  running: number;
  readonly found: Map<string, unknown>;
}

const allLayers = new WeakMap<object, Layers>();

export function layersOf(body: object): Layers {
  let layers = allLayers.get(body);
  if (!layers) allLayers.set(body, (layers = { version: 0, running: 0, found: new Map() }));
  return layers;
}

/** What the proxy of an object stands before: it holds what JavaScript adds, and can be called where the object can. */
function makeBody(prototype: object, callable: boolean): object {
  if (!callable) return Object.create(prototype) as object;
  const body = (): void => {};
  for (const name of ["name", "length"]) Reflect.deleteProperty(body, name);
  return Object.setPrototypeOf(body, prototype) as object;
}

/** The body of a copy: what JavaScript's object holds, copied where JavaScript can. */
export function copyBody(body: object): object {
  const made = makeBody(Object.getPrototypeOf(body) as object, true);
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(body))) {
    try {
      if ("value" in property) property.value = structuredClone(property.value);
    } catch {
      // functions cannot be cloned: both objects have the same one
    }
    Object.defineProperty(made, name, property);
  }
  return made;
}

/** console.log of node shows the target of a proxy: with the text of Python's object. */
function shown<T extends object>(target: T, link: Link, handle: number): T {
  return Object.defineProperty(target, INSPECT, { value: () => link.text(handle, true), configurable: true });
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
