/**
 * For tests: the builder of every kernel family by name. A family without a builder, or a builder of other parameters,
 * does not compile.
 */
import { attention } from "../src/kernels/products/attention";
import type { AttentionParams } from "../src/kernels/products/attention_params";
import { compact, type CompactParams } from "../src/kernels/index/compact";
import { conv } from "../src/kernels/products/conv";
import type { ConvParams } from "../src/kernels/products/conv_params";
import { crossEntropy, type CrossEntropyParams } from "../src/kernels/rows/cross_entropy";
import { depthwise, type DepthwiseParams } from "../src/kernels/products/depthwise";
import { fused, type FusedParams } from "../src/kernels/elementwise/fused";
import {
  gather,
  type GatherParams,
  join,
  type JoinParams,
  pad,
  type PadParams,
  scatter,
  type ScatterParams,
} from "../src/kernels/index/index_ops";
import { linalg, type LinalgParams } from "../src/kernels/products/linalg";
import { matmul, type MatmulParams } from "../src/kernels/products/matmul_kernel";
import { layerNorm, type LayerNormParams } from "../src/kernels/rows/norm";
import { many, type ManyParams } from "../src/kernels/step/many";
import { adam, type AdamParams, sgd, type SgdParams } from "../src/kernels/step/optimizer";
import { pool, type PoolParams } from "../src/kernels/image/pool";
import { reduce, type ReduceParams } from "../src/kernels/rows/reduce";
import { scan, type ScanParams } from "../src/kernels/rows/scan";
import { search, type SearchParams } from "../src/kernels/index/search";
import { softmax, type SoftmaxParams } from "../src/kernels/rows/softmax";
import { segment, type SegmentStage } from "../src/kernels/index/segment";
import { sort, type SortStage } from "../src/kernels/rows/sort";
import type { Kernel } from "../src/kernels/spec";
import { upsample, type UpsampleParams } from "../src/kernels/image/upsample";

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
