/**
 * Plans: a caller names a family of kernels once and then only gives buffers and words. Which kernels that takes, in
 * what tiles and over which scratch buffers, is found out when words come that were not seen lately, and kept.
 */
import type { Binding } from "./bindings";
import { described, isExpression } from "./described";
import type { DeviceHolder } from "./device";
import { KernelError, WebgpuError } from "./errors";
import { sourceOf } from "./kernel";
import { type Plan, planWith } from "../kernels/plan";
import { type Kernel, type Step, type UniformWord, UnsupportedKernelError } from "../kernels/spec";
import type { Pipelines } from "./pipelines";
import type { Pool } from "./pool";
import type { Recorder } from "./recorder";

interface Word {
  readonly name: string;
  readonly at: number;
  readonly type: UniformWord["type"];
}

interface Entry {
  readonly id: number;
  readonly plan: Plan;
  readonly access: string;
  readonly all: readonly Word[];
  /** Words that choose the steps. */
  readonly keyed: readonly number[];
  readonly singles: readonly Single[];
}

/**
 * A kernel that does everything a plan asks for: its number, once it is used (its WGSL is made then), the words its
 * grid depends on, and those that must be multiples of four.
 */
interface Single {
  number?: number;
  readonly kernel: Kernel;
  readonly grid: readonly Word[];
  readonly fours: readonly number[];
}

interface Prepared {
  readonly entry: Entry;
  /** The words that were asked for, in the order of `keyed`. */
  readonly words: Uint32Array;
  readonly steps: readonly PreparedStep[];
  /** Bytes of each scratch buffer. */
  readonly scratch: readonly number[];
}

interface PreparedStep {
  readonly kernel: number;
  readonly groups: number;
  readonly uniforms: Uint32Array;
  /** Pairs: place in `uniforms`, place among the plan's words. */
  readonly patches: readonly number[];
  /** Index of a buffer of the plan; below zero: -1 - index of a scratch buffer. */
  readonly buffers: readonly number[];
  /** The buffers are the plan's, in its order. */
  readonly straight: boolean;
}

/** Steps kept: what was not used while this many others were is forgotten. */
const MOST = 4096;

const F = new Float32Array(1);
const U = new Uint32Array(F.buffer);

export class Plans {
  readonly #holder: DeviceHolder;
  readonly #pool: Pool;
  readonly #pipelines: Pipelines;
  readonly #recorder: Recorder;
  readonly #planOf: (key: string) => Plan;
  readonly #entries: (Entry | undefined)[] = [];
  /** Errors of assume(), by the number of the plan that could not be made. */
  readonly #refused = new Map<number, unknown>();
  readonly #ids = new Map<string, number>();
  readonly #keys: string[] = [];
  /** Two generations by hash stand for an order of use: what is asked for moves to the young one. */
  #young = new Map<number, Prepared[]>();
  #old = new Map<number, Prepared[]>();
  #count = 0;
  #made = 0;

  /** `planOf` makes the plan of a key, or throws UnsupportedKernelError. */
  constructor(
    holder: DeviceHolder,
    pool: Pool,
    pipelines: Pipelines,
    recorder: Recorder,
    planOf: (key: string) => Plan,
  ) {
    this.#holder = holder;
    this.#pool = pool;
    this.#pipelines = pipelines;
    this.#recorder = recorder;
    this.#planOf = planOf;
  }

  /** How often steps were planned; a training step that repeats adds none. */
  get made(): number {
    return this.#made;
  }

  /** The number of a key (described.ts). Throws UnsupportedKernelError when there are no kernels for it. */
  id(key: string): number {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const plan = isExpression(key) ? this.#planOfExpression(key) : this.#planOf(key);
    const most = Math.max(plan.most ?? 0, plan.buffers.length);
    if (this.#holder.state === "ready" && most > this.#holder.limits.maxStorageBuffersPerShaderStage) {
      throw new UnsupportedKernelError(
        plan.family,
        `${most} buffers at once`,
        `binds more than the ${this.#holder.limits.maxStorageBuffersPerShaderStage} of this device`,
      );
    }
    const all = plan.words.map((w, at) => ({ name: w.name, at, type: w.type }));
    const id = this.#entries.length;
    this.#entries.push({
      id,
      plan,
      all,
      access: plan.buffers.map((b) => (b.writes ? "w" : "r")).join(""),
      keyed: all.filter((w) => !plan.free.has(w.name)).map((w) => w.at),
      singles: (plan.singles ?? []).map(({ kernel, fours }) => {
        const grid = gridNames(kernel);
        return {
          kernel,
          grid: all.filter((w) => grid.has(w.name)),
          fours: all.filter((w) => fours.includes(w.name)).map((w) => w.at),
        };
      }),
    });
    this.#ids.set(key, id);
    this.#keys[id] = key;
    return id;
  }

  #planOfExpression(key: string): Plan {
    const keyOf = (id: number): string => {
      this.#entry(id);
      return this.#keys[id]!;
    };
    let family = "fused";
    try {
      const of = described(key, keyOf);
      family = of.family;
      return planWith(family, () => of.params);
    } catch (e) {
      if (e instanceof WebgpuError) throw e;
      throw new UnsupportedKernelError(family, e instanceof Error ? e.message : String(e), "cannot be planned");
    }
  }

  /**
   * As id(), for a caller on another thread that counts the plans itself and does not wait for an answer. If there are
   * no kernels for the key, its number stays taken, and running it throws the reason.
   */
  assume(key: string, number: number): void {
    if (number !== this.#entries.length)
      throw new KernelError(`[plan] number ${number} is not the next one (${this.#entries.length})`);
    try {
      this.id(key);
    } catch (e) {
      this.#refused.set(number, e);
      this.#entries.push(undefined);
    }
  }

  name(id: number): string {
    return this.#entry(id).plan.family;
  }

  /** One letter a buffer; null where there is no such plan. */
  access(id: number): string | null {
    return this.#entries[id]?.access ?? null;
  }

  /** Records the steps of a plan; its words lie at `from`. */
  run(id: number, bindings: readonly Binding[], words: Uint32Array, from: number, count: number): void {
    const entry = this.#entry(id);
    if (bindings.length !== entry.access.length || count !== entry.all.length) {
      throw new KernelError(
        `[${entry.plan.family}] takes ${entry.access.length} buffers and ${entry.all.length} words, ` +
          `not ${bindings.length} and ${count}`,
      );
    }
    for (const single of entry.singles) {
      if (!multiplesOfFour(single.fours, words, from)) continue;
      const groups = product(single.kernel.workgroups(valuesOf(single.grid, words, from)));
      single.number ??= this.#adopt(single.kernel);
      this.#recorder.dispatch(single.number, bindings, words, from, count, groups);
      return;
    }
    const prepared = this.#find(entry, words, from);
    if (prepared.scratch.length === 0) {
      this.#record(prepared, bindings, NO_SCRATCH, words, from);
      return;
    }
    const scratch: Binding[] = [];
    try {
      for (const bytes of prepared.scratch) {
        const buffer = this.#pool.take(bytes, entry.plan.family);
        scratch.push({ slot: null, buffer, offset: 0, size: Math.min(buffer.size, Math.ceil(bytes / 16) * 16) });
      }
      this.#record(prepared, bindings, scratch, words, from);
    } finally {
      scratch.forEach((b, i) => this.#pool.give(b.buffer, prepared.scratch[i]!));
    }
  }

  #record(
    prepared: Prepared,
    bindings: readonly Binding[],
    scratch: readonly Binding[],
    words: Uint32Array,
    from: number,
  ): void {
    for (const step of prepared.steps) {
      const { uniforms, patches, buffers } = step;
      for (let i = 0; i < patches.length; i += 2) uniforms[patches[i]!] = words[from + patches[i + 1]!]!;
      let bound = bindings;
      if (!step.straight) bound = buffers.map((b) => (b < 0 ? scratch[-1 - b]! : bindings[b]!));
      this.#recorder.dispatch(step.kernel, bound, uniforms, 0, uniforms.length, step.groups);
    }
  }

  /** Forgets planned steps: they were made for a device that is gone. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#count = 0;
  }

  #entry(id: number): Entry {
    const entry = this.#entries[id];
    if (this.#refused.has(id)) throw this.#refused.get(id);
    if (!entry) throw new KernelError(`[plan] there is no plan number ${id} (${this.#entries.length} are known)`);
    return entry;
  }

  #adopt(kernel: Kernel): number {
    return this.#pipelines.defined(kernel.key) ?? this.#pipelines.define(kernel.key, sourceOf(kernel));
  }

  #find(entry: Entry, words: Uint32Array, from: number): Prepared {
    let hash = entry.id;
    const { keyed } = entry;
    for (let i = 0; i < keyed.length; i++) hash = (Math.imul(hash, 31) + words[from + keyed[i]!]!) | 0;
    const known = among(this.#young.get(hash), entry, words, from);
    if (known) return known;
    const prepared = among(this.#old.get(hash), entry, words, from) ?? this.#prepare(entry, words, from);
    if (this.#count >= MOST) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#count = 0;
    }
    const list = this.#young.get(hash);
    if (list) list.push(prepared);
    else this.#young.set(hash, [prepared]);
    this.#count++;
    return prepared;
  }

  #prepare(entry: Entry, words: Uint32Array, from: number): Prepared {
    const { plan } = entry;
    this.#made++;
    try {
      const planned = plan.steps(valuesOf(entry.all, words, from), {
        software: this.#holder.software,
        subgroups: this.#holder.has("subgroups"),
        f16: this.#holder.f16,
      });
      const scratch = Object.entries(planned.scratch ?? {}).filter(([name]) =>
        planned.steps.some((s) => s.buffers.includes(name)),
      );
      const names = plan.buffers.map((b) => b.name);
      return {
        entry,
        words: Uint32Array.from(entry.keyed, (at) => words[from + at] ?? 0),
        scratch: scratch.map(([, bytes]) => Math.max(16, bytes)),
        steps: planned.steps.map((step) =>
          this.#step(entry, step, (name) => {
            const own = scratch.findIndex(([n]) => n === name);
            const at = own >= 0 ? -1 - own : names.indexOf(name);
            if (own < 0 && at < 0) throw new Error(`no buffer is called ${name}`);
            return at;
          }),
        ),
      };
    } catch (e) {
      if (e instanceof WebgpuError) throw e;
      throw new KernelError(`[${plan.family}] cannot be planned: ${e instanceof Error ? e.message : String(e)}`);
    }
  }

  #step(entry: Entry, { kernel, values, buffers }: Step, place: (name: string) => number): PreparedStep {
    const uniforms = Uint32Array.from(kernel.uniforms, (w) => {
      const v = values[w.name] ?? w.init;
      if (v === undefined) throw new Error(`${w.name} has no value`);
      if (w.type === "f32") F[0] = v;
      else U[0] = v;
      return U[0]!;
    });
    const patches = kernel.uniforms.flatMap((w, i) => {
      const own = entry.plan.free.has(w.name) ? entry.all.find((a) => a.name === w.name) : undefined;
      return own ? [i, own.at] : [];
    });
    const places = buffers.map(place);
    const straight = places.length === entry.access.length && places.every((b, i) => b === i);
    return {
      kernel: this.#adopt(kernel),
      groups: product(kernel.workgroups(values)),
      uniforms,
      patches,
      buffers: places,
      straight,
    };
  }
}

/** The steps of a list that were made for these words. */
function among(
  list: readonly Prepared[] | undefined,
  entry: Entry,
  words: Uint32Array,
  from: number,
): Prepared | undefined {
  if (list === undefined) return undefined;
  const { keyed } = entry;
  next: for (let k = 0; k < list.length; k++) {
    const p = list[k]!;
    if (p.entry !== entry) continue;
    for (let i = 0; i < keyed.length; i++) if (p.words[i] !== words[from + keyed[i]!]) continue next;
    return p;
  }
  return undefined;
}

const NO_SCRATCH: readonly Binding[] = [];
const product = ([x, y, z]: readonly [number, number, number]): number => x * y * z;

function multiplesOfFour(places: readonly number[], words: Uint32Array, from: number): boolean {
  for (const at of places) if (words[from + at]! & 3) return false;
  return true;
}

/** Names of the uniform words that a kernel's grid depends on. */
function gridNames(kernel: Kernel): ReadonlySet<string> {
  const names = new Set<string>();
  const ones = new Proxy(
    {},
    {
      get: (_, name) => {
        names.add(String(name));
        return 1;
      },
    },
  );
  kernel.workgroups(ones);
  return names;
}

function valuesOf(which: readonly Word[], words: Uint32Array, from: number): Record<string, number> {
  const values: Record<string, number> = {};
  for (const { name, at, type } of which) {
    U[0] = words[from + at]!;
    if (type === "f32") values[name] = F[0]!;
    else values[name] = type === "u32" ? U[0] : U[0] | 0;
  }
  return values;
}
