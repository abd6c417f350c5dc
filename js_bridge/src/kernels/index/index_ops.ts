/**
 * Reading and writing by index tensors, over a common grid of positions with strides for every operand:
 *   gather    out[c] = src[sum of c . strides + sum over j of idx_j(c) * step_j]: gather, index_select, embedding,
 *             take, x[i, j]
 *   scatter   dst[...] = or += or max= ... src(c): scatter, scatter_add, index_add, index_put, embedding gradients
 * Indices are int64 or int32, read exactly. For an index out of range gather stores 0 and scatter stores nothing. The
 * status buffer (four words, zero before) gets [check + number of the index, index low word, index high word, extent],
 * from which the error is raised. Many dispatches share it; the first that fails keeps it.
 */
import { accessors, castTo, input, narrow, outForm, output } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import {
  type Binding,
  computeOf,
  DTYPES,
  type DType,
  type Kernel,
  linearGrid,
  perWord,
  type UniformWord,
  offsets,
  uniform,
  UnsupportedKernelError,
  value,
  WGSL_TYPE,
  range,
} from "../spec";

export type ScatterMode = "set" | "add" | "prod" | "amax" | "amin";

interface IndexParams {
  readonly ndim: number;
  readonly dtype: DType;
  readonly indices: readonly DType[];
  /** Negative indices count from the end. */
  readonly wrap?: boolean;
}
export type GatherParams = IndexParams;
export interface ScatterParams extends IndexParams {
  readonly mode: ScatterMode;
  /** The source is one number: uniform c0 (and c0h). */
  readonly scalar?: boolean;
  /** One index value is skipped (padding_idx of embedding gradients): uniform skip. */
  readonly skip?: boolean;
}

export const STATUS: Binding = { name: "status", type: "array<atomic<u32>>", access: "read_write" };
export const CHECK: UniformWord = { name: "check", type: "u32", init: 1 };

export function indexWords(p: IndexParams, operands: readonly string[]): UniformWord[] {
  const place = (t: string): UniformWord[] => uniform("i32", `${t}o`, ...range(p.ndim).map((d) => `${t}s${d}`));
  return [
    ...uniform("u32", "n", ...range(p.ndim).map((d) => `size${d}`)),
    ...operands.flatMap(place),
    ...p.indices.flatMap((_, j) => [...place(`i${j}`), ...uniform("i32", `step${j}`), ...uniform("u32", `extent${j}`)]),
  ];
}

/** The index of an operand's element at the coordinates k<d>. */
export function offset(t: string, ndim: number): string {
  return [`p.${t}o`, ...range(ndim).map((d) => `k${d} * p.${t}s${d}`)].join(" + ");
}

/** Statements that compute the coordinates k<d> of the linear index `rest`. */
export const unravelText = (ndim: number): string =>
  range(ndim)
    .reverse()
    .map((d) => (d === 0 ? "  let k0 = i32(rest);" : `  let k${d} = i32(rest % p.size${d}); rest = rest / p.size${d};`))
    .join("\n");

/** Statements that compute coordinates k<d> of gid, `at` (the sum of index * step) and `fine` (all in range). */
export function indexBody(p: IndexParams): string {
  const reads = p.indices.map((d, j) => {
    const raw = `ld_idx${j}(${offset(`i${j}`, p.ndim)})`;
    return `  let raw${j} = ${computeOf(d) === "i64" ? raw : `tl_i64(${raw})`};
  let at${j} = resolve(raw${j}, p.extent${j}, ${j}u);
  fine = fine && at${j} >= 0; at += at${j} * p.step${j};`;
  });
  return `  if (gid >= p.n) { return; }
  var rest = gid;
${unravelText(p.ndim)}
  var fine = true;
  var at = 0;
${reads.join("\n")}`;
}

export const resolver = (
  wrap: boolean | undefined,
): string => `fn resolve(i: vec2<u32>, extent: u32, which: u32) -> i32 {
  if (i.y == 0u && i.x < extent) { return i32(i.x); }
  ${wrap ? "if (i.y == 0xffffffffu && ~i.x < extent) { return i32(extent + i.x); }" : ""}
  loop {
    let r = atomicCompareExchangeWeak(&status[0], 0u, p.check + which);
    if (r.exchanged) {
      atomicStore(&status[1], i.x); atomicStore(&status[2], i.y); atomicStore(&status[3], extent); break;
    }
    if (r.old_value != 0u) { break; }
  }
  return -1;
}`;

/**
 * Uniforms: n, size0..; ao as0.. (source); for each index i<j>o i<j>s0.. step<j> extent<j>; qo; check. Buffers: src,
 * idx<j>, out, status.
 */
export function gather(params: GatherParams): Kernel {
  const { dtype, indices, ndim } = params;
  const bindings = [input("src", dtype), ...indices.map((d, j) => input(`idx${j}`, d)), output("dst", dtype), STATUS];
  const uniforms = [...indexWords(params, ["a"]), ...uniform("i32", "qo"), CHECK];
  const globals = [
    accessors("src", dtype, "elem", false),
    ...indices.map((d, j) => accessors(`idx${j}`, d, "elem", false)),
    accessors("dst", dtype, outForm(dtype), true),
    resolver(params.wrap),
  ].join("\n");
  const t = WGSL_TYPE[computeOf(dtype)];
  const main = `${indexBody(params)}
  var v = ${t}();
  if (fine) { v = ld_src(${offset("a", ndim)} + at); }
  st_dst(p.qo + i32(gid), v);`;
  return makeKernel("gather", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
}

const JOIN: { readonly [M in Exclude<ScatterMode, "set">]: { f32: string; i32: string } } = {
  add: { f32: "a + b", i32: "a + b" },
  prod: { f32: "a * b", i32: "a * b" },
  amax: { f32: "tl_max(a, b)", i32: "max(a, b)" },
  amin: { f32: "tl_min(a, b)", i32: "min(a, b)" },
};

/** fn put(i, v): combines v with element i, by compare-and-swap on its word; int64 sums by two adds with carry. */
function putter(dtype: DType, mode: ScatterMode): string {
  const cls = computeOf(dtype);
  const t = WGSL_TYPE[cls];
  if (cls === "i64") {
    if (mode === "set")
      return `fn put(i: i32, v: ${t}) { atomicStore(&dst[2 * i], v.x); atomicStore(&dst[2 * i + 1], v.y); }`;
    if (mode !== "add") throw new UnsupportedKernelError(`scatter_${mode}`, dtype);
    return `fn put(i: i32, v: ${t}) {
  let old = atomicAdd(&dst[2 * i], v.x);
  atomicAdd(&dst[2 * i + 1], v.y + select(0u, 1u, old + v.x < old));
}`;
  }
  const per = perWord(dtype),
    bits = 32 / per;
  const mask = { 1: "0xffffffffu", 2: "0xffffu", 4: "0xffu" }[per]!;
  const shift = per === 1 ? "0u" : `(u32(i) & ${per - 1}u) * ${bits}u`;
  const word = per === 1 ? "i" : `i / ${per}`;
  // conversions between an element's bits b and its value; a dtype that is not listed takes whole words
  const signed = `extractBits(bitcast<i32>(b), 0u, ${bits}u)`;
  const decodes: { readonly [D in DType]?: string } = {
    float16: "tl_half_to_f32(b)",
    bfloat16: "tl_bf16_to_f32(b)",
    int8: signed,
    int16: signed,
    uint8: "bitcast<i32>(b)",
    bool: "bitcast<i32>(b)",
  };
  const lowBits = `(bitcast<u32>(v) & ${mask})`;
  const encodes: { readonly [D in DType]?: string } = {
    float16: "tl_f32_to_half(v)",
    bfloat16: "tl_f32_to_bf16(v)",
    int8: lowBits,
    int16: lowBits,
    uint8: lowBits,
    bool: "select(0u, 1u, v != 0)",
  };
  const decode = decodes[dtype] ?? `bitcast<${t}>(b)`;
  const encode = encodes[dtype] ?? "bitcast<u32>(v)";
  const value = mode === "set" ? "new_v" : `join(old_value(b), new_v)`;
  const join =
    mode === "set"
      ? ""
      : `fn join(a: ${t}, b: ${t}) -> ${t} {
  return ${JOIN[mode][cls]};
}\nfn old_value(b: u32) -> ${t} { return ${decode}; }\n`;
  return `${join}fn encode(v: ${t}) -> u32 { return ${encode}; }
fn put(i: i32, new_v: ${t}) {
  let s = ${shift};
  var old = atomicLoad(&dst[${word}]);
  loop {
    let b = (old >> s) & ${mask};
    let next = (old & ~(${mask} << s)) | (encode(${value}) << s);
    let r = atomicCompareExchangeWeak(&dst[${word}], old, next);
    if (r.exchanged) { break; }
    old = r.old_value;
  }
}`;
}

/**
 * Uniforms: n, size0..; qo qs0.. (destination), [ao as0.. (source)]; indices as in gather; [skip]; [c0, c0h]; check.
 * Buffers: [src], idx<j>, dst (as words), status. Which of several writes to one place stays is not defined for "set".
 */
export function scatter(params: ScatterParams): Kernel {
  const { dtype, indices, ndim, mode, scalar, skip } = params;
  const cls = computeOf(dtype);
  const bindings: Binding[] = [
    ...(scalar ? [] : [input("src", dtype)]),
    ...indices.map((d, j) => input(`idx${j}`, d)),
    { name: "dst", type: "array<atomic<u32>>", access: "read_write" },
    STATUS,
  ];
  const uniforms = [
    ...indexWords(params, scalar ? ["q"] : ["q", "a"]),
    ...(skip ? uniform("i32", "skip") : []),
    ...(scalar && cls === "i64" ? uniform("u32", "c0", "c0h") : []),
    ...(scalar && cls !== "i64" ? uniform(cls, "c0") : []),
    CHECK,
  ];
  const globals = [
    ...(scalar ? [] : [accessors("src", dtype, "elem", false)]),
    ...indices.map((d, j) => accessors(`idx${j}`, d, "elem", false)),
    resolver(params.wrap),
    putter(dtype, mode),
  ].join("\n");
  const number = cls === "i64" ? "vec2<u32>(p.c0, p.c0h)" : "p.c0";
  const v = scalar ? number : `ld_src(${offset("a", ndim)})`;
  const main = `${indexBody(params)}
  if (fine${skip ? " && at0 != p.skip" : ""}) { put(${offset("q", ndim)} + at, ${v}); }`;
  return makeKernel("scatter", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
}

export interface JoinParams {
  readonly ndim: number;
  readonly dim: number;
  readonly dtype: DType;
  readonly parts: number;
}

/**
 * Tensors side by side along a dim: cat, stack, roll. Uniforms: n, size0.. (of the joined tensor); for each input x<k>o
 * x<k>s0.. and end<k>, its end along the dim in the joined tensor - x<k>o is where the element with coordinates 0 would
 * be, had the input begun there; yo ys0... Buffers: x<k>, y.
 */
export function join(params: JoinParams): Kernel {
  const { ndim, dim, dtype, parts } = params;
  const ks = range(parts);
  const bindings = [...ks.map((k) => input(`x${k}`, dtype)), output("y", dtype)];
  const place = (t: string): UniformWord[] => uniform("i32", `${t}o`, ...range(ndim).map((d) => `${t}s${d}`));
  const uniforms = [
    ...uniform("u32", "n", ...range(ndim).map((d) => `size${d}`)),
    ...ks.flatMap((k) => [...place(`x${k}`), ...uniform("i32", `end${k}`)]),
    ...place("y"),
  ];
  const globals = [
    ...ks.map((k) => accessors(`x${k}`, dtype, "elem", false)),
    accessors("y", dtype, outForm(dtype), true),
  ].join("\n");
  const take = (k: number): string => `{ v = ld_x${k}(${offset(`x${k}`, ndim)}); }`;
  const main = `  if (gid >= p.n) { return; }
  var rest = gid;
${unravelText(ndim)}
  var v = ${WGSL_TYPE[computeOf(dtype)]}();
  ${ks.map((k) => (k === parts - 1 ? take(k) : `if (k${dim} < p.end${k}) ${take(k)}`)).join(" else ")}
  st_y(${offset("y", ndim)}, v);`;
  return makeKernel("join", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
}

export type PadMode = "reflect" | "replicate" | "circular";
export interface PadParams {
  readonly ndim: number;
  readonly dtype: DType;
  readonly mode: PadMode;
  readonly backward?: boolean;
}

/**
 * Padding that repeats the image (constant padding is a fill and a copy). Uniforms: n (elements of the padded tensor),
 * size0.. (its sizes), in0.. (sizes of the image), pad0.. (elements before), xo, yo (dsto). Buffers: x, y; backward:
 * gy, gx (written: each element sums what was copied from it, in row-major order).
 */
export function pad(params: PadParams): Kernel {
  const { ndim, dtype, mode, backward } = params;
  if (backward) return padBackward(params);
  const bindings: Binding[] = [input("x", dtype), output("y", dtype)];
  const uniforms = uniform(
    "u32",
    "n",
    ...range(ndim).map((d) => `size${d}`),
    ...range(ndim).map((d) => `in${d}`),
  ).concat(uniform("i32", ...range(ndim).map((d) => `pad${d}`)), offsets("x", "y"));
  const fold = {
    reflect: "let t = abs(i); return select(t, 2 * (n - 1) - t, t >= n);",
    replicate: "return clamp(i, 0, n - 1);",
    circular: "return (i + n) % n;",
  }[mode];
  const globals = `fn source(i: i32, n: i32) -> i32 { ${fold} }
${accessors("x", dtype, "elem", false)}
${accessors("y", dtype, outForm(dtype), true)}`;
  const main = `  if (gid >= p.n) { return; }
  var rest = gid;
${unravelText(ndim)}
  var at = 0;
${range(ndim)
  .map((d) => `  at = at * i32(p.in${d}) + source(k${d} - p.pad${d}, i32(p.in${d}));`)
  .join("\n")}
  st_y(p.yo + i32(gid), ${castTo("ld_x(p.xo + at)", dtype, dtype)});`;
  return makeKernel("pad", params, { bindings, uniforms, globals, main }, (u) => linearGrid(value(u, "n")));
}

/**
 * Where of a padded dim of `size` the element i of n went: `t` counts up to three runs of positions, first and last.
 */
const SPANS: { readonly [M in PadMode]: string } = {
  reflect: `var j = i + pad;
  if (t == 0) { j = select(pad - i, -1, i == 0); }
  if (t == 2) { j = select(pad + 2 * (n - 1) - i, -1, i == n - 1); }
  return select(vec2<i32>(0, -1), vec2<i32>(j, j), j >= 0 && j < size);`,
  replicate: `if (t != 1) { return vec2<i32>(0, -1); }
  return vec2<i32>(max(select(i + pad, 0, i == 0), 0), min(select(i + pad, size - 1, i == n - 1), size - 1));`,
  circular: `let j = i + pad + (t - 1) * n;
  return select(vec2<i32>(0, -1), vec2<i32>(j, j), j >= 0 && j < size);`,
};

function padBackward(params: PadParams): Kernel {
  const { ndim, dtype, mode } = params;
  if (DTYPES[dtype].compute !== "f32") throw new UnsupportedKernelError("pad_backward", dtype);
  const bindings = [input("x", dtype), output("dst", dtype)];
  const uniforms = uniform(
    "u32",
    "n",
    ...range(ndim).map((d) => `size${d}`),
    ...range(ndim).map((d) => `in${d}`),
  ).concat(uniform("i32", ...range(ndim).map((d) => `pad${d}`)), offsets("x", "dst"));
  const globals = `fn span(i: i32, n: i32, size: i32, pad: i32, t: i32) -> vec2<i32> {
  ${SPANS[mode]}
}
${accessors("x", dtype, "elem", false)}
${accessors("dst", dtype, outForm(dtype), true)}`;
  const open = range(ndim).map(
    (d) => `  for (var t${d} = 0; t${d} < 3; t${d}++) {
  let s${d} = span(k${d}, i32(p.in${d}), i32(p.size${d}), p.pad${d}, t${d});
  for (var j${d} = s${d}.x; j${d} <= s${d}.y; j${d}++) {`,
  );
  const at = range(ndim).reduce((sum, d) => (d === 0 ? "j0" : `(${sum}) * i32(p.size${d}) + j${d}`), "");
  const main = `  if (gid >= ${range(ndim)
    .map((d) => `p.in${d}`)
    .join(" * ")}) { return; }
  var rest = gid;
${range(ndim)
  .reverse()
  .map((d) => (d === 0 ? "  let k0 = i32(rest);" : `  let k${d} = i32(rest % p.in${d}); rest = rest / p.in${d};`))
  .join("\n")}
  var sum = 0.0;
${open.join("\n")}
  sum = ${narrow(`sum + ld_x(p.xo + ${at})`, dtype)};
  ${"} } ".repeat(ndim)}
  st_dst(p.dsto + i32(gid), sum);`;
  const image = (u: Parameters<Kernel["workgroups"]>[0]): number =>
    range(ndim).reduce((n, d) => n * value(u, `in${d}`), 1);
  return makeKernel("pad", params, { bindings, uniforms, globals, main }, (u) => linearGrid(image(u)));
}
