/**
 * Epilogues: element-wise work on the result of a product, convolution or reduction, in the same kernel. An epilogue is
 * a graph over that result and other tensors of its shape. The kernel stores the graph's outputs in place of the
 * result.
 */
import { accessors, castTo, input, narrow, outForm, output } from "../../wgsl/access";
import { type Graph, type Node, nodeDtype, scalarWords, statements, usesCoords } from "./expression";
import { fusedAnywhere, type Layout } from "./fused";
import { type Binding, type DType, type Step, type UniformWord, uniform, type Values, value } from "../spec";

/** A graph over the elements of a dense result, which it names by the node {product}. Its outputs are dense too. */
export interface EpilogueGraph {
  readonly ndim: number;
  readonly inputs: readonly { readonly dtype: DType; readonly layout: Layout }[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly { readonly node: number; readonly dtype: DType }[];
}

export interface Epilogue {
  /** in0.., out0..; they replace the product's own output. */
  readonly bindings: readonly Binding[];
  /** [size0.. if an input is strided or a coordinate is used]; i<k>o [i<k>s0..]; q<k>o; scalars. */
  readonly uniforms: readonly UniformWord[];
  /** fn finish(i: i32, v: f32): stores the outputs for the result v of element i, in row-major order. */
  readonly globals: string;
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const placed = (a: EpilogueGraph): boolean => usesCoords(a) || a.inputs.some((x) => x.layout === "s");

/** `first`: numbers of the first input and scalar, if the kernel has inputs and scalars of its own before them. */
export function epilogue(after: EpilogueGraph, dtype: DType, first = { input: 0, scalar: 0 }): Epilogue {
  const { ndim, inputs, outputs } = after,
    dims = range(ndim);
  const graph: Graph = {
    inputs,
    nodes: after.nodes.map((n) => ("scalar" in n ? { ...n, scalar: n.scalar + first.scalar } : n)),
  };
  const numbered = inputs.map((x, k) => ({ ...x, k: k + first.input }));
  const strides = (tag: string, layout: Layout): UniformWord[] =>
    uniform("i32", `${tag}o`, ...(layout === "s" ? dims.map((d) => `${tag}s${d}`) : []));
  const at = (k: number, layout: Layout): string =>
    layout === "c" ? `p.i${k}o + i` : [`p.i${k}o`, ...dims.map((d) => `k${d} * p.i${k}s${d}`)].join(" + ");
  const coord = (d: number): string =>
    d === 0 ? "let k0 = i32(rest);" : `let k${d} = i32(rest % p.size${d}); rest = rest / p.size${d};`;
  const unravel = placed(after) ? `var rest = u32(i); ${[...dims].reverse().map(coord).join(" ")}` : "";
  const readers = [
    ...numbered.map(({ k, dtype: d }) => accessors(`in${k}`, d, "elem", false)),
    ...outputs.map((o, k) => accessors(`out${k}`, o.dtype, outForm(o.dtype), true)),
  ];
  const results = outputs.map(
    (o, k) => `st_out${k}(p.q${k}o + i, ${castTo(`t${o.node}`, nodeDtype(graph, o.node), o.dtype)});`,
  );
  return {
    bindings: [
      ...numbered.map(({ k, dtype: d }) => input(`in${k}`, d)),
      ...outputs.map((o, k) => output(`out${k}`, o.dtype)),
    ],
    uniforms: [
      ...uniform("u32", ...(placed(after) ? dims.map((d) => `size${d}`) : [])),
      ...numbered.flatMap(({ k, layout }) => strides(`i${k}`, layout)),
      ...uniform("i32", ...outputs.map((_, k) => `q${k}o`)),
      ...scalarWords(graph),
    ],
    globals: `${readers.join("\n")}
fn finish(i: i32, v: f32) {
  let product = ${narrow("v", dtype)};
  ${unravel}
  ${numbered.map(({ k, layout }, i) => `let x${i} = ld_in${k}(${at(k, layout)});`).join(" ")}
${statements(
  graph,
  inputs.map((_, k) => `x${k}`),
  dims.map((d) => `k${d}`),
  "i",
  "u32(p.q0o)",
)}
  ${results.join(" ")}
}`,
  };
}

/**
 * Appends an epilogue's nodes to those of a kernel (`first`), whose node `product` is the result. The epilogue's inputs
 * and scalars get numbers from `inputs` and `scalars` on.
 */
export function appendEpilogue(
  after: EpilogueGraph,
  first: readonly Node[],
  product: number,
  inputs: number,
  scalars: number,
): { nodes: Node[]; place(node: number): number } {
  const places = new Map<number, number>();
  const nodes = [...first];
  after.nodes.forEach((n, k) => {
    if ("product" in n) {
      places.set(k, product);
      return;
    }
    places.set(k, nodes.length);
    if ("in" in n) nodes.push({ in: n.in + inputs });
    else if ("scalar" in n) nodes.push({ ...n, scalar: n.scalar + scalars });
    else if ("op" in n) nodes.push({ ...n, args: n.args.map((a) => places.get(a)!) });
    else nodes.push(n);
  });
  return { nodes, place: (k) => places.get(k)! };
}

/** An epilogue's words under the names they have after appendEpilogue(). */
export function epilogueWords(
  after: EpilogueGraph,
  v: Values,
  inputs: number,
  scalars: number,
): Record<string, number> {
  const words: Record<string, number> = {};
  for (const { name } of epilogue(after, "float32").uniforms) {
    const [, tag, number, rest] = /^([ic])(\d+)(.*)$/.exec(name) ?? [];
    const from = tag === "i" ? inputs : scalars;
    words[tag ? `${tag}${Number(number) + from}${rest}` : name] = value(v, name);
  }
  return words;
}

/** The epilogue as a separate kernel, over a dense result in the buffer "product". */
export function epilogueStep(after: EpilogueGraph, dtype: DType, n: number, v: Values): Step {
  const { nodes, place } = appendEpilogue(after, [{ in: 0 }], 0, 1, 0);
  const kernel = fusedAnywhere(
    {
      ndim: after.ndim,
      inputs: [{ dtype, layout: "c" }, ...after.inputs],
      nodes,
      outputs: after.outputs.map((o) => ({ node: place(o.node), dtype: o.dtype, layout: "c" })),
    },
    { n, i0o: 0, ...epilogueWords(after, v, 1, 0) },
  );
  return {
    ...kernel,
    buffers: ["product", ...after.inputs.map((_, k) => `in${k}`), ...after.outputs.map((_, k) => `out${k}`)],
  };
}
