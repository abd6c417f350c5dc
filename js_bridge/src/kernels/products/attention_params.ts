/** Parameters of the attention kernels, tiled (attention.ts) and direct (attention_direct.ts). */
import type { DType } from "../spec";

export interface AttentionParams {
  readonly dtype: DType;
  /** Elements of a query and key, and of a value. */
  readonly dim: number;
  readonly valueDim: number;
  /** Query i sees the keys 0..i. */
  readonly causal?: boolean;
  /** Without workgroup memory, see attention_direct.ts; heads of at most DIRECT_HEADS. */
  readonly direct?: boolean;
  /** dtype is float16: queries, keys and values are read as f16, and keys and values stay f16 in workgroup memory. */
  readonly f16?: boolean;
  /** dtype of a mask: bool (true: the key counts), or a float that is added to the scores. */
  readonly mask?: DType;
}
