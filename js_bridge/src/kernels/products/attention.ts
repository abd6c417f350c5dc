/**
 * scaled_dot_product_attention without the matrix of scores in memory. A workgroup takes 16 queries of one head and
 * walks the keys in blocks, with a running maximum and sum (online softmax). 16 lanes share a query: each computes the
 * scores of some keys, then each sums four columns of the weighted values. The kernel stores the log of the sum for the
 * gradient, which the caller composes from products. A query that may see no key gives 0.
 */
import { attentionDirect, isMinusInf } from "./attention_direct";
import type { AttentionParams } from "./attention_params";
import { accessors, castTo, input, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  computeOf,
  type Kernel,
  linearGrid,
  uniform,
  type UniformWord,
  UnsupportedKernelError,
  value,
  range,
} from "../spec";

const QUERIES = 16,
  LANES = 16,
  MEMORY = 16384;

/**
 * Uniforms: B, H, L (queries), S (keys), group (query heads per key head), scale f32; qo qb qh ql, ko kb kh ks, vo vb
 * vh vs, [mo mb mh ml ms], yo yb yh yl, lseo. Elements of one query, key, value and result are neighbours. Buffers: q,
 * k, v, [m], y, lse.
 */
export function attention(params: AttentionParams): Kernel {
  const { dtype, dim, valueDim, causal, f16, mask } = params;
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("attention", dtype);
  if (dim > 128 || valueDim > 128)
    throw new UnsupportedKernelError(
      "attention",
      dtype,
      `has no WebGPU kernel for heads of ${Math.max(dim, valueDim)}`,
    );
  if (mask !== undefined && mask !== "bool" && computeOf(mask) !== "f32")
    throw new UnsupportedKernelError("attention", mask);
  const d4 = Math.ceil(dim / 4),
    v4 = Math.ceil(valueDim / 4);
  // Lanes read rows side by side, in banks of their own: rows of queries and keys have an odd number of fours, those of
  // weights an odd number of 16 words.
  const row4 = d4 | 1,
    weightRow = (keys: number): number => (keys === 32 ? 48 : 16);
  const blockSize = (keys: number): number => keys * Math.max(row4, v4);
  // f16 leaves room for more keys; the block has the same size as without, so that results are equal
  const bytes = (keys: number): number => (QUERIES * row4 + blockSize(keys)) * 16 + QUERIES * weightRow(keys) * 4;
  const keys = [32, 16].find((k) => bytes(k) <= MEMORY) ?? 8,
    perRow = weightRow(keys);
  // if there are fewer keys than lanes, two lanes share a key and each takes half of its elements
  const share = Math.max(1, LANES / keys),
    part = Math.ceil(d4 / share);
  const bindings = [
    ...["q", "k", "v"].map((n) => input(n, dtype, f16 ? "f16" : "elem")),
    ...(mask ? [input("mask", mask)] : []),
    output("y", dtype),
    output("lse", "float32"),
  ];
  const strides = (t: string, row: string): string[] => [`${t}o`, `${t}b`, `${t}h`, `${t}${row}`];
  const uniforms: UniformWord[] = [
    ...uniform("u32", "B", "H", "L", "S", "group"),
    ...uniform("f32", "scale"),
    ...uniform(
      "i32",
      ...strides("q", "l"),
      ...strides("k", "s"),
      ...strides("v", "s"),
      ...(mask ? [...strides("m", "l"), "ms"] : []),
      ...strides("y", "l"),
      "lseo",
    ),
  ];
  if (params.direct) return attentionDirect(params, bindings, uniforms);
  const type = f16 ? "f16" : "f32",
    wider = (v: string): string => (f16 ? `vec4<f32>(${v})` : v);
  const element = (name: string, at: string): string => (f16 ? `${name}[${at}]` : `ld_${name}(${at})`);
  // elements `at` to `at + 3` of a row of `size`, 0 past its end
  const four = (name: string, base: string, at: string, size: number): string => {
    const one = (j: number): string => {
      if (size % 4 === 0) return element(name, `${base} + ${at} + ${j}`);
      const clamped = element(name, `${base} + min(${at} + ${j}, ${size - 1})`);
      return `select(${type}(0.0), ${clamped}, ${at} + ${j} < ${size})`;
    };
    return `vec4<${type}>(${range(4).map(one).join(", ")})`;
  };
  const fill = (
    name: string,
    size: number,
    quads: number,
    row: number,
  ): string => `    for (var id = lane; id < ${keys * quads}u; id += ${QUERIES * LANES}u) {
      let j = i32(id) / ${quads}; let c = (i32(id) % ${quads}) * 4;
      var x = vec4<${type}>();
      if (first + j < i32(p.S)) {
        let at_row = base_${name} + (first + j) * p.${name}s; x = ${four(name, "at_row", "c", size)};
      }
      block[${row === quads ? "id" : `j * ${row} + i32(id) % ${quads}`}] = x;
    }`;
  const dot = (j: string, from: string): string => `dot_part(r * ${row4}, (${j}) * ${row4}, ${from})`;
  const outs = range(Math.ceil(v4 / LANES));
  const globals = `${f16 ? "" : ["q", "k", "v"].map((n) => accessors(n, dtype, "elem", false)).join("\n")}
${mask ? accessors("mask", mask, "elem", false) : ""}
${accessors("y", dtype, outForm(dtype), true)}
var<workgroup> queries: array<vec4<f32>, ${QUERIES * row4}>;
var<workgroup> block: array<vec4<${type}>, ${blockSize(keys)}>;
var<workgroup> weights: array<f32, ${QUERIES * perRow}>;
fn dot_part(q: i32, k: i32, start: i32) -> f32 {
  var acc = vec4<f32>(0.0);
  for (var c = start; c < ${share === 1 ? d4 : `min(start + ${part}, ${d4})`}; c++) {
    acc += queries[q + c] * ${wider("block[k + c]")};
  }
  return acc.x + acc.y + acc.z + acc.w;
}`;
  // lanes that share a key write their parts of the product into workgroup memory
  const partial = `    weights[r * ${perRow} + t] = ${dot(`t % ${keys}`, `t / ${keys} * ${part}`)};
    workgroupBarrier();
`;
  const parts = range(share).map((i) => `weights[r * ${perRow} + j + ${i * keys}]`);
  const score = share === 1 ? dot("j", "0") : parts.join(" + ");
  const applyMask = `if (seen) {
        let m = ld_mask(p.mo + b * p.mb + h * p.mh + l * p.ml + key * p.ms);
        ${mask === "bool" ? "seen = m != 0;" : "s += m;"}
      }`;
  const addValue = (o: number): string => {
    const within = (o + 1) * LANES <= v4 ? "" : `if (t + ${o * LANES} < ${v4}) `;
    return `      ${within}{
  o${o} += w * ${wider(`block[j * ${v4} + t + ${o * LANES}]`)};
}`;
  };
  const result = castTo("v", "float32", dtype);
  const putElement = (o: number, j: number): string => {
    const at = `t * 4 + ${o * LANES * 4 + j}`;
    return `    if (${at} < ${valueDim}) { let v = o${o}[${j}] * by; st_y(row + ${at}, ${result}); }`;
  };
  const main = `  let blocks = (p.L + ${QUERIES - 1}u) / ${QUERIES}u;
  let z = group / blocks;
  if (z >= p.B * p.H) { return; }
  let b = i32(z / p.H);
  let h = i32(z % p.H);
  let hk = h / i32(p.group);
  let l0 = i32(group % blocks) * ${QUERIES};
  let r = i32(lane / ${LANES}u);
  let t = i32(lane % ${LANES}u);
  let l = min(l0 + r, i32(p.L) - 1);
  let base_k = p.ko + b * p.kb + hk * p.kh;
  let base_v = p.vo + b * p.vb + hk * p.vh;
  for (var id = lane; id < ${QUERIES * d4}u; id += ${QUERIES * LANES}u) {
    let row = p.qo + b * p.qb + h * p.qh + min(l0 + i32(id) / ${d4}, i32(p.L) - 1) * p.ql;
    let c = (i32(id) % ${d4}) * 4;
    queries[i32(id) / ${d4} * ${row4} + i32(id) % ${d4}] = ${wider(four("q", "row", "c", dim))} * p.scale;
  }
  var top = -tl_inf();
  var sum = 0.0;
${outs.map((o) => `  var o${o} = vec4<f32>(0.0);`).join("\n")}
  let end = ${causal ? `min(i32(p.S), l0 + ${QUERIES})` : "i32(p.S)"};
  for (var first = 0; first < end; first += ${keys}) {
    workgroupBarrier();
${fill("k", dim, d4, row4)}
    workgroupBarrier();
${share === 1 ? "" : partial}    for (var j = t; j < ${keys}; j += ${LANES}) {
      var s = ${score};
      let key = first + j;
      var seen = key < i32(p.S)${causal ? " && key <= l" : ""};
      ${mask ? applyMask : ""}
      weights[r * ${perRow} + j] = select(-tl_inf(), s, seen);
    }
    workgroupBarrier();
    var now = top;
    for (var j = 0; j < ${keys}; j++) { now = tl_max(now, weights[r * ${perRow} + j]); }
    // until the query has seen a key, the maximum is -inf and all weights are 0
    let shift = select(0.0, now, !${isMinusInf("now")});
    let shrink = select(tl_exp(top - shift), 0.0, ${isMinusInf("top")});
    workgroupBarrier();
    for (var j = t; j < ${keys}; j += ${LANES}) {
      weights[r * ${perRow} + j] = tl_exp(weights[r * ${perRow} + j] - shift);
    }
${fill("v", valueDim, v4, v4)}
    workgroupBarrier();
    top = now;
    sum *= shrink;
${outs.map((o) => `    o${o} *= shrink;`).join("\n")}
    for (var j = 0; j < ${keys}; j++) {
      let w = weights[r * ${perRow} + j];
      sum += w;
${outs.map(addValue).join("\n")}
    }
  }
  if (l0 + r < i32(p.L)) {
    let row = p.yo + b * p.yb + h * p.yh + l * p.yl;
    // 0 for a query that saw no key
    let by = select(1.0 / sum, 0.0, sum == 0.0);
${outs.flatMap((o) => range(4).map((j) => putElement(o, j))).join("\n")}
    if (t == 0) { lse[p.lseo + (b * i32(p.H) + h) * i32(p.L) + l] = select(top + tl_log(sum), -tl_inf(), sum == 0.0); }
  }`;
  return makeKernel("attention", params, { bindings, uniforms, globals, main, workgroup: QUERIES * LANES }, (u) =>
    linearGrid(value(u, "B") * value(u, "H") * Math.ceil(value(u, "L") / QUERIES), 1),
  );
}
