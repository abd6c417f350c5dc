/**
 * Factorisations of batches of dense matrices, in place, in float32: textbook algorithms with LAPACK's conventions.
 * Each matrix has one workgroup. Its invocations share the elements of each step, with barriers between steps. The
 * kernels suit matrices of up to a few hundred rows; callers send larger ones to the CPU.
 */
import { buildModule } from "../../wgsl/module";
import {
  type Binding,
  type Kernel,
  kernelKey,
  linearGrid,
  offsets,
  uniform,
  type UniformWord,
  UnsupportedKernelError,
  value,
} from "../spec";

export interface LinalgParams {
  /**
   * lu: a (m x n) to L and U, piv (from 1), info (first zero pivot, from 1). swap: exchanges rows of x (n x r) as piv
   * says. trsm: x (n x r) := a^-1 x. cholesky: lower factor, info (order of the minor that fails). geqrf: reflections
   * below R, and tau. orgqr: the first columns of the reflections' product. jacobi: rows of a (r x m) made orthogonal,
   * v (r x r) has the rotations.
   */
  readonly op: "lu" | "swap" | "trsm" | "cholesky" | "geqrf" | "orgqr" | "jacobi";
  /** Elements are pairs of float32. */
  readonly complex?: boolean;
}

const LANES = 64;
const SYNC = "storageBarrier(); workgroupBarrier();";

const ARITHMETIC = (complex: boolean): string =>
  complex
    ? `
alias T = vec2<f32>;
fn lm(a: T, b: T) -> T { return tl_c_mul(a, b); }
fn lconj(a: T) -> T { return tl_c_conj(a); }
fn linv(a: T) -> T { return tl_c_reciprocal(a); }
fn lsize(a: T) -> f32 { return abs(a.x) + abs(a.y); }
fn lnorm2(a: T) -> f32 { return a.x * a.x + a.y * a.y; }
fn lof(r: f32) -> T { return T(r, 0.0); }
fn lre(a: T) -> f32 { return a.x; }
fn lim(a: T) -> f32 { return a.y; }
fn labs(a: T) -> f32 { return tl_hypot(a.x, a.y); }`
    : `
alias T = f32;
fn lm(a: T, b: T) -> T { return a * b; }
fn lconj(a: T) -> T { return a; }
fn linv(a: T) -> T { return tl_div(1.0, a); }
fn lsize(a: T) -> f32 { return abs(a); }
fn lnorm2(a: T) -> f32 { return a * a; }
fn lof(r: f32) -> T { return r; }
fn lre(a: T) -> f32 { return a; }
fn lim(a: T) -> f32 { return 0.0; }
fn labs(a: T) -> f32 { return abs(a); }`;

interface Body {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly whole?: readonly string[];
  readonly words: readonly string[];
  readonly globals?: string;
  readonly main: string;
}

/** The pivot: the largest of the lanes' candidates, the first of equal ones; NaN is larger than all numbers. */
const LU: Body = {
  reads: [],
  writes: ["a", "piv", "info"],
  whole: ["piv", "info"],
  words: ["m", "n", "pivot"],
  globals: `var<workgroup> best: array<f32, ${LANES}>;\nvar<workgroup> place: array<u32, ${LANES}>;`,
  main: `  let base = u32(p.ao) + group * p.m * p.n;
  let steps = min(p.m, p.n);
  var bad = 0;
  for (var k = 0u; k < steps; k++) {
    var top = -1.0;
    var at = k;
    for (var i = k + lane; i < select(k + 1u, p.m, p.pivot != 0u); i += ${LANES}u) {
      let own = a[base + i * p.n + k];
      let size = select(lsize(own), 3.4028234e38, tl_isnan(lsize(own)));
      if (size > top) { top = size; at = i; }
    }
    best[lane] = top;
    place[lane] = at;
    workgroupBarrier();
    for (var l = 0u; l < min(${LANES}u, p.m - k); l++) {
      if (best[l] > top || (best[l] == top && place[l] < at)) { top = best[l]; at = place[l]; }
    }
    if (lane == 0u) { piv[u32(p.pivo) + group * steps + k] = i32(at) + 1; }
    if (top == 0.0 && bad == 0) { bad = i32(k) + 1; }
    if (at != k) {
      for (var j = lane; j < p.n; j += ${LANES}u) {
        let held = a[base + k * p.n + j];
        a[base + k * p.n + j] = a[base + at * p.n + j];
        a[base + at * p.n + j] = held;
      }
    }
    ${SYNC}
    var over = lof(0.0);
    if (top != 0.0) { over = linv(a[base + k * p.n + k]); }
    for (var i = k + 1u + lane; i < p.m; i += ${LANES}u) { a[base + i * p.n + k] = lm(a[base + i * p.n + k], over); }
    ${SYNC}
    let wide = p.n - k - 1u;
    for (var e = lane; e < (p.m - k - 1u) * wide; e += ${LANES}u) {
      let i = base + (k + 1u + e / wide) * p.n;
      let j = k + 1u + e % wide;
      a[i + j] = a[i + j] - lm(a[i + k], a[base + k * p.n + j]);
    }
    ${SYNC}
  }
  if (lane == 0u) { info[u32(p.infoo) + group] = bad; }`,
};

const SWAP: Body = {
  reads: ["piv"],
  writes: ["x"],
  whole: ["piv"],
  words: ["n", "r"],
  main: `  let base = u32(p.xo) + group * p.n * p.r;
  for (var j = lane; j < p.r; j += ${LANES}u) {
    for (var i = 0u; i < p.n; i++) {
      let q = u32(piv[u32(p.pivo) + group * p.n + i] - 1);
      let held = x[base + i * p.r + j];
      x[base + i * p.r + j] = x[base + q * p.r + j];
      x[base + q * p.r + j] = held;
    }
  }`,
};

const TRSM: Body = {
  reads: ["a"],
  writes: ["x"],
  words: ["n", "r", "upper", "unit"],
  main: `  let base = u32(p.ao) + group * p.n * p.n;
  let to = u32(p.xo) + group * p.n * p.r;
  for (var s = 0u; s < p.n; s++) {
    let i = select(s, p.n - 1u - s, p.upper != 0u);
    if (p.unit == 0u) {
      let over = linv(a[base + i * p.n + i]);
      for (var j = lane; j < p.r; j += ${LANES}u) { x[to + i * p.r + j] = lm(x[to + i * p.r + j], over); }
      ${SYNC}
    }
    let first = select(i + 1u, 0u, p.upper != 0u);
    for (var e = lane; e < (p.n - 1u - s) * p.r; e += ${LANES}u) {
      let k = first + e / p.r;
      let j = e % p.r;
      let f = a[base + k * p.n + i];
      if (lsize(f) != 0.0) { x[to + k * p.r + j] = x[to + k * p.r + j] - lm(f, x[to + i * p.r + j]); }
    }
    ${SYNC}
  }`,
};

const CHOLESKY: Body = {
  reads: [],
  writes: ["a", "info"],
  whole: ["info"],
  words: ["n"],
  main: `  let base = u32(p.ao) + group * p.n * p.n;
  var bad = 0;
  for (var j = 0u; j < p.n; j++) {
    let d = lre(a[base + j * p.n + j]);
    if (bad == 0 && !tl_lt(0.0, d)) { bad = i32(j) + 1; }
    let root = tl_sqrt(d);
    let over = tl_div(1.0, root);
    ${SYNC}
    if (bad == 0) {
      if (lane == 0u) { a[base + j * p.n + j] = lof(root); }
      for (var i = j + 1u + lane; i < p.n; i += ${LANES}u) {
        a[base + i * p.n + j] = a[base + i * p.n + j] * over;
        a[base + j * p.n + i] = lof(0.0);
      }
    }
    ${SYNC}
    let left = p.n - j - 1u;
    for (var e = lane; e < left * left && bad == 0; e += ${LANES}u) {
      let i = j + 1u + e / left;
      let c = j + 1u + e % left;
      if (c <= i) {
        a[base + i * p.n + c] = a[base + i * p.n + c] - lm(a[base + i * p.n + j], lconj(a[base + c * p.n + j]));
      }
    }
    ${SYNC}
  }
  if (lane == 0u) { info[u32(p.infoo) + group] = bad; }`,
};

/** c := (I - t v v^H) c for one column of c; v0 = 1 is not stored. */
const REFLECT = (c: string): string => `
fn reflect(from_: u32, step: u32, t: T, to: u32, wide: u32, count: u32) {
  var w = ${c}[to];
  for (var i = 1u; i < count; i++) { w = w + lm(lconj(a[from_ + i * step]), ${c}[to + i * wide]); }
  w = lm(t, w);
  ${c}[to] = ${c}[to] - w;
  for (var i = 1u; i < count; i++) { ${c}[to + i * wide] = ${c}[to + i * wide] - lm(a[from_ + i * step], w); }
}`;

const GEQRF: Body = {
  reads: [],
  writes: ["a", "tau"],
  words: ["m", "n"],
  globals: `var<workgroup> tails: array<f32, ${LANES}>;${REFLECT("a")}`,
  main: `  let base = u32(p.ao) + group * p.m * p.n;
  let steps = min(p.m, p.n);
  for (var k = 0u; k < steps; k++) {
    let head = base + k * p.n + k;
    let count = p.m - k;
    // scaled by the largest element, so that squares stay in range
    var most = 0.0;
    for (var i = 1u + lane; i < count; i += ${LANES}u) { most = max(most, lsize(a[head + i * p.n])); }
    tails[lane] = most;
    workgroupBarrier();
    for (var l = 0u; l < min(${LANES}u, count); l++) { most = max(most, tails[l]); }
    workgroupBarrier();
    let alpha = a[head];
    let scale = max(most, lsize(alpha));
    let over = select(tl_div(1.0, scale), 1.0, !(scale > 1e-30) || tl_isinf(scale));
    var tail = 0.0;
    for (var i = 1u + lane; i < count; i += ${LANES}u) { tail = tail + lnorm2(a[head + i * p.n] * over); }
    tails[lane] = tail;
    workgroupBarrier();
    tail = 0.0;
    for (var l = 0u; l < min(${LANES}u, count); l++) { tail = tail + tails[l]; }
    var t = lof(0.0);
    var beta = alpha;
    if (tail != 0.0 || lim(alpha) != 0.0) {
      var b = tl_div(tl_sqrt(lnorm2(alpha * over) + tail), over);
      if (lre(alpha) >= 0.0) { b = -b; }
      t = (lof(b) - alpha) * tl_div(1.0, b);
      beta = lof(b);
    }
    ${SYNC}
    if (lsize(t) != 0.0) {
      let f = linv(alpha - beta);
      for (var i = 1u + lane; i < count; i += ${LANES}u) { a[head + i * p.n] = lm(a[head + i * p.n], f); }
    }
    if (lane == 0u) {
      a[head] = beta;
      tau[u32(p.tauo) + group * steps + k] = t;
    }
    ${SYNC}
    if (lsize(t) != 0.0) {
      for (var j = k + 1u + lane; j < p.n; j += ${LANES}u) {
        reflect(head, p.n, lconj(t), base + k * p.n + j, p.n, count);
      }
    }
    ${SYNC}
  }`,
};

const ORGQR: Body = {
  reads: ["a", "tau"],
  writes: ["q"],
  words: ["m", "n", "k"],
  globals: REFLECT("q"),
  main: `  let base = u32(p.ao) + group * p.m * p.n;
  let to = u32(p.qo) + group * p.m * p.n;
  for (var j = lane; j < p.n; j += ${LANES}u) {
    for (var i = 0u; i < p.m; i++) { q[to + i * p.n + j] = lof(select(0.0, 1.0, i == j)); }
    for (var s = 0u; s < p.k; s++) {
      let i = p.k - 1u - s;
      let t = tau[u32(p.tauo) + group * p.k + i];
      if (j >= i && lsize(t) != 0.0) { reflect(base + i * p.n + i, p.n, t, to + i * p.n + j, p.n, p.m - i); }
    }
  }`,
};

/** Rotates rows i and j of a matrix with `width` columns. */
const rotated = (rows: string, base: string, width: string): string => `  for (var k = 0u; k < ${width}; k++) {
    var x = ${rows}[${base} + i * ${width} + k];
    var y = ${rows}[${base} + j * ${width} + k];
    rotate(&x, &y, c, s, phase);
    ${rows}[${base} + i * ${width} + k] = x;
    ${rows}[${base} + j * ${width} + k] = y;
  }`;

/** One-sided Jacobi. In a round each lane rotates one pair of rows; in r - 1 rounds every row meets every other. */
const JACOBI: Body = {
  reads: [],
  writes: ["a", "v"],
  words: ["r", "m"],
  globals: `var<workgroup> turned: array<u32, ${LANES}>;
var<workgroup> again: u32;
fn rotate(x: ptr<function, T>, y: ptr<function, T>, c: f32, s: f32, phase: T) {
  let yy = lm(*y, phase);
  let xx = *x;
  *x = xx * c - yy * s;
  *y = xx * s + yy * c;
}
fn meet(base: u32, vbase: u32, i: u32, j: u32) -> u32 {
  var ii = 0.0;
  var jj = 0.0;
  var dot = lof(0.0);
  for (var k = 0u; k < p.m; k++) {
    let x = a[base + i * p.m + k];
    let y = a[base + j * p.m + k];
    ii = ii + lnorm2(x);
    jj = jj + lnorm2(y);
    dot = dot + lm(lconj(x), y);
  }
  let g = labs(dot);
  if (!(g > 2e-7 * sqrt(ii) * sqrt(jj)) || g < 1e-37) { return 0u; }
  let h = tl_div(jj - ii, 2.0 * g);
  let t = tl_div(select(-1.0, 1.0, h >= 0.0), abs(h) + tl_hypot(h, 1.0));
  let c = tl_div(1.0, tl_sqrt(t * t + 1.0));
  let s = c * t;
  let phase = lconj(dot * tl_div(1.0, g));
${rotated("a", "base", "p.m")}
${rotated("v", "vbase", "p.r")}
  return 1u;
}`,
  main: `  let base = u32(p.ao) + group * p.r * p.m;
  let vbase = u32(p.vo) + group * p.r * p.r;
  for (var e = lane; e < p.r * p.r; e += ${LANES}u) { v[vbase + e] = lof(select(0.0, 1.0, e / p.r == e % p.r)); }
  ${SYNC}
  let others = max(p.r + (p.r & 1u), 2u) - 1u;
  for (var sweep = 0; sweep < 30; sweep++) {
    var some = 0u;
    for (var round = 0u; round < others; round++) {
      for (var k = lane; k <= others / 2u; k += ${LANES}u) {
        let i = (round + k) % others;
        let j = select((round + others - k) % others, others, k == 0u);
        if (i < p.r && j < p.r) { some = some | meet(base, vbase, min(i, j), max(i, j)); }
      }
      ${SYNC}
    }
    turned[lane] = some;
    workgroupBarrier();
    if (lane == 0u) {
      again = 0u;
      for (var l = 0u; l < ${LANES}u; l++) { again = again | turned[l]; }
    }
    if (workgroupUniformLoad(&again) == 0u) { break; }
  }`,
};

const BODIES: { readonly [O in LinalgParams["op"]]: Body } = {
  lu: LU,
  swap: SWAP,
  trsm: TRSM,
  cholesky: CHOLESKY,
  geqrf: GEQRF,
  orgqr: ORGQR,
  jacobi: JACOBI,
};

/**
 * Buffers: the op's inputs, then its outputs, all dense and row-major. Uniforms: batches, the op's words, an offset for
 * each buffer.
 */
export function linalg(params: LinalgParams): Kernel {
  const { op, complex = false } = params;
  if (!Object.hasOwn(BODIES, op)) throw new UnsupportedKernelError("linalg", String(op));
  const b = BODIES[op];
  const element = complex ? "vec2<f32>" : "f32";
  const bind =
    (access: Binding["access"]) =>
    (name: string): Binding => ({ name, type: `array<${b.whole?.includes(name) ? "i32" : element}>`, access });
  const bindings = [...b.reads.map(bind("read")), ...b.writes.map(bind("read_write"))];
  const uniforms: UniformWord[] = [
    ...uniform("u32", "batches", ...b.words),
    ...offsets(...bindings.map((x) => x.name)),
  ];
  const wgsl = buildModule({
    bindings,
    uniforms,
    globals: ARITHMETIC(complex) + "\n" + (b.globals ?? ""),
    main: `  if (group >= p.batches) { return; }\n${b.main}`,
    workgroup: LANES,
  });
  return {
    key: kernelKey("linalg", params),
    bindings,
    uniforms,
    wgsl,
    workgroups: (u) => linearGrid(value(u, "batches"), 1),
  };
}
