/** Test helper: runs kernels on the first adapter there is, with typed arrays in PyTorch's memory layout. */
import { test as vitest } from "vitest";
import { gpu, why } from "./gpu";
import { DTYPES, type DType, type Kernel, perWord, type Step, type Values } from "../src/kernels/spec";

/** Uniform values as the words of the block, padded to 16 bytes. */
export function packUniforms(kernel: Pick<Kernel, "uniforms" | "key">, values: Values): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(Math.max(16, Math.ceil(kernel.uniforms.length / 4) * 16)));
  kernel.uniforms.forEach((w, i) => {
    const v = values[w.name] ?? w.init;
    if (v === undefined) throw new Error(`[${kernel.key}] uniform ${w.name} has no value`);
    if (w.type === "f32") view.setFloat32(4 * i, v, true);
    else if (w.type === "i32") view.setInt32(4 * i, v, true);
    else view.setUint32(4 * i, v, true);
  });
  return view.buffer;
}

/** vitest's test; skipped where there is no adapter. */
export const test: typeof vitest = gpu ? vitest : (vitest.skip as typeof vitest);

/** For kernels with and without subgroups: those that can run here. */
export const joins: readonly (readonly [string, { subgroups?: true }])[] = [
  ["tree", {}],
  ...((await gpu?.requestAdapter())?.features.has("subgroups") ? [["subgroups", { subgroups: true }] as const] : []),
];

let opened: Promise<GPUDevice> | undefined;
export function device(): Promise<GPUDevice> {
  return (opened ??= (async () => {
    const adapter = await gpu?.requestAdapter();
    if (!adapter) throw new Error(why);
    const limits = adapter.limits as unknown as Record<string, number>;
    const wanted = ["maxStorageBufferBindingSize", "maxBufferSize", "maxStorageBuffersPerShaderStage"];
    return adapter.requestDevice({
      requiredFeatures: adapter.features.has("subgroups") ? ["subgroups"] : [],
      requiredLimits: Object.fromEntries(wanted.map((k) => [k, limits[k]!])),
    });
  })());
}

// ---- numbers of every dtype, as bytes ----
const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);
export function toHalf(x: number): number {
  f32[0] = x;
  const s = (u32[0]! >>> 16) & 0x8000;
  const a = Math.abs(f32[0]!);
  if (Number.isNaN(a)) return s | 0x7e00;
  if (a >= 65520) return s | 0x7c00;
  const e = Math.max(-14, Math.floor(Math.log2(a)) || 0);
  if (a === 0) return s;
  let exp = e;
  if (a < 2 ** exp && exp > -14) exp--;
  if (a >= 2 ** (exp + 1)) exp++;
  const unit = 2 ** (exp - 10);
  const q = a / unit;
  let r = Math.floor(q);
  if (q - r > 0.5 || (q - r === 0.5 && r % 2 === 1)) r++;
  return s | (r + (exp + 14) * 1024);
}
export function fromHalf(h: number): number {
  const s = h & 0x8000 ? -1 : 1;
  const e = (h >> 10) & 31;
  const m = h & 1023;
  if (e === 31) return s * (m ? NaN : Infinity);
  return s * (e ? 2 ** (e - 25) * (m + 1024) : m * 2 ** -24);
}
export function toBf16(x: number): number {
  f32[0] = x;
  const u = u32[0]!;
  return Number.isNaN(x) ? 0x7fc0 : ((u + 0x7fff + ((u >>> 16) & 1)) >>> 16) & 0xffff;
}
export function fromBf16(h: number): number {
  u32[0] = h << 16;
  return f32[0]!;
}

export type Num = number | bigint;

export function encode(dtype: DType, values: readonly Num[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((values.length * DTYPES[dtype].bytes) / 16) * 16 + 16);
  const v = new DataView(bytes.buffer);
  values.forEach((x, i) => {
    const n = Number(x);
    switch (dtype) {
      case "float32":
        v.setFloat32(4 * i, n, true);
        break;
      case "int32":
        v.setInt32(4 * i, n, true);
        break;
      case "int64":
        v.setBigInt64(8 * i, BigInt(x), true);
        break;
      case "float16":
        v.setUint16(2 * i, toHalf(n), true);
        break;
      case "bfloat16":
        v.setUint16(2 * i, toBf16(n), true);
        break;
      case "int16":
        v.setInt16(2 * i, n, true);
        break;
      case "int8":
        v.setInt8(i, n);
        break;
      default:
        v.setUint8(i, n);
    }
  });
  return bytes;
}

export function decode(dtype: DType, bytes: Uint8Array, n: number): number[] {
  const v = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: n }, (_, i) => {
    switch (dtype) {
      case "float32":
        return v.getFloat32(4 * i, true);
      case "int32":
        return v.getInt32(4 * i, true);
      case "int64":
        return Number(v.getBigInt64(8 * i, true));
      case "float16":
        return fromHalf(v.getUint16(2 * i, true));
      case "bfloat16":
        return fromBf16(v.getUint16(2 * i, true));
      case "int16":
        return v.getInt16(2 * i, true);
      case "int8":
        return v.getInt8(i);
      default:
        return v.getUint8(i);
    }
  });
}

export interface Tensor {
  readonly dtype: DType;
  readonly data: readonly Num[];
}
export const t = (dtype: DType, data: readonly Num[]): Tensor => ({ dtype, data });

const pipelines = new Map<string, GPUComputePipeline>();
export async function pipelineOf(k: Kernel): Promise<GPUComputePipeline> {
  const d = await device();
  let pipe = pipelines.get(k.key);
  if (!pipe) {
    d.pushErrorScope("validation");
    const module = d.createShaderModule({ code: k.wgsl });
    const info = await module.getCompilationInfo();
    const errors = info.messages.filter((m) => m.type === "error");
    if (errors.length)
      throw new Error(
        `${k.key}\n${errors.map((m) => `${m.lineNum}: ${m.message}`).join("\n")}\n${k.wgsl
          .split("\n")
          .map((l, i) => `${i + 1}  ${l}`)
          .join("\n")}`,
      );
    pipe = await d.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
    const err = await d.popErrorScope();
    if (err) throw new Error(`${k.key}: ${err.message}`);
    pipelines.set(k.key, pipe);
  }
  return pipe;
}

/** Runs steps over named buffers; returns the buffers' bytes afterwards. */
export async function runSteps(
  steps: readonly Step[],
  buffers: Readonly<Record<string, Uint8Array>>,
): Promise<Record<string, Uint8Array>> {
  const d = await device();
  d.pushErrorScope("validation");
  const gpuBuffers: Record<string, GPUBuffer> = {};
  for (const [name, bytes] of Object.entries(buffers)) {
    const b = d.createBuffer({
      size: Math.ceil(bytes.byteLength / 16) * 16,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
    });
    d.queue.writeBuffer(b, 0, bytes as Uint8Array<ArrayBuffer>);
    gpuBuffers[name] = b;
  }
  for (const { kernel, values, buffers: names } of steps) {
    const pipe = await pipelineOf(kernel);
    const [x, y, z] = kernel.workgroups(values);
    if (x * y * z === 0) continue;
    if (names.length !== kernel.bindings.length)
      throw new Error(`${kernel.key} binds ${kernel.bindings.length} buffers, got ${names.length}`);
    const enc = d.createCommandEncoder();
    const pass = enc.beginComputePass();
    pass.setPipeline(pipe);
    pass.setBindGroup(
      0,
      d.createBindGroup({
        layout: pipe.getBindGroupLayout(0),
        entries: names.map((n, i) => ({ binding: i, resource: { buffer: gpuBuffers[n]! } })),
      }),
    );
    if (kernel.uniforms.length) {
      const words = packUniforms(kernel, values);
      const u = d.createBuffer({ size: words.byteLength, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
      d.queue.writeBuffer(u, 0, words);
      pass.setBindGroup(
        1,
        d.createBindGroup({ layout: pipe.getBindGroupLayout(1), entries: [{ binding: 0, resource: { buffer: u } }] }),
      );
    }
    pass.dispatchWorkgroups(x, y, z);
    pass.end();
    d.queue.submit([enc.finish()]);
  }
  const out: Record<string, Uint8Array> = {};
  for (const [name, b] of Object.entries(gpuBuffers)) {
    const r = d.createBuffer({ size: b.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const enc = d.createCommandEncoder();
    enc.copyBufferToBuffer(b, 0, r, 0, b.size);
    d.queue.submit([enc.finish()]);
    await r.mapAsync(GPUMapMode.READ);
    out[name] = new Uint8Array(r.getMappedRange().slice(0));
    r.destroy();
    b.destroy();
  }
  const err = await d.popErrorScope();
  if (err) throw new Error(err.message);
  return out;
}

export type Buffers = Readonly<Record<string, Tensor | { readonly dtype: DType; readonly zeros: number }>>;

/**
 * As runSteps, with tensors in and numbers out. Fresh memory is filled with ones bits, so that unwritten words show.
 */
export async function runTensors(steps: readonly Step[], buffers: Buffers): Promise<Record<string, number[]>> {
  const bytes: Record<string, Uint8Array> = {};
  const size: Record<string, number> = {};
  for (const [name, b] of Object.entries(buffers)) {
    size[name] = "zeros" in b ? b.zeros : b.data.length;
    bytes[name] =
      "zeros" in b
        ? new Uint8Array(Math.ceil((b.zeros * DTYPES[b.dtype].bytes) / 16) * 16 + 16).fill(0xff)
        : encode(b.dtype, b.data);
  }
  const out = await runSteps(steps, bytes);
  return Object.fromEntries(
    Object.entries(buffers).map(([name, b]) => [name, decode(b.dtype, out[name]!, size[name]!)]),
  );
}

/** One kernel whose bindings are the given buffers in order. */
export async function runOne(kernel: Kernel, values: Values, buffers: Buffers): Promise<Record<string, number[]>> {
  return runTensors([{ kernel, values, buffers: Object.keys(buffers) }], buffers);
}

/** Reproducible numbers in [lo, hi). */
export function random(n: number, lo = -2, hi = 2, seed = 1): number[] {
  let s = seed >>> 0;
  return Array.from({ length: n }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.fround(lo + ((hi - lo) * (s >>> 8)) / 2 ** 24);
  });
}
export const randomInts = (n: number, lo: number, hi: number, seed = 1): number[] =>
  random(n, lo, hi, seed).map(Math.floor);

/** Distance in units of the last place of float32; equal NaNs and equal zeros count 0. */
export function ulps(got: number, want: number): number {
  const w = Math.fround(want);
  if (Number.isNaN(w) || Number.isNaN(got)) return Number.isNaN(w) && Number.isNaN(got) ? 0 : Infinity;
  if (got === w) return 0;
  if (!Number.isFinite(w) || !Number.isFinite(got)) return Infinity;
  const e = Math.max(-126, Math.floor(Math.log2(Math.abs(want))));
  return Math.abs(got - want) / 2 ** (e - 23);
}

export const packedDtypes = (Object.keys(DTYPES) as DType[]).filter((d) => perWord(d) > 1);

/** Throws with the first place where `got` is further from `want` than rtol * |want| + atol. */
export function close(got: readonly number[], want: readonly number[], rtol = 1e-5, atol = 1e-6): void {
  if (got.length !== want.length) throw new Error(`length ${got.length}, expected ${want.length}`);
  got.forEach((g, i) => {
    const w = want[i]!;
    if (Object.is(g, w) || (Number.isNaN(g) && Number.isNaN(w)) || g === w) return;
    const around = (of: readonly number[]): readonly number[] => of.slice(Math.max(0, i - 2), i + 3);
    if (!(Math.abs(g - w) <= rtol * Math.abs(w) + atol))
      throw new Error(`at ${i}: got ${g}, expected ${w}; around ${around(got)} / ${around(want)}`);
  });
}

/** exp(x^2) erfc(x) for x >= 2 by its continued fraction. */
function erfcx(x: number): number {
  let s = 0;
  for (let k = 80; k > 0; k--) s = k / 2 / (x + s);
  return 1 / Math.sqrt(Math.PI) / (x + s);
}
export function erf(x: number): number {
  if (Math.abs(x) > 2.5) return Math.sign(x) * (1 - Math.exp(-x * x) * erfcx(Math.abs(x)));
  let sum = x,
    term = x;
  for (let n = 1; n < 120; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
export const erfc = (x: number): number => (x > 2.2 ? Math.exp(-x * x) * erfcx(x) : 1 - erf(x));

/** A product of random matrices in tests. */
export interface Product {
  M: number;
  N: number;
  K: number;
  batches?: number;
  ta?: boolean;
  tb?: boolean;
  dtype?: DType;
  out?: DType;
  bias?: "n" | "mn";
  alpha?: number;
  beta?: number;
}

/** Its words, for operands in order or transposed. */
export function productWords(c: Product): Values {
  const { M, N, K } = c;
  return {
    M,
    N,
    K,
    batches: c.batches ?? 1,
    nb1: c.batches ?? 1,
    alpha: c.alpha ?? 1,
    beta: c.beta ?? 1,
    ao: 0,
    am: c.ta ? 1 : K,
    ak: c.ta ? M : 1,
    ab0: 0,
    ab1: M * K,
    bo: 0,
    bk: c.tb ? 1 : N,
    bn: c.tb ? K : 1,
    bb0: 0,
    bb1: K * N,
    co: 0,
    cm: N,
    cn: 1,
    cb0: 0,
    cb1: M * N,
    eo: 0,
    em: c.bias === "mn" ? N : 0,
    en: 1,
    eb0: 0,
    eb1: 0,
  };
}
