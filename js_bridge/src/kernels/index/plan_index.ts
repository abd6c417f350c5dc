/** Plans of compaction and of scatters. */
import { compact, type CompactParams, PIECE, planCount } from "./compact";
import { scatter } from "./index_ops";
import { bindingBuffers, named, NONE, singleKernel, type Plan } from "../plan_parts";
import { planSegment, segment, type SegmentParams, segmentScratch } from "./segment";
import { DTYPES, value } from "../spec";

export function compactPlan(params: CompactParams): Plan {
  const kernel = compact(params);
  if (params.op !== "count") return singleKernel("compact", kernel);
  return {
    family: "compact",
    buffers: bindingBuffers(kernel.bindings),
    words: kernel.uniforms,
    free: NONE, // the scan has an xo of its own
    steps: (values) => {
      const bytes = Math.ceil(value(values, "n") / PIECE) * 4;
      return {
        steps: value(values, "n") === 0 ? [] : planCount(params, values),
        scratch: { counts: bytes, part: bytes, sums: bytes },
      };
    },
  };
}

/** Scatter by atomics; in order (segment.ts) if the caller asks for it, or if only that is exact. */
export function scatterPlan({ ordered, ...params }: SegmentParams & { ordered?: boolean }): Plan {
  const { dtype, mode, scalar, wide, fresh } = params;
  const long = DTYPES[dtype].compute === "i64" && mode !== "set" && mode !== "add";
  if (!ordered && !wide && !fresh && !long) return singleKernel("scatter", scatter(params));
  const join = segment({ ...params, stage: "join" });
  return {
    family: "scatter",
    buffers: named([...(scalar ? [] : ["src"]), ...params.indices.map((_, j) => `idx${j}`)], ["dst", "status"]),
    words: join.uniforms,
    free: new Set(join.uniforms.map((w) => w.name).filter((w) => w !== "n" && w !== "cols")),
    steps: (values) => ({ steps: planSegment(params, values), scratch: segmentScratch(values) }),
  };
}
