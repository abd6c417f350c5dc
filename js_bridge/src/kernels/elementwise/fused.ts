/**
 * Element-wise kernels: one expression graph with any number of inputs and outputs of one shape. A single operation, a
 * cast, a fill, a strided copy (cat, flip, slices), arange, eye, tril and where are all such graphs.
 *
 * There are two forms. If everything is contiguous ("c") and no coordinate is used, an invocation computes four
 * elements by vector accesses; offsets must be multiples of four then. Otherwise an invocation finds its coordinates
 * from the sizes, and each strided ("s") operand has a stride for each dim (0 broadcasts, a negative one flips). A
 * packed dtype is written by whole words in a "c" output, by atomic bit operations in an "s" output.
 */
import { accessors, bindingType, castTo, type Form, loadVec, storeVec } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { type Graph, type Node, nodeDtype, scalarWords, statements, usesCoords } from "./expression";
import {
  type Binding,
  computeOf,
  type DType,
  DTYPES,
  type Kernel,
  linearGrid,
  perWord,
  type UniformWord,
  uniform,
  type Values,
  value,
  WGSL_TYPE,
} from "../spec";

export type Layout = "c" | "s";

export interface FusedParams {
  /** Number of coalesced dims; 0 if nothing is strided. */
  readonly ndim: number;
  /** alias: the output that shares this input's buffer (in place); the input is read through that binding. */
  readonly inputs: readonly { readonly dtype: DType; readonly layout: Layout; readonly alias?: number }[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly { readonly node: number; readonly dtype: DType; readonly layout: Layout }[];
  /** n is a multiple of four and everything is contiguous: no invocation tests how many of its four elements exist. */
  readonly whole?: boolean;
}

const dims = (n: number): number[] => Array.from({ length: n }, (_, d) => d);

/** Whether the kernel computes four elements at a time by vector accesses. */
const inFours = (p: FusedParams): boolean =>
  !usesCoords(p) && p.inputs.every((i) => i.layout === "c") && p.outputs.every((o) => o.layout === "c");

/** Names of the offsets that must be multiples of four: of vector accesses, and of outputs written by whole words. */
export function mustBeFours(params: FusedParams): string[] {
  const vec = inFours(params),
    bytes = (dtype: DType): number => DTYPES[dtype].bytes;
  return [
    ...params.inputs.flatMap((x, i) => (vec && bytes(x.dtype) < 8 ? [`i${i}o`] : [])),
    ...params.outputs.flatMap((x, k) => (x.layout === "c" && bytes(x.dtype) < (vec ? 8 : 4) ? [`q${k}o`] : [])),
  ];
}

/**
 * The kernel for tensors with any offset, and its values. If an offset is no multiple of four, tensors become strided.
 */
export function fusedAnywhere(params: FusedParams, values: Values): { kernel: Kernel; values: Values } {
  const fours = mustBeFours(params),
    flat = inFours(params) || params.ndim === 0;
  if (fours.every((name) => value(values, name) % 4 === 0)) return { kernel: fused(params), values };
  const ndim = flat ? 1 : params.ndim;
  const sizes = flat ? [value(values, "n")] : dims(ndim).map((d) => value(values, `size${d}`));
  const extra: Record<string, number> = Object.fromEntries(sizes.map((s, d) => [`size${d}`, s]));
  const strided = <T extends { layout: Layout }>(x: T, tag: string): T => {
    if (x.layout === "s" && params.ndim === 0) extra[`${tag}s0`] = 0;
    if (x.layout === "s" || !(inFours(params) || fours.includes(`${tag}o`))) return x;
    for (let d = ndim - 1, s = 1; d >= 0; d--) {
      extra[`${tag}s${d}`] = s;
      s *= sizes[d]!;
    }
    return { ...x, layout: "s" };
  };
  const kernel = fused({
    ...params,
    ndim,
    inputs: params.inputs.map((x, i) => strided(x, `i${i}`)),
    outputs: params.outputs.map((x, k) => strided(x, `q${k}`)),
  });
  return { kernel, values: { ...values, ...extra } };
}

/**
 * Uniforms in order: n (elements); size0.. (strided form); for each input i: i<i>o and, if strided, i<i>s0..; for each
 * output k: q<k>o and, if strided, q<k>s0..; scalars c<k>.
 */
export function fused(params: FusedParams): Kernel {
  const { ndim, inputs, outputs } = params;
  const graph: Graph = params;
  const vec = inFours(params);
  const aliased = new Set(inputs.map((i) => i.alias));
  const form = (k: number): Form => {
    const o = outputs[k]!;
    if (vec) return "vec";
    if (perWord(o.dtype) === 1) return "elem";
    return o.layout === "c" && !aliased.has(k) ? "vec" : "atomic";
  };
  const per = outputs.some((_, k) => form(k) === "vec") ? 4 : 1;

  const bindings: Binding[] = [];
  inputs.forEach((x, i) => {
    if (x.alias === undefined)
      bindings.push({ name: `in${i}`, type: bindingType(x.dtype, vec ? "vec" : "elem"), access: "read" });
    else if (outputs[x.alias]?.dtype !== x.dtype)
      throw new Error(`input ${i} shares a buffer with an output of another dtype`);
  });
  outputs.forEach((o, k) =>
    bindings.push({ name: `out${k}`, type: bindingType(o.dtype, form(k)), access: "read_write" }),
  );

  const uniforms: UniformWord[] = uniform("u32", "n");
  if (!vec) uniforms.push(...uniform("u32", ...dims(ndim).map((d) => `size${d}`)));
  const place = (tag: string, layout: Layout): void => {
    uniforms.push(...uniform("i32", `${tag}o`, ...(layout === "s" ? dims(ndim).map((d) => `${tag}s${d}`) : [])));
  };
  inputs.forEach((x, i) => place(`i${i}`, x.layout));
  outputs.forEach((o, k) => place(`q${k}`, o.layout));
  uniforms.push(...scalarWords(graph));

  const coords = dims(ndim).map((d) => `k${d}`);
  const args = [
    "i: i32",
    ...coords.map((c) => `${c}: i32`),
    ...inputs.map((x, i) => `x${i}: ${WGSL_TYPE[computeOf(x.dtype)]}`),
  ];
  const result = outputs.length === 1 ? WGSL_TYPE[computeOf(outputs[0]!.dtype)] : "Result";
  const values = outputs.map((o) => castTo(`t${o.node}`, nodeDtype(graph, o.node), o.dtype));
  const struct =
    outputs.length === 1
      ? ""
      : `struct Result { ${outputs.map((o, k) => `r${k}: ${WGSL_TYPE[computeOf(o.dtype)]}`).join(", ")} }\n`;
  const body = `${struct}fn body(${args.join(", ")}) -> ${result} {
${statements(
  graph,
  inputs.map((_, i) => `x${i}`),
  coords,
  "i",
  "p.n",
)}
  return ${outputs.length === 1 ? values[0] : `Result(${values.join(", ")})`};
}`;
  const part = (j: number, k: number): string => (outputs.length === 1 ? `r${j}` : `r${j}.r${k}`);
  const nameOf = (i: number): string => (inputs[i]!.alias === undefined ? `in${i}` : `out${inputs[i]!.alias}`);

  let globals = body;
  let main: string;
  if (vec) {
    const loads = inputs.map((x, i) => loadVec(nameOf(i), x.dtype, `p.i${i}o + i`, `v${i}`));
    const zeros = coords.map(() => "0");
    main = `  let i = i32(gid) * 4;
  if (gid * 4u >= p.n) { return; }
  ${params.whole ? "" : "let left = i32(p.n) - i;"}
  ${loads.map((l) => l.pre).join("\n  ")}
${dims(4)
  .map((j) => `  let r${j} = body(${[`i + ${j}`, ...zeros, ...loads.map((l) => l.get(j))].join(", ")});`)
  .join("\n")}
${outputs
  .map(
    (o, k) =>
      `  ${storeVec(
        `out${k}`,
        o.dtype,
        `p.q${k}o + i`,
        dims(4).map((j) => part(j, k)),
        params.whole ? undefined : "left",
      )}`,
  )
  .join("\n")}`;
  } else {
    const at = (tag: string, layout: Layout, i: string): string =>
      layout === "c"
        ? `p.${tag}o + ${i}`
        : [`p.${tag}o`, ...dims(ndim).map((d) => `k${d} * p.${tag}s${d}`)].join(" + ");
    globals += inputs
      .map((x, i) => (x.alias === undefined ? `\n${accessors(`in${i}`, x.dtype, "elem", false)}` : ""))
      .join("");
    globals += outputs
      .map((o, k) => (form(k) === "vec" ? "" : `\n${accessors(`out${k}`, o.dtype, form(k), true)}`))
      .join("");
    const loads = inputs.map((x, j) => `ld_${nameOf(j)}(${at(`i${j}`, x.layout, "i")})`);
    // Beyond the end an invocation repeats the last element, so reads stay in range. It stores nothing for it.
    globals += `\nfn at(i: i32) -> ${result} {
  var rest = u32(i);
${dims(ndim)
  .reverse()
  .map((d) => (d === 0 ? "  let k0 = i32(rest);" : `  let k${d} = i32(rest % p.size${d}); rest = rest / p.size${d};`))
  .join("\n")}
  return body(${["i", ...coords, ...loads].join(", ")});
}`;
    const scalarStore = (o: { layout: Layout }, k: number, j: number): string => {
      if (o.layout === "c") return `    st_out${k}(p.q${k}o + i + ${j}, ${part(j, k)});`;
      return `    { var rest = u32(i + ${j});
${dims(ndim)
  .reverse()
  .map((d) =>
    d === 0 ? "    let k0 = i32(rest);" : `    let k${d} = i32(rest % p.size${d}); rest = rest / p.size${d};`,
  )
  .join("\n")}
    st_out${k}(${at(`q${k}`, "s", "i")}, ${part(j, k)}); }`;
    };
    main = `  let i = i32(gid) * ${per};
  if (i < 0 || u32(i) >= p.n) { return; }
  let left = i32(p.n) - i;
${dims(per)
  .map((j) => `  let r${j} = at(${j === 0 ? "i" : `min(i + ${j}, i32(p.n) - 1)`});`)
  .join("\n")}
${outputs
  .map((o, k) => {
    if (form(k) !== "vec")
      return dims(per)
        .map((j) => `  if (left > ${j}) {\n${scalarStore(o, k, j)}\n  }`)
        .join("\n");
    return `  ${storeVec(
      `out${k}`,
      o.dtype,
      `p.q${k}o + i`,
      dims(4).map((j) => part(j, k)),
      "left",
    )}`;
  })
  .join("\n")}`;
  }
  return makeKernel("fused", params, { bindings, uniforms, globals, main }, (u) =>
    linearGrid(Math.ceil(value(u, "n") / per)),
  );
}
