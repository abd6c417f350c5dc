/**
 * Kernels with the sizes and strides of a dispatch in their text. They come as uniform words at first, so that one
 * pipeline serves every shape. What is dispatched again and again with the same words is compiled once more with them
 * as constants: the compiler then divides by constants, unrolls loops and drops tests. That happens in the background,
 * one kernel at a time; until it is done, and where it fails, the general kernel runs.
 *
 * When it is done is chance, so the results must be the same bit for bit. Integers are: constants or not, they are
 * exact. Floats need not be: a compiler replaces the division by a constant by a product, and joins constants in its
 * own way. So no float is made a constant: words that are floats stay in the uniform block, and kernels that compute
 * floats from integers (a mean from its row's length), or count in floats, stay general. Floats may therefore differ
 * among the dispatches that a kernel is compiled for: an optimizer's step changes them each time.
 */
import type { DeviceHolder } from "./device";
import type { KernelSource, WordName } from "./kernel";
import { type Compiled, descriptor, type Pipelines } from "./pipelines";

/** Dispatches with the same words before a kernel is compiled for them. */
export const USES = 16;
/** Smaller dispatches take no time that could be saved. */
const WORKGROUPS = 8;
/** A dispatch this large counts four times: it takes so long that it is worth it sooner. */
const LARGE = 1024;
/** Most such kernels. */
const MOST = 128;
/** Dispatches that are counted at a time; all counts are forgotten when there are more. */
const COUNTED = 2048;

interface Known {
  readonly id: number;
  readonly words: Uint32Array;
  uses: number;
  compiled: Compiled | null;
}

export class Specialised {
  readonly #holder: DeviceHolder;
  readonly #pipelines: Pipelines;
  #known = new Map<number, Known[]>();
  #count = 0;
  #made = 0;
  #busy: Promise<void> | null = null;
  readonly #uses: number | undefined;

  /**
   * uses: after how many dispatches, 0: never. Left out: not on software adapters, where compiling takes what it saves.
   */
  constructor(holder: DeviceHolder, pipelines: Pipelines, uses?: number) {
    this.#uses = uses;
    this.#holder = holder;
    this.#pipelines = pipelines;
  }

  /** How many kernels were compiled for words. */
  get made(): number {
    return this.#made;
  }

  /** Resolves when nothing is being compiled. */
  async settled(): Promise<void> {
    while (this.#busy) await this.#busy;
  }

  /** The kernel for these words, or the general one. */
  take(id: number, kernel: Compiled, words: Uint32Array, from: number, count: number, workgroups: number): Compiled {
    const most = this.#uses ?? (this.#holder.software ? 0 : USES);
    if (most === 0 || count === 0 || workgroups < WORKGROUPS || kernel.words.length !== count) return kernel;
    let hash = id;
    for (let i = 0; i < count; i++)
      if (kernel.words[i]!.type !== "f32") hash = (Math.imul(hash, 31) + words[from + i]!) | 0;
    let list = this.#known.get(hash);
    const known = list?.find((k) => k.id === id && same(k.words, kernel.words, words, from));
    if (known) {
      if (known.compiled) return known.compiled;
      known.uses += workgroups >= LARGE ? 4 : 1;
      if (known.uses >= most && !this.#busy && this.#made < MOST) {
        known.uses = -Infinity; // once
        const source = this.#pipelines.source(known.id);
        const wgsl = constantText(source, known.words);
        if (wgsl) this.#busy = this.#make(known, kernel, wgsl).finally(() => (this.#busy = null));
      }
      return kernel;
    }
    if (this.#count >= COUNTED) this.#forget();
    if (!list) this.#known.set(hash, (list = []));
    list.push({ id, words: words.slice(from, from + count), uses: 1, compiled: null });
    this.#count++;
    return kernel;
  }

  /** Forgets what belonged to the device. */
  clear(): void {
    this.#known.clear();
    this.#count = this.#made = 0;
  }

  #forget(): void {
    const kept = new Map<number, Known[]>();
    this.#count = 0;
    for (const [hash, list] of this.#known) {
      const made = list.filter((k) => k.compiled);
      if (made.length > 0) kept.set(hash, made);
      this.#count += made.length;
    }
    this.#known = kept;
  }

  async #make(known: Known, kernel: Compiled, wgsl: string): Promise<void> {
    const device = this.#holder.device;
    try {
      // constants can overflow or divide by zero where nothing of it would have run
      device.pushErrorScope("validation");
      const module = device.createShaderModule({ label: kernel.key, code: wgsl });
      const refused = device.popErrorScope();
      const pipeline = device.createComputePipelineAsync(descriptor(kernel.key, module, kernel.layout));
      const [error, made] = await Promise.all([refused, pipeline]);
      if (error || this.#holder.state !== "ready" || this.#holder.device !== device) return;
      known.compiled = { ...kernel, pipeline: made };
      this.#made++;
    } catch {
      // the general kernel stays
    }
  }
}

/** Whether the integers among the words are the same; floats stay uniform words (a step size, say). */
function same(a: Uint32Array, names: readonly WordName[], words: Uint32Array, from: number): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== words[from + i] && names[i]!.type !== "f32") return false;
  return true;
}

const UNIFORM = "@group(1) @binding(0) var<uniform> p: Params;";
const LIBRARY = /^fn tl_(?:.*\}|[^]*?\n\})$/gm;
/** Integers that become floats: not zeros and literals, nor halves from a buffer. */
const FLOATS = /\b(?:f32|tl_[iu]\d+_to_f32)\((?!\)|\d|\w+\[)/;
const I = new Int32Array(1);

/**
 * The text with integer words as constants; null where there are none, or where floats would become constants with
 * them.
 */
export function constantText(
  source: Pick<KernelSource, "wgsl" | "words" | "general">,
  words: Uint32Array,
): string | null {
  const { wgsl, general } = source;
  if (general || !wgsl.includes(UNIFORM) || FLOATS.test(wgsl.replace(LIBRARY, ""))) return null;
  const values = new Map((source.words ?? []).map((w, i) => [w.name, literal(w, words[i]!)]));
  const text = wgsl.replace(/\bp\.(\w+)/g, (word, name: string) => values.get(name) ?? word);
  return text === wgsl ? null : text;
}

function literal({ type }: WordName, word: number): string | null {
  if (type === "u32") return `${word}u`;
  I[0] = word;
  return type === "f32" ? null : `i32(${I[0]})`;
}
