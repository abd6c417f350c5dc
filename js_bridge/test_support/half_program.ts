/**
 * What half.test.ts runs in Deno on a device with shader-f16, with f16 and without: plans over float16 that may use it.
 * Not part of the bundle.
 */
import { type Case, heads, plan, run } from "./deno_program";
import { Bridge, type RuntimeOptions } from "../src/api/bridge";

const h = "float16";

/**
 * Bits of halves that are the same everywhere: between 2^-5 and 2^3, every seventh subnormal or 0. With `special` also
 * some that are large, infinite or NaN.
 */
function halves(n: number, seed: number, special = false): Uint16Array {
  let state = (Math.imul(seed, 2654435761) + 1) >>> 0;
  return Uint16Array.from({ length: n }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const bits = state >>> 16;
    if (special && i % 97 === 5) return [0x7c00, 0xfc00, 0x7e00, 0xfe01][bits & 3] ?? 0;
    if (special && i % 11 === 3) return (bits & 0x83ff) | 0x7800;
    return i % 7 === 2 ? bits & 0x83ff : (bits & 0x83ff) | ((10 + ((state >>> 5) & 7)) << 10);
  });
}

interface Product {
  M: number;
  N: number;
  K: number;
  ta?: boolean;
  tb?: boolean;
  at?: number;
  batches?: number;
  special?: boolean;
  bias?: boolean;
}
function product(
  { M, N, K, ta = false, tb = false, at = 0, batches = 1, special = false, bias = false }: Product,
  seed: number,
): Case {
  const halfWords = (n: number): number => Math.ceil(n / 2);
  return {
    plan: plan("matmul", { a: h, b: h, out: h, ...(bias && { bias: h }) }),
    buffers: {
      a: halves(at + batches * M * K, seed, special),
      b: halves(at + batches * K * N, seed + 1, special),
      ...(bias && { e: halves(N, seed + 2) }),
      c: halfWords(batches * M * N),
    },
    words: {
      M,
      N,
      K,
      batches,
      nb1: batches,
      ao: at,
      am: ta ? 1 : K,
      ak: ta ? M : 1,
      ab0: 0,
      ab1: M * K,
      bo: at,
      bk: tb ? 1 : N,
      bn: tb ? K : 1,
      bb0: 0,
      bb1: K * N,
      co: 0,
      cm: N,
      cn: 1,
      cb0: 0,
      cb1: M * N,
      ...(bias && { eo: 0, em: 0, en: 1, eb0: 0, eb1: 0, beta: 0.5 }),
      alpha: 1,
    },
    kinds: { c: "u16" },
  };
}

const PRODUCTS: readonly Product[] = [
  { M: 64, N: 64, K: 40 },
  { M: 67, N: 133, K: 35 },
  { M: 64, N: 96, K: 32, ta: true },
  { M: 68, N: 72, K: 52, tb: true },
  { M: 68, N: 72, K: 52, at: 4, ta: true, tb: true },
  { M: 64, N: 64, K: 32, at: 2 },
  { M: 40, N: 44, K: 20, batches: 3, bias: true },
  { M: 16, N: 24, K: 3000 },
  { M: 32, N: 64, K: 24, special: true },
  { M: 33, N: 63, K: 24, special: true, ta: true },
  { M: 1030, N: 1026, K: 24 },
  { M: 1024, N: 1024, K: 16, ta: true },
  { M: 1, N: 300, K: 200 },
  { M: 300, N: 1, K: 200, bias: true },
];
const window = { kernel: [3, 3], stride: [2, 1], padding: [1, 1], dilation: [1, 1] };
const image = { batch: 2, groups: 2, wide: 6, narrow: 10, x0: 9, x1: 8, y0: 5, y1: 8 };
const [NX, NY, NW] = [2 * 6 * 72, 2 * 10 * 40, 10 * 3 * 9] as const;

function attention(dim: number, valueDim: number, extra: { causal?: true; mask?: string }, seed: number): Case {
  const H = 2,
    L = 19,
    S = 37;
  const of = (name: string, length: number, d: number): Record<string, number> =>
    Object.fromEntries(Object.entries(heads(name, length)).map(([k, v]) => [k, (v / 8) * d]));
  return {
    plan: plan("attention", { dtype: h, dim, valueDim, ...extra }),
    buffers: {
      q: halves(H * L * dim, seed),
      k: halves(H * S * dim, seed + 1),
      v: halves(H * S * valueDim, seed + 2),
      ...(extra.mask && { mask: halves(L * S, seed + 3) }),
      y: (H * L * valueDim) / 2,
      lse: H * L,
    },
    words: {
      B: 1,
      H,
      L,
      S,
      group: 1,
      scale: dim ** -0.5,
      ...of("q", L, dim),
      ...of("k", S, dim),
      ...of("v", S, valueDim),
      ...of("y", L, valueDim),
      ...(extra.mask && { mo: 0, mb: 0, mh: 0, ml: S, ms: 1 }),
      lseo: 0,
    },
    kinds: { y: "u16" },
  };
}

export const HALF_CASES: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(PRODUCTS.map((p, i) => [`product ${JSON.stringify(p)}`, product(p, 10 * i + 1)])),
  conv: {
    plan: plan("conv", { pass: "forward", dtype: h, ...window, bias: true }),
    buffers: { x: halves(NX, 201), w: halves(NW, 202), bias: halves(10, 203), y: NY / 2 },
    words: image,
    kinds: { y: "u16" },
  },
  "conv of special values": {
    plan: plan("conv", { pass: "forward", dtype: h, ...window }),
    buffers: { x: halves(NX, 204, true), w: halves(NW, 205), y: NY / 2 },
    words: image,
    kinds: { y: "u16" },
  },
  "conv input": {
    plan: plan("conv", { pass: "input", dtype: h, ...window }),
    buffers: { gy: halves(NY, 206), w: halves(NW, 207), gx: NX / 2 },
    words: image,
    kinds: { gx: "u16" },
  },
  "conv weight": {
    plan: plan("conv", { pass: "weight", dtype: h, ...window }),
    buffers: { gy: halves(NY, 208), x: halves(NX, 209), gw: NW / 2 },
    words: image,
    kinds: { gw: "u16" },
  },
  attention: attention(16, 16, {}, 301),
  "attention, causal": attention(64, 64, { causal: true }, 311),
  "attention, odd and masked": attention(10, 7 * 2, { mask: h }, 321),
  "attention, wide": attention(128, 128, {}, 331),
};

export interface HalfResults {
  /** How the device reads float16 when it may choose. */
  readonly halves: string;
  readonly results: Readonly<Record<string, Record<string, number[]>>>;
  /** Kernels of each case. */
  readonly kernels: Readonly<Record<string, readonly string[]>>;
}

/** The cases on one device, or those that `only` takes. */
export async function halfResult(
  options: RuntimeOptions,
  only: (name: string) => boolean = () => true,
): Promise<HalfResults> {
  const bridge = new Bridge({ probe: false, ...options });
  if (!(await bridge.open())) throw new Error(bridge.reason());
  const { halves: found } = JSON.parse(bridge.info()) as { halves: string };
  const results: Record<string, Record<string, number[]>> = {},
    kernels: Record<string, string[]> = {};
  bridge.watch(1);
  for (const [name, one] of Object.entries(HALF_CASES)) {
    if (!only(name)) continue;
    results[name] = await run(bridge, one);
    kernels[name] = (JSON.parse(bridge.notes()) as { kernel: string }[]).map((n) => n.kernel);
  }
  bridge.close();
  return { halves: found, results, kernels };
}

/** The kernels of GPUs, then those of CPUs; both with f16 and without. */
export async function halfResults(): Promise<HalfResults[]> {
  const found: HalfResults[] = [];
  for (const software of [false, true])
    for (const without of [[], ["shader-f16"]]) found.push(await halfResult({ software, without }));
  return found;
}
