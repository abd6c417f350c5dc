/**
 * Reductions over any dims of any strides, of an expression graph's values (so sums of products, losses and
 * matrix-vector products are reductions too), several results at once.
 *
 * `lanes` invocations work on one row. Each adds blocks of 32 elements before it adds the blocks together, then the
 * lanes join as a tree: the error grows with the logarithm of the row, as in pairwise summation, and does not depend on
 * timing. With subgroups (subgroup.ts) lanes join in those instead of a tree of barriers, and a row has a workgroup of
 * its own. Rows too long for one workgroup take two kernels: "partial" reduces chunks to states, "combine" joins the
 * states.
 */
import { accessors, castTo, convert, input, outForm, output } from "../../wgsl/access";
import { buildModule } from "../../wgsl/module";
import { type EpilogueGraph, epilogue } from "../elementwise/epilogue";
import { type Graph, type Node, nodeDtype, scalarWords, statements } from "../elementwise/expression";
import { type ReduceOp, type Reduction, reduction } from "./reduce_ops";
import {
  type Binding,
  type Compute,
  computeOf,
  type DType,
  type Kernel,
  kernelKey,
  linearGrid,
  type Step,
  type UniformWord,
  uniform,
  type Values,
  value,
  WGSL_TYPE,
  WORKGROUP,
  range,
} from "../spec";
import { exchange, inSubgroups, SEAT, subgroupGlobals, subgroupHead, subgroupJoin } from "./subgroup";

export interface ReduceParams {
  readonly stage: "full" | "partial" | "combine";
  readonly lanes: number;
  /** Neighbours in a workgroup are rows, not elements of one row: for rows that are side by side in memory. */
  readonly across?: boolean;
  /**
   * Neighbours in a workgroup are lanes of one row, which take its elements in turn: for adapters with slow barriers.
   */
  readonly woven?: boolean;
  /** Four elements at a time, so that a lane waits for four reads together. Their order is the same. */
  readonly unrolled?: boolean;
  /** Join lanes through subgroups; the device must have them. Not with `across`. */
  readonly subgroups?: boolean;
  /** Numbers of kept dims and of reduced dims. */
  readonly kept: number;
  readonly reduced: number;
  readonly inputs: readonly { readonly dtype: DType }[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly { readonly op: ReduceOp; readonly node: number; readonly dtype: DType }[];
  /**
   * An epilogue on the only result, a float; its outputs are stored in place of it. Its inputs and scalars are numbered
   * after the kernel's own.
   */
  readonly after?: EpilogueGraph;
}

const STATE_DTYPE: { readonly [C in Compute]: DType } = { f32: "float32", i32: "int32", i64: "int64" };

/**
 * Uniforms: rows, n, [chunks, chunk]; k0.. sizes of kept dims, r0.. of reduced dims; for each input i<i>o, its strides
 * i<i>k0.. and i<i>r0..; q<k>o; scalars; [correction]; [eps]. Results lie at q<k>o + row, row-major over the kept dims.
 * With an epilogue yo stands for q0o, and its words come last.
 */
export function reduce(params: ReduceParams): Kernel {
  const { stage, lanes, across, woven, subgroups = false, kept, reduced, inputs, outputs } = params;
  const graph: Graph = params;
  const reds = outputs.map((o) => reduction(o.op, computeOf(nodeDtype(graph, o.node)), nodeDtype(graph, o.node)));
  const states = reds.flatMap((r, k) => r.vars.map((v, j) => ({ ...v, name: `s${k}_${j}` })));
  const combine = stage === "combine";
  const follows =
    params.after && stage !== "partial"
      ? epilogue(params.after, outputs[0]!.dtype, {
          input: inputs.length,
          scalar: params.nodes.filter((n) => "scalar" in n).length,
        })
      : undefined;

  const bindings: Binding[] = combine
    ? states.map((s) => input(`in_${s.name}`, STATE_DTYPE[s.type]))
    : inputs.map((x, i) => input(`in${i}`, x.dtype));
  if (stage === "partial") bindings.push(...states.map((s) => output(`out_${s.name}`, STATE_DTYPE[s.type])));
  else bindings.push(...(follows?.bindings ?? outputs.map((o, k) => output(`out${k}`, o.dtype))));

  const uniforms: UniformWord[] = uniform("u32", "rows", "n", ...(stage === "full" ? [] : ["chunks", "chunk"]));
  if (!combine) {
    uniforms.push(...uniform("u32", ...range(kept).map((d) => `k${d}`), ...range(reduced).map((d) => `r${d}`)));
    inputs.forEach((_, i) =>
      uniforms.push(
        ...uniform(
          "i32",
          `i${i}o`,
          ...range(kept).map((d) => `i${i}k${d}`),
          ...range(reduced).map((d) => `i${i}r${d}`),
        ),
      ),
    );
    uniforms.push(...scalarWords(graph));
  }
  if (stage !== "partial") {
    uniforms.push(...uniform("i32", ...outputs.map((_, k) => (follows ? "yo" : `q${k}o`))));
    if (outputs.some((o) => o.op === "var" || o.op === "std")) uniforms.push(...uniform("f32", "correction"));
    if (outputs.some((o) => o.op === "rstd")) uniforms.push(...uniform("f32", "eps"));
    uniforms.push(...(follows?.uniforms ?? []));
  }

  const field =
    (v: string) =>
    (k: number): string[] =>
      reds[k]!.vars.map((_, j) => `${v}.s${k}_${j}`);
  const assemble = (parts: string[][]): string => `State(${parts.flat().join(", ")})`;
  const coords = (name: string, from: string, count: number): string => {
    let text = `  var ${name}_rest = ${from};\n`;
    for (let d = count - 1; d > 0; d--)
      text += `  let ${name}${d} = i32(${name}_rest % p.${name}${d}); ${name}_rest = ${name}_rest / p.${name}${d};\n`;
    return count ? `${text}  let ${name}0 = i32(${name}_rest);\n` : "";
  };
  let globals = `struct State { ${states.map((s) => `${s.name}: ${WGSL_TYPE[s.type]}`).join(", ")} }
fn start() -> State { return ${assemble(reds.map((r) => r.vars.map((v) => v.init)))}; }
fn merge(a: State, b: State) -> State { return ${assemble(reds.map((r, k) => r.merge(field("a")(k), field("b")(k))))}; }
`;
  if (combine) {
    globals += states.map((s) => accessors(`in_${s.name}`, STATE_DTYPE[s.type], "elem", false)).join("\n");
    globals += `\nfn enter(s: State, base: i32, r: u32) -> State {
      let at = base + i32(r); return merge(s, State(${states.map((s) => `ld_in_${s.name}(at)`).join(", ")}));
    }\n`;
  } else {
    const bases = inputs.map((_, i) => `b${i}: i32`);
    globals += inputs.map((x, i) => accessors(`in${i}`, x.dtype, "elem", false)).join("\n");
    const load = inputs.map(
      (_, i) => `ld_in${i}(${[`b${i}`, ...range(reduced).map((d) => `r${d} * p.i${i}r${d}`)].join(" + ")})`,
    );
    globals += `\nfn enter(${["s: State", ...bases, "r: u32"].join(", ")}) -> State {
${coords("r", "r", reduced)}${statements(graph, load, [], "i32(r)", "p.n")}
  return ${assemble(reds.map((r, k) => r.step(field("s")(k), `t${outputs[k]!.node}`, "i32(r)")))};
}\n`;
  }
  if (stage === "partial")
    globals += states.map((s) => accessors(`out_${s.name}`, STATE_DTYPE[s.type], "elem", true)).join("\n");
  else
    globals +=
      follows?.globals ?? outputs.map((o, k) => accessors(`out${k}`, o.dtype, outForm(o.dtype), true)).join("\n");
  const workgroup = subgroups ? lanes : WORKGROUP;
  if (subgroups)
    globals += `\n${subgroupGlobals(lanes)}\n${subgroupJoin({
      name: "join_lanes",
      type: "State",
      lanes,
      start: "start()",
      merge: (a, b) => `merge(${a}, ${b})`,
      inside: insideSubgroup(reds),
      first: true,
    })}`;
  else if (lanes > 1) globals += `\nvar<workgroup> shared_state: array<State, ${WORKGROUP}>;`;

  const bases = combine
    ? "row * i32(p.chunks)"
    : inputs.map((_, i) => [`p.i${i}o`, ...range(kept).map((d) => `k${d} * p.i${i}k${d}`)].join(" + ")).join(", ");
  // Idle lanes run with an empty range, because all lanes of a workgroup must reach the barriers.
  const partial = stage === "partial";
  // the states of a row's chunks are neighbours in memory, however items are numbered
  const [row, which] = across ? ["% p.rows", "/ p.rows"] : ["/ p.chunks", "% p.chunks"];
  const inRows = `  let item = gid / ${lanes}u;
  let part = lane % ${lanes}u;`;
  const besideRows = `  let item = group * ${WORKGROUP / lanes}u + lane % ${WORKGROUP / lanes}u;
  let part = lane / ${WORKGROUP / lanes}u;`;
  const wholeRow = `  let first = 0u;
  let end = select(0u, ${combine ? "p.chunks" : "p.n"}, live);`;
  const chunkOfRow = `  let which = item ${which};
  let first = which${woven ? "" : " * p.chunk"};
  let end = select(0u, ${woven ? "p.n" : "min(first + p.chunk, p.n)"}, live);`;
  const joinByTree = `  shared_state[lane] = total;
  for (var s = ${lanes / 2}u; s > 0u; s = s >> 1u) {
    workgroupBarrier();
    if (part < s) {
      shared_state[lane] = merge(shared_state[lane], shared_state[lane + s${across ? ` * ${WORKGROUP / lanes}u` : ""}]);
    }
  }
  total = shared_state[lane];`;
  const joinLanes = (): string => {
    if (subgroups) return `${subgroupHead(lanes)}\n  total = join_lanes(${SEAT}, total);`;
    return lanes > 1 ? joinByTree : "";
  };
  const putState = `    let slot = row * i32(p.chunks) + i32(which);
${states.map((s) => `    st_out_${s.name}(slot, total.${s.name});`).join("\n")}`;
  const putResult = (o: (typeof outputs)[number], k: number): string => {
    const r = reds[k]!,
      given = nodeDtype(graph, o.node);
    const finished = r.finish(field("total")(k), "p.n");
    const from = r.result === computeOf(given) ? given : STATE_DTYPE[r.result];
    const v = r.result === computeOf(from) ? finished : convert(finished, r.result, computeOf(from));
    const result = castTo(`y${k}`, STATE_DTYPE[computeOf(from)], o.dtype);
    const put = follows ? `finish(row, ${result})` : `st_out${k}(p.q${k}o + row, ${result})`;
    return `    let y${k} = ${v};\n    ${put};`;
  };
  const step = woven ? "p.chunks" : `${lanes}u`;
  const enter = `block = enter(block, ${bases}${bases ? ", " : ""}r); r += ${step};`;
  const fours = params.unrolled
    ? `    for (; j < 32u && r + 3u * ${step} < end; j += 4u) { ${range(4)
        .map(() => enter)
        .join(" ")} }\n`
    : "";
  const main = `${across ? besideRows : inRows}
  let items = p.rows${partial ? " * p.chunks" : ""};
  let live = item < items;
  let row = i32(min(item, items - 1u)${partial ? ` ${row}` : ""});
${partial ? chunkOfRow : wholeRow}
${combine ? "" : coords("k", "u32(row)", kept)}  var total = start();
  var r = first + part;
  while (r < end) {
    var block = start();
    var j = 0u;
${fours}    for (; j < 32u && r < end; j++) { ${enter} }
    total = merge(total, block);
  }
${joinLanes()}
  if (live && part == 0u) {
${partial ? putState : outputs.map(putResult).join("\n")}
  }`;
  const chunksOf = (u: Values): number => (partial ? value(u, "chunks") : 1);
  return {
    key: kernelKey("reduce", params),
    bindings,
    uniforms,
    ...(outputs.some((o) => ["var", "std", "rstd"].includes(o.op)) && { general: true }),
    get wgsl() {
      return buildModule({ bindings, uniforms, globals, main, workgroup, subgroups });
    },
    workgroups: (u) =>
      value(u, "rows") === 0 ? [0, 1, 1] : linearGrid(value(u, "rows") * chunksOf(u) * lanes, workgroup),
  };
}

/** Statements that join a State over a subgroup, by the device's own operations if it has them, else by shuffles. */
function insideSubgroup(reds: readonly Reduction[]): string {
  const names = reds.map((r, k) => r.vars.map((_, j) => `s${k}_${j}`));
  const own = reds.flatMap((r, k) => (r.native ? [`v.s${k}_0 = ${r.native(`v.s${k}_0`)};`] : []));
  const pairs = reds.flatMap((r, k) => {
    if (r.native) return [];
    const [mine, other] = ["v.", "o"].map((t) => names[k]!.map((n) => `${t}${n}`)) as [string[], string[]];
    const fetch = names[k]!.map((n) => `let o${n} = subgroupShuffleXor(v.${n}, m);`);
    return [
      ...fetch,
      ...r.merge(mine, other).map((e, j) => `let n${names[k]![j]} = ${e};`),
      ...names[k]!.map((n) => `v.${n} = n${n};`),
    ];
  });
  return `${own.join(" ")}${pairs.length ? ` ${exchange(pairs.join(" "))}` : ""}`;
}

/** Invocations that fill a GPU, that fill a CPU, and lanes for each of several rows that lie side by side. */
const BUSY = 65536,
  BUSY_SOFTWARE = 512,
  ACROSS = 8;

/**
 * Number of lanes for rows of n elements: as many as get eight elements each; one if the rows alone fill the device. A
 * CPU (software) runs few invocations at once and its barriers are slow: there a row has one lane if there is other
 * work, and no lane has more elements than can be added one by one with a small error.
 */
export function lanesFor(rows: number, n: number, inner: boolean, software = false): number {
  if (software) {
    let lanes = 1;
    while (lanes < WORKGROUP && (lanes * 16384 < n || (rows * lanes < BUSY_SOFTWARE && lanes * 1024 < n))) lanes *= 2;
    return lanes;
  }
  if (n <= 8 || (!inner && rows >= 2048)) return 1;
  let lanes = 2;
  while (lanes < WORKGROUP && lanes * 8 < n) lanes *= 2;
  return lanes;
}

/** Number of lanes of a row, and of chunks into which it is cut. across: rows lie side by side in memory. */
function partsOf(rows: number, n: number, across: boolean, software: boolean): { lanes: number; chunks: number } {
  if (software) {
    const busy = Math.min(Math.ceil(n / 2048), Math.ceil(BUSY_SOFTWARE / Math.max(1, rows)));
    return { lanes: 1, chunks: Math.max(busy, Math.ceil(n / 16384)) };
  }
  if (!across)
    return {
      lanes: lanesFor(rows, n, true),
      chunks: Math.min(Math.ceil(n / 4096), Math.ceil(1024 / Math.max(1, rows))),
    };
  const lanes = rows >= BUSY ? 1 : ACROSS;
  return { lanes, chunks: Math.min(Math.ceil(n / (64 * lanes)), Math.ceil(BUSY / (rows * lanes))) };
}

export interface ReducePlan extends Omit<ReduceParams, "stage" | "lanes"> {
  /** The reduced elements are neighbours in memory. */
  readonly inner: boolean;
  /** The adapter is a CPU (isFallbackAdapter). */
  readonly software?: boolean;
  /** Kernels may use subgroups. */
  readonly subgroups?: boolean;
  /** rows, n and all sizes, strides and offsets. */
  readonly values: Values;
}

/** The kernels of one reduction. Buffers: in<i>, out<k>; scratch part<j> of rows * chunks words (two for int64). */
export function planReduce(plan: ReducePlan): Step[] {
  const { inner, software = false, subgroups = false, values, ...params } = plan;
  const rows = value(values, "rows"),
    n = value(values, "n");
  const ins = plan.inputs.map((_, i) => `in${i}`);
  const outs = plan.after
    ? [...plan.after.inputs.map((_, i) => `in${ins.length + i}`), ...plan.after.outputs.map((_, k) => `out${k}`)]
    : plan.outputs.map((_, k) => `out${k}`);
  // rows side by side: neighbours in a workgroup read neighbours in memory, and long rows are cut into chunks until
  // these fill the device
  const across = !inner && rows >= 16 && n > 8;
  const { lanes, chunks } = partsOf(rows, n, across, software);
  const way = {
    ...(across && { across }),
    ...(!across && software && chunks > 1 && { woven: true }),
    ...(!software && { unrolled: true }),
  };
  if (chunks <= 1)
    return [
      {
        kernel: reduce({ ...params, ...way, stage: "full", ...inSubgroups(lanes, subgroups && !across) }),
        values,
        buffers: [...ins, ...outs],
      },
    ];
  const chunk = Math.ceil(n / chunks);
  const v = { ...values, chunks: Math.ceil(n / chunk), chunk };
  const partial = reduce({
    ...params,
    ...way,
    stage: "partial",
    ...inSubgroups(across || software ? lanes : WORKGROUP, subgroups && !across),
  });
  const parts = partial.bindings.slice(ins.length).map((_, j) => `part${j}`);
  const combine = reduce({
    ...params,
    stage: "combine",
    ...inSubgroups(lanesFor(rows, v.chunks, true, software), subgroups),
  });
  return [
    { kernel: partial, values: v, buffers: [...ins, ...parts] },
    { kernel: combine, values: v, buffers: [...parts, ...outs] },
  ];
}
