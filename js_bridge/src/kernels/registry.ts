/** Every kernel family by name. A family without a builder, or a builder of other parameters, does not compile. */
import { attention, type AttentionParams } from "./products/attention";
import { compact, type CompactParams } from "./index/compact";
import { conv, type ConvParams } from "./products/conv";
import { crossEntropy, type CrossEntropyParams } from "./rows/cross_entropy";
import { depthwise, type DepthwiseParams } from "./products/depthwise";
import { fused, type FusedParams } from "./elementwise/fused";
import {
  gather,
  type GatherParams,
  join,
  type JoinParams,
  pad,
  type PadParams,
  scatter,
  type ScatterParams,
} from "./index/index_ops";
import { linalg, type LinalgParams } from "./products/linalg";
import { matmul, type MatmulParams } from "./products/matmul";
import { layerNorm, type LayerNormParams } from "./rows/norm";
import { many, type ManyParams } from "./step/many";
import { adam, type AdamParams, sgd, type SgdParams } from "./step/optimizer";
import { pool, type PoolParams } from "./image/pool";
import { reduce, type ReduceParams } from "./rows/reduce";
import { scan, type ScanParams } from "./rows/scan";
import { search, type SearchParams } from "./index/search";
import { softmax, type SoftmaxParams } from "./rows/softmax";
import { segment, type SegmentStage } from "./index/segment";
import { sort, type SortStage } from "./rows/sort";
import type { Kernel } from "./spec";
import { upsample, type UpsampleParams } from "./image/upsample";

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
