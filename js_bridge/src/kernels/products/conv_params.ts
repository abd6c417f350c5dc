/** What the kernels of convolution take: those in tiles (conv.ts) and the direct ones (conv_direct.ts). */
import type { After } from "../elementwise/epilogue";
import type { Inline } from "../elementwise/prologue";
import type { Window } from "../image/window";
import type { DType } from "../spec";
import type { TileName } from "./gemm";

/** The buffers of each pass: the operands of its product, and the result. */
export const BUFFERS = {
  forward: ["x", "w", "y"],
  input: ["gy", "w", "gx"],
  weight: ["gy", "x", "gw"],
} as const;

export interface ConvParams extends Window {
  readonly pass: "forward" | "input" | "weight";
  readonly dtype: DType;
  readonly tile: TileName;
  /** float16 operands are read as f16, other than those that are computed; not with the tile "direct". */
  readonly f16?: boolean;
  /** What the operands are computed from, place by place; not with the tile "direct". */
  readonly first?: Inline;
  readonly second?: Inline;
  readonly bias?: boolean;
  /** What is computed of the result, which is not stored itself. */
  readonly after?: After;
  readonly split?: boolean;
  /** Channels an invocation computes, of the tile "direct". */
  readonly rows?: number;
}
