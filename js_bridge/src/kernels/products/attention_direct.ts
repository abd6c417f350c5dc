/**
 * Attention without workgroup memory, for software adapters: they have no faster memory to share, and their barriers
 * are slow. An invocation takes four queries and walks the keys four at a time, with results in registers. Heads have
 * at most 64 elements.
 */
import { accessors, castTo } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import type { AttentionParams } from "./attention_params";
import { type Binding, type Kernel, linearGrid, type UniformWord, value, range } from "../spec";

const GROUP = 64,
  EACH = 4;
export const DIRECT_HEADS = 64;
/** Whether a float is -inf, by its bits: a compiler may take a comparison with an infinity for false. */
export const isMinusInf = (x: string): string => `(bitcast<u32>(${x}) == 0xff800000u)`;

/** Bindings and uniforms are attention()'s. */
export function attentionDirect(
  params: AttentionParams,
  bindings: readonly Binding[],
  uniforms: readonly UniformWord[],
): Kernel {
  const { dtype, dim, valueDim, causal, f16, mask } = params;
  const four = range(EACH),
    each = <T>(f: (r: number) => T): string => four.map(f).join(" ");
  const quads = range(Math.ceil(valueDim / 4));
  const elements = (c: number): number[] => four.filter((e) => 4 * c + e < valueDim);
  const formOf = (name: string): "atomic" | "f16" | "elem" => {
    if (name === "y") return dtype === "float32" ? "elem" : "atomic";
    return f16 && "qkv".includes(name) ? "f16" : "elem";
  };
  const globals = bindings
    .slice(0, -1)
    .map(({ name }) => accessors(name, name === "mask" ? mask! : dtype, formOf(name), name === "y"))
    .join("\n");
  const masked = (r: number, j: number): string => {
    const m = `ld_mask(mask${r} + (first + ${j}) * p.ms)`;
    const apply = mask === "bool" ? `seen${r}[${j}] = seen${r}[${j}] & (${m} != 0);` : `s${r}[${j}] += ${m};`;
    return `if (first + ${j} < i32(p.S)) { ${apply} }`;
  };
  const maskRow = (r: number): string => ` let mask${r} = p.mo + b * p.mb + h * p.mh + l${r} * p.ml;`;
  const addQuad = (j: number, c: number): string => {
    const values = four.map((e) => (elements(c).includes(e) ? `ld_v(at + ${4 * c + e})` : "0.0"));
    return `      { let v = vec4<f32>(${values.join(", ")}); ${each((r) => `o${r}_${c} += w${r}[${j}] * v;`)} }`;
  };
  const result = castTo("v", "float32", dtype);
  const putQuad = (r: number, c: number): string[] =>
    elements(c).map((e) => `    { let v = o${r}_${c}[${e}] * by; st_y(row + ${4 * c + e}, ${result}); }`);
  const main = `  let tiles = (p.L + ${EACH - 1}u) / ${EACH}u;
  let z = gid / tiles;
  if (z >= p.B * p.H) { return; }
  let b = i32(z / p.H); let h = i32(z % p.H); let hk = h / i32(p.group);
  let lt = i32(gid % tiles) * ${EACH};
  ${each(
    (r) => `let l${r} = min(lt + ${r}, i32(p.L) - 1);
  let q${r} = p.qo + b * p.qb + h * p.qh + l${r} * p.ql;${mask ? maskRow(r) : ""}`,
  )}
  let keys = p.ko + b * p.kb + hk * p.kh;
  let values = p.vo + b * p.vb + hk * p.vh;
  ${each(
    (r) => `var top${r} = -tl_inf();
  var sum${r} = 0.0; ${quads.map((c) => `var o${r}_${c} = vec4<f32>(0.0);`).join(" ")}`,
  )}
  let end = ${causal ? `min(i32(p.S), lt + ${EACH})` : "i32(p.S)"};
  for (var first = 0; first < end; first += ${EACH}) {
    ${each((j) => `let k${j} = keys + min(first + ${j}, i32(p.S) - 1) * p.ks;`)}
    ${each((r) => `var s${r} = vec4<f32>(0.0);`)}
    for (var d = 0; d < ${dim}; d++) {
      let k = vec4<f32>(${four.map((j) => `ld_k(k${j} + d)`).join(", ")});
      ${each((r) => `s${r} += (ld_q(q${r} + d) * p.scale) * k;`)}
    }
    let key = vec4<i32>(first, first + 1, first + 2, first + 3);
    ${each((r) => `var seen${r} = (key < vec4<i32>(i32(p.S)))${causal ? ` & (key <= vec4<i32>(l${r}))` : ""};`)}
    ${mask ? four.map((r) => four.map((j) => masked(r, j)).join(" ")).join("\n    ") : ""}
${four
  .map(
    (r) => `    s${r} = select(vec4<f32>(-tl_inf()), s${r}, seen${r});
    let now${r} = tl_max(tl_max(tl_max(top${r}, s${r}.x), tl_max(s${r}.y, s${r}.z)), s${r}.w);
    // until the query has seen a key, the maximum is -inf and all weights are 0
    let shift${r} = select(0.0, now${r}, !${isMinusInf(`now${r}`)});
    let shrink${r} = select(tl_exp(top${r} - shift${r}), 0.0, ${isMinusInf(`top${r}`)});
    let w${r} = vec4<f32>(${["x", "y", "z", "w"].map((e) => `tl_exp(s${r}.${e} - shift${r})`).join(", ")});
    top${r} = now${r}; sum${r} = sum${r} * shrink${r} + (w${r}.x + w${r}.y + w${r}.z + w${r}.w);
    ${quads.map((c) => `o${r}_${c} *= shrink${r};`).join(" ")}`,
  )
  .join("\n")}
${four
  .map(
    (j) => `    if (first + ${j} < i32(p.S)) {
      let at = values + (first + ${j}) * p.vs;
${quads.map((c) => addQuad(j, c)).join("\n")}
    }`,
  )
  .join("\n")}
  }
${four
  .map(
    (r) => `  if (lt + ${r} < i32(p.L)) {
    let row = p.yo + b * p.yb + h * p.yh + l${r} * p.yl;
    // 0 for a query that saw no key
    let by = select(1.0 / sum${r}, 0.0, sum${r} == 0.0);
${quads.flatMap((c) => putQuad(r, c)).join("\n")}
    lse[p.lseo + (b * i32(p.H) + h) * i32(p.L) + l${r}] = select(top${r} + tl_log(sum${r}), -tl_inf(), sum${r} == 0.0);
  }`,
  )
  .join("\n")}`;
  return makeKernel("attention", params, { bindings, uniforms, globals, main, workgroup: GROUP }, (u) =>
    linearGrid(value(u, "B") * value(u, "H") * Math.ceil(value(u, "L") / EACH), GROUP),
  );
}
