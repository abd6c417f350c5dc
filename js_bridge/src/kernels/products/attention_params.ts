/** What the kernels of attention take: those in tiles (attention.ts) and the direct ones (attention_direct.ts). */
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
  /**
   * Queries, keys and values are read as f16, and blocks of keys and values stay so in workgroup memory; dtype is
   * float16.
   */
  readonly f16?: boolean;
  /** dtype of a mask: bool (true takes part) or a float that is added to the scores. */
  readonly mask?: DType;
}
