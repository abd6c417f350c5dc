// JavaScript that Python calls: functions, and the methods of JavaScript classes that extend Python's.

import { copyBody, layersOf } from "./objects.js";
import type { Link } from "./link.js";
import type { Host, Raw } from "./python.js";

type Function = (...args: unknown[]) => unknown;

export class Callbacks implements Host {
  readonly #link: Link;
  /** Functions, and the JavaScript parts of objects, by number: as long as Python has them. */
  readonly #kept = new Map<number, unknown>();
  #next = 1;

  constructor(link: Link) {
    this.#link = link;
  }

  keep(value: unknown): number {
    const number = this.#next++;
    this.#kept.set(number, value);
    return number;
  }

  get(number: number): unknown {
    return this.#kept.get(number);
  }

  call(number: number, args: string): Raw {
    return this.#run(() => (this.#kept.get(number) as Function)(...this.#arguments(args)));
  }

  method(handle: number, type: number, body: number, name: string, args: string, version: number): Raw {
    const layers = layersOf(this.#kept.get(body) as object);
    if (layers.version !== version) layers.found.clear();
    layers.version = version;
    layers.running++;
    const answer = this.#run(() => {
      const self = this.#link.objects.wrap(handle, type, body) as Record<string, Function>;
      return self[name]!(...this.#arguments(args));
    });
    layers.running--;
    return answer;
  }

  drop(number: number): void {
    this.#kept.delete(number);
  }

  /** JavaScript's part of a copy of an object. What it holds of Python's is asked of the copy. */
  copy(number: number): number {
    return this.keep(copyBody(this.#kept.get(number) as object));
  }

  #arguments(text: string): unknown[] {
    if (!text.startsWith("[")) return text.split(" ").map((handle) => new this.#link.Tensor(Number(handle)));
    const [args, named] = JSON.parse(text) as [unknown[], Record<string, unknown>];
    const given = args.map((item) => this.#link.plain(item));
    const entries = Object.entries(named);
    if (entries.length) given.push(Object.fromEntries(entries.map(([key, item]) => [key, this.#link.plain(item)])));
    return given;
  }

  #run(work: () => unknown): Raw {
    try {
      return this.#link.answer(work());
    } catch (error) {
      return this.#link.thrown.keep(error);
    }
  }
}
