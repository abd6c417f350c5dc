/**
 * What may follow a product, a convolution or a reduction before it is stored: a graph of element-wise operations over
 * the result and other tensors of its shape, whose outputs are stored instead.
 */
import { accessors, castTo, input, narrow, outForm, output } from "../../wgsl/access";
import { type Graph, type Node, nodeDtype, scalarWords, statements, usesCoords } from "./expression";
import { fusedAnywhere, type Layout } from "./fused";
import { type Binding, type DType, type Step, type UniformWord, uniform, type Values, value } from "../spec";

/** A graph over the elements of a dense result, which is the node {product}; the outputs are dense too. */
export interface After {
  readonly ndim: number;
  readonly inputs: readonly { readonly dtype: DType; readonly layout: Layout }[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly { readonly node: number; readonly dtype: DType }[];
}

export interface Epilogue {
  /** in0.., out0..; they take the place of the product's own output. */
  readonly bindings: readonly Binding[];
  /** size0.. where something is strided or asks for coordinates; i<k>o [i<k>s0..]; q<k>o; scalars. */
  readonly uniforms: readonly UniformWord[];
  /** fn finish(i: i32, v: f32), i being the place in row-major order. */
  readonly globals: string;
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const placed = (a: After): boolean => usesCoords(a) || a.inputs.some((x) => x.layout === "s");

/** first: the number of the first input, and of the first scalar, where the kernel has others of these names. */
export function epilogue(after: After, dtype: DType, first = { input: 0, scalar: 0 }): Epilogue {
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
)}
  ${results.join(" ")}
}`,
  };
}

/**
 * The nodes of an epilogue over other nodes: `product` is where the result comes from, inputs and scalars are counted
 * on.
 */
export function following(
  after: After,
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

/** An epilogue's words for a kernel in which its inputs and scalars have other numbers. */
export function followingWords(after: After, v: Values, inputs: number, scalars: number): Record<string, number> {
  const words: Record<string, number> = {};
  for (const { name } of epilogue(after, "float32").uniforms) {
    const [, tag, number, rest] = /^([ic])(\d+)(.*)$/.exec(name) ?? [];
    const from = tag === "i" ? inputs : scalars;
    words[tag ? `${tag}${Number(number) + from}${rest}` : name] = value(v, name);
  }
  return words;
}

/** The epilogue as a kernel of its own, over a dense result in the buffer "product". */
export function separate(after: After, dtype: DType, n: number, v: Values): Step {
  const { nodes, place } = following(after, [{ in: 0 }], 0, 1, 0);
  const kernel = fusedAnywhere(
    {
      ndim: after.ndim,
      inputs: [{ dtype, layout: "c" }, ...after.inputs],
      nodes,
      outputs: after.outputs.map((o) => ({ node: place(o.node), dtype: o.dtype, layout: "c" })),
    },
    { n, i0o: 0, ...followingWords(after, v, 1, 0) },
  );
  return {
    ...kernel,
    buffers: ["product", ...after.inputs.map((_, k) => `in${k}`), ...after.outputs.map((_, k) => `out${k}`)],
  };
}
