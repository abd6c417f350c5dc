/** Kernels by number and key; WGSL is compiled when a kernel is first dispatched. */
import { COMPUTE_STAGE } from "./constants";
import type { DeviceHolder } from "./device";
import { KernelError, type WebgpuError } from "./errors";
import { MAX_UNIFORM_WORDS, type KernelSource, type WordName } from "./kernel";
import type { Profile } from "./profile";

export interface Layout {
  readonly id: number;
  readonly bindGroup: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
}

export interface Compiled {
  readonly key: string;
  readonly pipeline: GPUComputePipeline;
  readonly layout: Layout;
  /** Per binding: whether the kernel writes it. */
  readonly writes: readonly boolean[];
  readonly uniformWords: number;
  readonly words: readonly WordName[];
}

interface Entry {
  readonly key: string;
  readonly source: KernelSource;
  compiled: Compiled | null;
  failure: WebgpuError | null;
}

export class Pipelines {
  readonly #holder: DeviceHolder;
  readonly #profile: Profile;
  readonly #entries: Entry[] = [];
  readonly #ids = new Map<string, number>();
  readonly #layouts = new Map<string, Layout>();
  #uniformLayout: GPUBindGroupLayout | null = null;
  readonly #checks = new Set<Promise<void>>();

  constructor(holder: DeviceHolder, profile: Profile) {
    this.#holder = holder;
    this.#profile = profile;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** Group 1 of every kernel that has uniforms. */
  get uniformLayout(): GPUBindGroupLayout {
    this.#uniformLayout ??= this.#holder.device.createBindGroupLayout({
      label: "uniforms",
      entries: [{ binding: 0, visibility: COMPUTE_STAGE, buffer: { type: "uniform", hasDynamicOffset: true } }],
    });
    return this.#uniformLayout;
  }

  /** The number of a kernel that was defined. */
  defined(key: string): number | undefined {
    return this.#ids.get(key);
  }

  /** Gives a new kernel a number, which stays valid when the device is replaced. */
  define(key: string, source: KernelSource): number {
    const id = this.#entries.push({ key, source, compiled: null, failure: null }) - 1;
    this.#ids.set(key, id);
    return id;
  }

  source(id: number): KernelSource {
    return this.#entry(id).source;
  }

  key(id: number): string {
    return this.#entry(id).key;
  }

  /** Why a kernel does not compile, as far as it is known by now. */
  failure(id: number): WebgpuError | null {
    return this.#entry(id).failure;
  }

  /** The pipeline of a kernel, made now if it is the first time. */
  get(id: number): Compiled {
    const entry = this.#entry(id);
    if (entry.compiled && !entry.failure) return entry.compiled;
    if (entry.failure) throw entry.failure;
    return this.#compile(entry);
  }

  /** Resolves when it is known of all pipelines made so far whether they compile. */
  async settled(): Promise<void> {
    while (this.#checks.size > 0) await Promise.all(this.#checks);
  }

  /** Forgets what belonged to the device; sources and numbers stay. */
  clear(): void {
    this.#layouts.clear();
    this.#uniformLayout = null;
    for (const entry of this.#entries) entry.compiled = entry.failure = null;
  }

  #entry(id: number): Entry {
    const entry = this.#entries[id];
    if (!entry) throw new KernelError(`[dispatch] there is no kernel number ${id} (${this.#entries.length} are known)`);
    return entry;
  }

  #source(entry: Entry): KernelSource {
    const { source } = entry;
    const missing = (source.features ?? []).filter((f) => !this.#holder.has(f));
    if (missing.length > 0)
      throw new KernelError(`[${entry.key}] needs ${missing.join(", ")}, which this device does not have`);
    const limit = this.#holder.limits.maxStorageBuffersPerShaderStage;
    if (source.access.length > limit) {
      throw new KernelError(`[${entry.key}] binds ${source.access.length} buffers; this device takes ${limit} at once`);
    }
    if (!/^[rw]*$/.test(source.access) || source.uniformWords > MAX_UNIFORM_WORDS) {
      throw new KernelError(
        `[${entry.key}] is declared wrongly: access "${source.access}", ${source.uniformWords} uniform words`,
      );
    }
    return source;
  }

  #compile(entry: Entry): Compiled {
    const { device, epoch } = this.#holder;
    const source = this.#source(entry);
    device.pushErrorScope("validation");
    let layout: Layout, module: GPUShaderModule, pipeline: GPUComputePipeline;
    try {
      layout = this.#layout(source.access, source.uniformWords > 0);
      module = device.createShaderModule({ label: entry.key, code: source.wgsl });
      pipeline = device.createComputePipeline(descriptor(entry.key, module, layout));
    } catch (e) {
      device.popErrorScope().catch(() => undefined);
      throw e;
    }
    const check = device
      .popErrorScope()
      .then(
        async (error) => {
          const failure = error && (await this.#explain(entry, module, error.message));
          if (failure && this.#holder.current(epoch)) entry.failure = failure;
        },
        () => undefined, // the device is lost; its `lost` promise reports that
      )
      .finally(() => this.#checks.delete(check));
    this.#checks.add(check);
    entry.compiled = this.#done(entry.key, source, pipeline, layout);
    return entry.compiled;
  }

  #done(key: string, source: KernelSource, pipeline: GPUComputePipeline, layout: Layout): Compiled {
    this.#profile.compiled(key, source.wgsl);
    const writes = Array.from(source.access, (letter) => letter === "w");
    return { key, pipeline, layout, writes, uniformWords: source.uniformWords, words: source.words ?? [] };
  }

  async #explain(entry: Entry, module: GPUShaderModule, message: string): Promise<KernelError> {
    let lines: string[] = [];
    try {
      const info = await module.getCompilationInfo();
      const text = entry.source.wgsl.split("\n");
      lines = info.messages
        .filter((m) => m.type === "error")
        .slice(0, 3)
        .map((m) => `line ${m.lineNum}:${m.linePos}: ${m.message.trim()}: ${(text[m.lineNum - 1] ?? "").trim()}`);
    } catch {
      // without details the scope's message must do
    }
    return new KernelError(
      `[${entry.key}] the kernel does not compile: ${lines.length > 0 ? lines.join("; ") : message}`,
    );
  }

  #layout(access: string, uniform: boolean): Layout {
    const name = access + (uniform ? "u" : "");
    const known = this.#layouts.get(name);
    if (known) return known;
    const device = this.#holder.device;
    const entries: GPUBindGroupLayoutEntry[] = Array.from(access, (letter, binding) => ({
      binding,
      visibility: COMPUTE_STAGE,
      buffer: { type: letter === "w" ? "storage" : "read-only-storage" },
    }));
    const bindGroup = device.createBindGroupLayout({ label: name, entries });
    const pipeline = device.createPipelineLayout({
      label: name,
      bindGroupLayouts: uniform ? [bindGroup, this.uniformLayout] : [bindGroup],
    });
    const layout: Layout = { id: this.#layouts.size, bindGroup, pipeline };
    this.#layouts.set(name, layout);
    return layout;
  }
}

/** The entry point of every kernel is `main`. */
export function descriptor(key: string, module: GPUShaderModule, layout: Layout): GPUComputePipelineDescriptor {
  return { label: key, layout: layout.pipeline, compute: { module, entryPoint: "main" } };
}
