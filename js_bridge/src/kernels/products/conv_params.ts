/** Parameters of the convolution kernels, tiled (conv.ts) and direct (conv_direct.ts). */
import type { EpilogueGraph } from "../elementwise/epilogue";
import type { InlinePrologue } from "../elementwise/prologue";
import type { Window } from "../image/window";
import type { DType } from "../spec";
import type { TileName } from "./gemm";

/** Buffers of each pass: the product's two operands and its result. */
export const BUFFERS = {
  forward: ["x", "w", "y"],
  input: ["gy", "w", "gx"],
  weight: ["gy", "x", "gw"],
} as const;

export interface ConvParams extends Window {
  readonly pass: "forward" | "input" | "weight";
  readonly dtype: DType;
  readonly tile: TileName;
  /** float16 operands without a prologue are read as f16. Not with the tile "direct". */
  readonly f16?: boolean;
  /** Prologues of the operands. Not with the tile "direct". */
  readonly first?: InlinePrologue;
  readonly second?: InlinePrologue;
  readonly bias?: boolean;
  /** Epilogue; its outputs are stored in place of the result. */
  readonly after?: EpilogueGraph;
  /** Writes partial sums in float32, without bias or epilogue. */
  readonly split?: boolean;
  /** Tile "direct": number of channels that an invocation computes. */
  readonly rows?: number;
}
