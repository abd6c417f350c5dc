/**
 * The matrix product behind all products and convolutions: C[m, n] = sum over k of A[m, k] B[k, n]. A, B and C are WGSL
 * functions. So an operand may be a matrix with any strides, an image seen through a sliding window, or a prologue.
 *
 * A workgroup computes a tile of bm x bn; each invocation tm x tn of it in registers. Slices of bk rows of both
 * operands go through workgroup memory as vec4s along m and n, so that the inner loop reads tm/4 + tn/4 vectors for tm
 * x tn multiply-adds. Elements outside the matrices are read as 0 by the operand functions.
 */
import { makeKernel } from "../../wgsl/module";
import { type Binding, type Kernel, linearGrid, type UniformWord, type Values, value, range } from "../spec";

export interface Tile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
}

export const TILES = {
  small: { bm: 32, bn: 32, bk: 16, tm: 4, tn: 4 },
  wide: { bm: 32, bn: 128, bk: 16, tm: 4, tn: 8 },
  medium: { bm: 64, bn: 64, bk: 16, tm: 4, tn: 4 },
  large: { bm: 128, bn: 128, bk: 16, tm: 8, tn: 8 },
  // Without workgroup memory, for software adapters: they have no faster memory to share, and they compile workgroup
  // arrays element by element, which takes seconds for the large tiles.
  direct: { bm: 64, bn: 64, bk: 0, tm: 8, tn: 8 },
  // the same for a product with few rows
  thin: { bm: 1, bn: 512, bk: 0, tm: 1, tn: 8 },
} as const satisfies Record<string, Tile>;
export type TileName = keyof typeof TILES;

export interface GemmSpec {
  readonly family: string;
  readonly params: object;
  readonly tile: TileName;
  readonly bindings: readonly Binding[];
  /** They must include M, N, K, batches; with `split` also splits and kchunk. */
  readonly uniforms: readonly UniformWord[];
  /**
   * Defines fn setup(z: u32), called once with the batch; load_a(m, k), load_b(k, n) -> f32, 0 outside; store(m, n, v);
   * with vecA / vecB also load_a4(m, k) (along m) / load_b4(k, n) (along n) -> vec4<f32>. k_end: i32 is the bound of k.
   * Without workgroup memory instead row_m(m) and row_n(n), where a row and a column begin, along_a(k) and along_b(k),
   * what is added to that for k, and get_a(i), get_b(i) (with vecA / vecB get_a4, get_b4): all within the matrices.
   */
  readonly globals: string;
  /** The dim along which neighbours in memory lie. */
  readonly aFast: "m" | "k";
  readonly bFast: "n" | "k";
  readonly vecA?: boolean;
  readonly vecB?: boolean;
  /**
   * Operands of type f16: load_a and load_a4 (load_b, load_b4) return f16, and workgroup memory holds it. No difference
   * without workgroup memory.
   */
  readonly halfA?: boolean;
  readonly halfB?: boolean;
  /** The sum over k is cut into `splits` parts. The kernel calls setup(z, part) then. */
  readonly split?: boolean;
}

/** Four values of an operand, as float32. */
export const wide = (half: boolean | undefined, v: string): string => (half ? `vec4<f32>(${v})` : v);

/** An operand in workgroup memory: bk rows of `width` elements, as vectors of four along the width. */
interface Slice {
  readonly name: "m" | "n";
  readonly width: number;
  readonly bk: number;
  readonly threads: number;
  /** Neighbours in memory lie along the width, not along k. */
  readonly along: boolean;
  readonly vec: boolean;
  readonly type: string;
}

/**
 * The place of vector `at` of row `k`. An operand whose neighbours lie along k is written by columns: the rows of
 * invocations side by side are turned against each other then, so that their writes go to different banks.
 */
const place = ({ width, along }: Slice, k: string, at: string): string =>
  along ? `(${k}) * ${width / 4}u + ${at}` : `(${k}) * ${width / 4}u + ((${at}) ^ (((${k}) >> 2u) << 1u))`;

/** Declares the vectors of a slice that an invocation fetches, and statements that fetch them and put them in place. */
function stage(s: Slice): { declare: string; fetch: string; put: string } {
  const { name, width, bk, threads, along, vec, type } = s;
  const operand = name === "m" ? "a" : "b";
  const args = (at: string, k: string): string => (name === "m" ? `${at}, ${k}` : `${k}, ${at}`);
  const w4 = width / 4;
  // vectors along k are read as blocks, four of four, and written transposed
  const block = vec && !along;
  const total = (w4 * bk) / (block ? 4 : 1);
  const vectors = block ? 4 : 1;
  const rounds = Math.ceil(total / threads);
  const depth = block ? bk / 4 : bk;
  const held = (r: number, j: number): string => `${operand}_${r}_${j}`;
  // blocks take half of the invocations: those of one operand the first half, those of the other one the second
  const lane = block && name === "n" ? `(${threads - 1}u - lane)` : "lane";
  const parts = range(rounds).map((r) => {
    const id = r === 0 ? lane : `(${lane} + ${r * threads}u)`;
    const kq = along ? `${id} / ${w4}u` : `${id} % ${depth}u`;
    const wq = along ? `${id} % ${w4}u` : `${id} / ${depth}u`;
    const guard = (r + 1) * threads > total ? `if (${id} < ${total}u) ` : "";
    const declare = range(vectors)
      .map((j) => `  var ${held(r, j)}: ${type};`)
      .join(" ");
    const each = range(4).map((j) => `load_${operand}(${args(j === 0 ? "at" : `at + ${j}`, "k")})`);
    const elements = vec ? `load_${operand}4(${args("at", "k")})` : `${type}(${each.join(", ")})`;
    const row = (j: number): string => `${held(r, j)} = load_${operand}4(${args(`at + ${j}`, "k")});`;
    const column = (c: number): string =>
      `${type}(${range(4)
        .map((j) => `${held(r, j)}[${c}]`)
        .join(", ")})`;
    const read = block ? range(4).map(row).join(" ") : `${held(r, 0)} = ${elements};`;
    const write = (k: string, v: string): string => `tile_${name}[${place(s, k, "wq")}] = ${v};`;
    const writes = block ? range(4).map((c) => write(`kq * 4u + ${c}u`, column(c))) : [write("kq", held(r, 0))];
    const from = `let k = k0 + i32(${kq})${block ? " * 4" : ""}; let at = ${name}0 + i32(${wq}) * 4;`;
    return {
      declare,
      fetch: `    ${guard}{ ${from} ${read} }`,
      put: `    ${guard}{ let kq = ${kq}; let wq = ${wq}; ${writes.join(" ")} }`,
    };
  });
  const all = (what: "declare" | "fetch" | "put"): string => parts.map((p) => p[what]).join("\n");
  return { declare: all("declare"), fetch: all("fetch"), put: all("put") };
}

export function gemm(s: GemmSpec): Kernel {
  const { bm, bn, bk, tm, tn } = TILES[s.tile];
  const tx = bn / tn,
    ty = bm / tm;
  const threads = tx * ty;
  const im = range(Math.ceil(tm / 4)),
    jn = range(tn / 4),
    four = range(4),
    rows = range(Math.min(tm, 4));
  const high = rows.length;
  const acc = (i: number, r: number, j: number): string => `c${i}_${r}_${j}`;
  const shared = bk > 0;
  const [typeA, typeB] = [s.halfA, s.halfB].map((half) => `vec4<${half ? "f16" : "f32"}>`) as [string, string];
  const slices = `var<workgroup> tile_m: array<${typeA}, ${(bk * bm) / 4}>;
var<workgroup> tile_n: array<${typeB}, ${(bk * bn) / 4}>;`;
  const globals = `${shared ? slices : ""}
var<private> k_end: i32;
${s.globals}
fn store4(m: i32, n: i32, v: vec4<f32>) {
  if (m >= i32(p.M)) { return; }
  for (var q = 0; q < min(4, i32(p.N) - n); q++) { store(m, n + q, v[q]); }
}`;
  // With workgroup memory: slices of bk rows, staged by all and multiplied from there. The next slice is fetched into
  // registers while this one is multiplied, so the loop runs once more than there are slices.
  const sliced = (): string => {
    const slice = (name: "m" | "n"): Slice => ({
      name,
      width: name === "m" ? bm : bn,
      bk,
      threads,
      along: (name === "m" ? s.aFast : s.bFast) === name,
      vec: (name === "m" ? s.vecA : s.vecB) ?? false,
      type: name === "m" ? typeA : typeB,
    });
    const [sliceA, sliceB] = [slice("m"), slice("n")];
    const [a, b] = [stage(sliceA), stage(sliceB)];
    const fromA = (i: number): string => wide(s.halfA, `tile_m[${place(sliceA, "kk", `${i * ty}u + ty`)}]`);
    const fromB = (j: number): string => wide(s.halfB, `tile_n[${place(sliceB, "kk", `${j * tx}u + tx`)}]`);
    const products = im.flatMap((i) =>
      four.flatMap((r) => jn.map((j) => `      ${acc(i, r, j)} += a${i}[${r}] * b${j};`)),
    );
    const multiply = `    for (var kk = 0u; kk < ${bk}u; kk++) {
${im.map((i) => `      let a${i} = ${fromA(i)};`).join("\n")}
${jn.map((j) => `      let b${j} = ${fromB(j)};`).join("\n")}
${products.join("\n")}
    }
    workgroupBarrier();`;
    return `${a.declare}\n${b.declare}
  for (var k0 = k_first; ; k0 += ${bk}) {
${a.fetch}
${b.fetch}
    if (k0 > k_first) {
${multiply}
    }
    if (k0 >= k_stop) { break; }
${a.put}
${b.put}
    workgroupBarrier();
  }`;
  };
  // Rows and columns beyond the edge repeat the last ones and are not stored, so the loop tests nothing.
  const edge = (size: string, vec: boolean | undefined, at: string): string =>
    `min(${at}, i32(p.${size}) - ${vec ? 4 : 1})`;
  // the offset of block i of an invocation's rows (columns), computed once for all k; a block has four, or one
  const places =
    (x: "m" | "n", step: number, each: readonly number[], vec: boolean | undefined) =>
    (i: number): string => {
      const first = `${x}0 + i32(${i * step}u + t${x === "m" ? "y" : "x"}) * ${each.length}`;
      const size = x.toUpperCase();
      if (vec) return `  let at_${x}${i} = row_${x}(${edge(size, vec, first)});`;
      return each.map((q) => `  let at_${x}${i}_${q} = row_${x}(${edge(size, vec, `${first} + ${q}`)});`).join("\n");
    };
  // without workgroup memory: every invocation reads what it multiplies
  const straight = (): string => {
    const elementsB = (j: number): string => four.map((q) => `get_b(at_n${j}_${q} + kb)`).join(", ");
    const readB = (j: number): string => (s.vecB ? `get_b4(at_n${j} + kb)` : `vec4<f32>(${elementsB(j)})`);
    const readA = (i: number, r: number): string => (s.vecA ? `a${i}[${r}]` : `get_a(at_m${i}_${r} + ka)`);
    const multiply = (i: number, r: number): string =>
      jn.map((j) => `${acc(i, r, j)} += a${i}_${r} * b${j};`).join(" ");
    const rowsOf = (i: number): string[] => [
      ...(s.vecA ? [`    let a${i} = get_a4(at_m${i} + ka);`] : []),
      ...rows.map((r) => `    let a${i}_${r} = ${readA(i, r)}; ${multiply(i, r)}`),
    ];
    return `${[...im.map(places("m", ty, rows, s.vecA)), ...jn.map(places("n", tx, four, s.vecB))].join("\n")}
  for (var k = k_first; k < k_stop; k++) {
    let ka = along_a(k); let kb = along_b(k);
${jn.map((j) => `    let b${j} = ${readB(j)};`).join("\n")}
${im.flatMap(rowsOf).join("\n")}
  }`;
  };
  const wholeSum = `  setup(zz);
  let k_first = 0;
  let k_stop = i32(p.K);`;
  const partOfSum = `  let part = zz % p.splits;
  setup(zz / p.splits, part);
  let k_first = i32(part * p.kchunk);
  let k_stop = i32(min(p.K, (part + 1u) * p.kchunk));`;
  // every accumulator, with the row and column it stands for
  const sums = im.flatMap((i) =>
    rows.flatMap((r) =>
      jn.map((j) => ({
        name: acc(i, r, j),
        m: `m0 + i32(${i * ty}u + ty) * ${high} + ${r}`,
        n: `n0 + i32(${j * tx}u + tx) * 4`,
      })),
    ),
  );
  const main = `  let tiles_n = (p.N + ${bn - 1}u) / ${bn}u;
  let tiles = tiles_n * ((p.M + ${bm - 1}u) / ${bm}u);
  let zz = group / tiles;
  if (zz >= p.batches${s.split ? " * p.splits" : ""}) { return; }
  let at_tile = group % tiles;
  let m0 = i32(at_tile / tiles_n) * ${bm};
  let n0 = i32(at_tile % tiles_n) * ${bn};
${s.split ? partOfSum : wholeSum}
  k_end = k_stop;
  let tx = lane % ${tx}u;
  let ty = lane / ${tx}u;
${sums.map(({ name }) => `  var ${name} = vec4<f32>(0.0);`).join("\n")}
${shared ? sliced() : straight()}
${sums.map(({ name, m, n }) => `  store4(${m}, ${n}, ${name});`).join("\n")}`;
  return makeKernel(
    s.family,
    s.params,
    { bindings: s.bindings, uniforms: s.uniforms, globals, main, workgroup: threads },
    (u) => {
      const tiles = Math.ceil(value(u, "M") / bm) * Math.ceil(value(u, "N") / bn);
      return linearGrid(tiles * value(u, "batches") * (s.split ? value(u, "splits") : 1), 1);
    },
  );
}

/**
 * Workgroups that keep a device busy, two for each of its cores, say. WebGPU does not tell how many it has: a large GPU
 * has 132, a laptop's eight. The large tile takes more, since with few workgroups their number is far from a multiple
 * of the cores (an H200 multiplies 2048 x 768 x 768 at 19 TFLOP/s with 96 large tiles, at 25 with 384 medium ones),
 * while enough medium tiles are slower than large ones by 12 % at most there.
 */
const ENOUGH = { large: 256, medium: 64, wide: 64 };

/**
 * The largest tile that still gives the device enough workgroups. If none does, also into how many parts to cut k.
 * software: the adapter is a CPU.
 */
export function chooseTile(
  m: number,
  n: number,
  k: number,
  batches: number,
  software = false,
): { tile: TileName; splits: number } {
  if (software) {
    const tile = m < 4 ? "thin" : "direct";
    const { tm, tn } = TILES[tile];
    const items = Math.ceil(m / tm) * Math.ceil(n / tn) * batches;
    return { tile, splits: Math.max(1, Math.min(Math.floor(k / 256), Math.ceil(256 / items))) };
  }
  const groups = (t: Tile): number => Math.ceil(m / t.bm) * Math.ceil(n / t.bn) * batches;
  const waste = (t: Tile): number => (Math.ceil(m / t.bm) * t.bm * Math.ceil(n / t.bn) * t.bn) / (m * n);
  const fit = (["large", "medium", "wide"] as const).find(
    (name) => groups(TILES[name]) >= ENOUGH[name] && waste(TILES[name]) < 1.5,
  );
  const tile = fit ?? "small";
  const have = groups(TILES[tile]);
  const enough = ENOUGH.medium;
  const splits = have >= enough / 2 || k < 1024 ? 1 : Math.min(Math.ceil(k / 512), Math.ceil(enough / have), 64);
  return { tile, splits };
}

/** The length of a part of k, a multiple of the tile's depth, and the number of parts. */
export function splitK(k: number, splits: number): Values {
  const kchunk = Math.ceil(k / splits / 16) * 16;
  return { kchunk, splits: Math.ceil(k / kchunk) };
}
