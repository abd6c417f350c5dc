/** For tests: a WebGPU adapter under node, and a writer of command streams. Not part of the bundle. */
import { create, globals } from "webgpu";
import { command, Op, REST } from "../src/runtime/stream";
import { Runtime, type RuntimeOptions } from "../src/runtime/runtime";
import { planOfText } from "./text_plan";
import type { KernelSource } from "../src/runtime/kernel";

Object.assign(globalThis, globals);

/** Dawn's instance must outlive all that came from it: when it is collected, node crashes. Hence on globalThis. */
const keep = globalThis as typeof globalThis & { torchliteDawn?: GPU };

async function findGpu(): Promise<{ gpu: GPU | null; why: string }> {
  try {
    keep.torchliteDawn ??= create(process.platform === "linux" ? ["backend=vulkan"] : []);
    if (await keep.torchliteDawn.requestAdapter()) return { gpu: keep.torchliteDawn, why: "" };
    return {
      gpu: null,
      why: "no Vulkan adapter (a Vulkan library and a driver are needed; Debian's chromium package has both)",
    };
  } catch (e) {
    return { gpu: null, why: e instanceof Error ? e.message : String(e) };
  }
}

export const { gpu, why } = await findGpu();
if (!gpu) console.warn(`WebGPU tests are skipped: ${why}`);

const opened: Runtime[] = [];

/** An open runtime; closeAll() closes it. */
export async function open(options: RuntimeOptions = {}): Promise<Runtime> {
  if (!gpu) throw new Error(why);
  const runtime = new Runtime({ gpu, planOf: planOfText, ...options });
  opened.push(runtime);
  if (!(await runtime.open())) throw new Error(runtime.holder.reason);
  return runtime;
}

export function closeAll(): void {
  for (const runtime of opened.splice(0)) runtime.close();
}

let handles = 0;
/** A handle that no other slot of these tests has. */
export const newHandle = (): number => ++handles;

/** Puts a command stream together. */
export class Writer {
  readonly words: number[] = [];

  #put(op: number, ...words: number[]): this {
    this.words.push(...command(op, ...words));
    return this;
  }

  alloc(slot: number, bytes: number): this {
    return this.#put(Op.ALLOC, slot, bytes);
  }

  free(slot: number): this {
    return this.#put(Op.FREE, slot);
  }

  write(slot: number, offset: number, data: Uint8Array | Float32Array | Uint32Array): this {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    return this.#put(Op.WRITE, slot, offset, bytes.length, ...new Uint32Array(padded.buffer));
  }

  upload(slot: number, offset: number, bytes: number, pointer: number): this {
    return this.#put(Op.UPLOAD, slot, offset, bytes, pointer);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): this {
    return this.#put(Op.COPY, from, fromOffset, to, toOffset, bytes);
  }

  fill(slot: number, offset: number, bytes: number, pattern: number): this {
    return this.#put(Op.FILL, slot, offset, bytes, pattern);
  }

  /** Runs a plan of text_plan.ts. */
  dispatch(plan: number, workgroups: number, slots: readonly number[], uniforms: readonly number[] = []): this {
    return this.plan(plan, slots, [workgroups, ...uniforms]);
  }

  plan(plan: number, slots: readonly number[], words: readonly number[]): this {
    return this.#put(Op.PLAN, plan, slots.length | (words.length << 8), ...slots, ...words);
  }

  raw(...words: number[]): this {
    this.words.push(...words);
    return this;
  }

  run(runtime: Runtime): void {
    runtime.stream.execute(Uint32Array.from(this.words));
  }
}

export { Op, REST };
export { define } from "./text_plan";

export function bits(x: number): number {
  return new Uint32Array(Float32Array.of(x).buffer)[0] ?? 0;
}

export async function floats(runtime: Runtime, slot: number, count: number, offset = 0): Promise<number[]> {
  return [...new Float32Array((await runtime.reader.read(slot, offset, count * 4)).slice().buffer)];
}

const INDEX = `fn index(wg: vec3<u32>, nwg: vec3<u32>, l: u32) -> u32 {
  return (wg.x + nwg.x * (wg.y + nwg.y * wg.z)) * 64u + l;
}`;
const HEAD = `@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wg: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) l: u32,
) {
  let i = index(wg, nwg, l);`;

/** out = a * scale + b, for n floats. */
export const AXPB: KernelSource = {
  access: "rrw",
  uniformWords: 2,
  wgsl: `${INDEX}
struct P { n: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<f32>;
@group(1) @binding(0) var<uniform> p: P;
${HEAD} if (i < p.n) { o[i] = a[i] * p.scale + b[i]; } }`,
};

/** x += 1, without uniforms. */
export const INC: KernelSource = {
  access: "w",
  uniformWords: 0,
  wgsl: `${INDEX}
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
${HEAD} if (i < arrayLength(&x)) { x[i] = x[i] + 1.0; } }`,
};
