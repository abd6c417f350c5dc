/** Every kernel family by name. A family without a builder, or a builder of other parameters, does not compile. */
import { attention, type AttentionParams } from "./attention.js";
import { compact, type CompactParams } from "./compact.js";
import { conv, type ConvParams } from "./conv.js";
import { crossEntropy, type CrossEntropyParams } from "./cross_entropy.js";
import { depthwise, type DepthwiseParams } from "./depthwise.js";
import { fused, type FusedParams } from "./fused.js";
import {
  gather,
  type GatherParams,
  join,
  type JoinParams,
  pad,
  type PadParams,
  scatter,
  type ScatterParams,
} from "./index_ops.js";
import { linalg, type LinalgParams } from "./linalg.js";
import { matmul, type MatmulParams } from "./matmul.js";
import { layerNorm, type LayerNormParams } from "./norm.js";
import { many, type ManyParams } from "./many.js";
import { adam, type AdamParams, sgd, type SgdParams } from "./optimizer.js";
import { pool, type PoolParams } from "./pool.js";
import { reduce, type ReduceParams } from "./reduce.js";
import { scan, type ScanParams } from "./scan.js";
import { search, type SearchParams } from "./search.js";
import { softmax, type SoftmaxParams } from "./softmax.js";
import { segment, type SegmentStage } from "./segment.js";
import { sort, type SortStage } from "./sort.js";
import type { Kernel } from "./spec.js";
import { upsample, type UpsampleParams } from "./upsample.js";

export interface Families {
  fused: FusedParams;
  reduce: ReduceParams;
  softmax: SoftmaxParams;
  layerNorm: LayerNormParams;
  matmul: MatmulParams;
  conv: ConvParams;
  depthwise: DepthwiseParams;
  pool: PoolParams;
  gather: GatherParams;
  scatter: ScatterParams;
  join: JoinParams;
  pad: PadParams;
  scan: ScanParams;
  sort: SortStage;
  search: SearchParams;
  compact: CompactParams;
  upsample: UpsampleParams;
  segment: SegmentStage;
  crossEntropy: CrossEntropyParams;
  attention: AttentionParams;
  sgd: SgdParams;
  adam: AdamParams;
  many: ManyParams;
  linalg: LinalgParams;
}
export type Family = keyof Families;

export const FAMILIES: { readonly [F in Family]: (params: Families[F]) => Kernel } = {
  fused,
  reduce,
  softmax,
  layerNorm,
  matmul,
  conv,
  depthwise,
  pool,
  gather,
  scatter,
  join,
  pad,
  scan,
  sort,
  search,
  compact,
  upsample,
  segment,
  crossEntropy,
  attention,
  sgd,
  adam,
  many,
  linalg,
};

const built = new Map<string, Kernel>();

/** The kernel of a key "family:{parameters as JSON}"; null for a key of no family. Builders refuse what they cannot do by throwing. */
export function resolveKernel(key: string): Kernel | null {
  const known = built.get(key);
  if (known) return known;
  const at = key.indexOf(":");
  const family = key.slice(0, at);
  if (!Object.hasOwn(FAMILIES, family)) return null;
  const build = FAMILIES[family as Family] as (params: unknown) => Kernel;
  const kernel = build(JSON.parse(key.slice(at + 1)));
  built.set(key, kernel);
  return kernel;
}

/** What the runtime compiles: the text, one letter a binding (r or w), uniform words with their padding. */
export function kernelSource(key: string): { wgsl: string; access: string; uniformWords: number } | null {
  const k = resolveKernel(key);
  if (!k) return null;
  return {
    wgsl: k.wgsl,
    access: k.bindings.map((b) => (b.access === "read" ? "r" : "w")).join(""),
    uniformWords: k.uniforms.length ? Math.ceil(k.uniforms.length / 4) * 4 : 0,
  };
}
