/**
 * Convolution in one to three dims as an implicit matrix product (no unfolded image in memory), with groups; NCHW
 * images and OIHW weights, contiguous. float32 accumulation for float32, float16 and bfloat16.
 *   forward   y[oc, pixel] = sum over (ic, window)   w[oc, ic, window] x[ic, pixel under the window]
 *   input     gradient of x; also the forward of the transposed convolution
 *   weight    gradient of w: sum over batch and pixels; long sums are cut in parts
 * Depthwise convolutions (one input channel a group) have direct kernels in depthwise.ts.
 */
import { accessors, castTo, halfForm, input, outForm, output } from "../../wgsl/access";
import { convDirect } from "./conv_direct";
import { BUFFERS, type ConvParams } from "./conv_params";
import { type EpilogueGraph, epilogue } from "../elementwise/epilogue";
import { chooseTile, gemm, splitK, TILES } from "./gemm";
import { joinParts } from "./matmul_sums";
import {
  type Prologue,
  prologueBuffers,
  flat,
  flatAccessor,
  flatWords,
  prologueStep,
  cheaperInline,
} from "../elementwise/prologue";
import {
  type Binding,
  computeOf,
  type DType,
  type Kernel,
  type Step,
  type UniformWord,
  offsets,
  uniform,
  UnsupportedKernelError,
  type Values,
  value,
  range,
} from "../spec";
import {
  imageWords,
  narrowCoords,
  pixels,
  product,
  ravel,
  sizesOf,
  unravel,
  wideCoords,
  type Window,
} from "../image/window";

/**
 * Uniforms: M, N, K, batches (= groups), [splits, kchunk]; images; cx, cy: channels of the wide and narrow image in one
 * group; <buffer>o where each buffer begins (part has none). Buffers: forward x, w, [bias], y; input gy, w, [bias], gx;
 * weight gy, x, gw (part when split: float32).
 */
export function conv(params: ConvParams): Kernel {
  const { pass, dtype, bias, split } = params;
  const after = params.after && epilogue(params.after, dtype);
  if (computeOf(dtype) !== "f32") throw new UnsupportedKernelError("convolution", dtype);
  const nd = params.kernel.length;
  const taps = product(params.kernel);
  const win = params.kernel.map((k) => `${k}u`);
  const outType: DType = split ? "float32" : dtype;
  const [first, second, out] = BUFFERS[pass];
  const operands = [
    [first, params.first],
    [second, params.second],
  ] as const;
  const half = (before: unknown): boolean => params.f16 === true && dtype === "float16" && !before;
  const bindings: Binding[] = operands.flatMap(([name, before]) =>
    before ? prologueBuffers(before, name) : [input(name, dtype, halfForm(half(before)))],
  );
  if (bias && !split) bindings.push(input("bias", dtype));
  bindings.push(...(after?.bindings ?? [output(out, outType)]));
  const uniforms: UniformWord[] = [
    ...uniform("u32", "M", "N", "K", "batches", ...(split ? ["splits", "kchunk"] : [])),
    ...imageWords(nd),
    ...uniform("u32", "cx", "cy"),
    ...offsets(first, second),
    ...(bias && !split ? offsets("bias") : []),
    ...(split ? [] : offsets(out)),
    ...operands.flatMap(([name, before]) => (before ? flatWords(before, name) : [])),
    ...(after?.uniforms ?? []),
  ];

  if (params.tile === "direct") return convDirect(params, bindings, uniforms, outType);

  const P = (t: "x" | "y"): string => pixels(nd, t);
  const [halfA, halfB] = (pass === "weight" ? [first, second] : [second, first]).map((name) =>
    half(name === first ? params.first : params.second),
  ) as [boolean, boolean];
  const typeA = halfA ? "f16" : "f32",
    typeB = halfB ? "f16" : "f32";
  const element = (name: string, at: string): string =>
    half(name === first ? params.first : params.second) ? `${name}[${at}]` : `ld_${name}(${at})`;
  const at = (name: string, t: "x" | "y", img: string, ch: string, coords: string[]): string =>
    element(
      name,
      `p.${name}o + ((${img}) * i32(p.batches * p.c${t}) + grp * i32(p.c${t}) + ${ch}) * i32(${P(t)})` +
        ` + ${ravel(coords, sizesOf(nd, t))}`,
    );
  const I = range(nd).map((d) => `i${d}`),
    O = range(nd).map((d) => `o${d}`);
  const wide = wideCoords(params),
    narrow = narrowCoords(params);
  const mGuard = "m >= i32(p.M) || k >= k_end",
    nGuard = "n >= i32(p.N) || k >= k_end";
  let body: string;
  if (pass === "forward") {
    body = `fn load_a(m: i32, k: i32) -> ${typeA} {
  if (${mGuard}) { return 0.0; } return ${element("w", "p.wo + (grp * i32(p.M) + m) * i32(p.K) + k")};
}
fn load_b(k: i32, n: i32) -> ${typeB} {
  if (${nGuard}) { return 0.0; }
  let ch = k / ${taps}; let img = n / i32(${P("y")});
  ${unravel("w", `u32(k % ${taps})`, win)} ${unravel("o", `u32(n) % (${P("y")})`, sizesOf(nd, "y"))}
  ${wide.lets}
  if (${wide.inside}) { return ${at("x", "x", "img", "ch", I)}; }
  return 0.0;
}`;
  } else if (pass === "input") {
    body = `fn load_a(m: i32, k: i32) -> ${typeA} {
  if (${mGuard}) { return 0.0; }
  return ${element("w", `p.wo + ((grp * i32(p.cy) + k / ${taps}) * i32(p.M) + m) * ${taps} + k % ${taps}`)};
}
fn load_b(k: i32, n: i32) -> ${typeB} {
  if (${nGuard}) { return 0.0; }
  let ch = k / ${taps}; let img = n / i32(${P("x")});
  ${unravel("w", `u32(k % ${taps})`, win)} ${unravel("i", `u32(n) % (${P("x")})`, sizesOf(nd, "x"))}
  ${narrow.lets}
  if (${narrow.inside}) { return ${at("gy", "y", "img", "ch", O)}; }
  return 0.0;
}`;
  } else {
    body = `fn load_a(m: i32, k: i32) -> ${typeA} {
  if (${mGuard}) { return 0.0; }
  let pix = i32(${P("y")});
  return ${element("gy", "p.gyo + ((k / pix) * i32(p.batches * p.cy) + grp * i32(p.cy) + m) * pix + k % pix")};
}
fn load_b(k: i32, n: i32) -> ${typeB} {
  if (${nGuard}) { return 0.0; }
  let ch = n / ${taps}; let img = k / i32(${P("y")});
  ${unravel("w", `u32(n % ${taps})`, win)} ${unravel("o", `u32(k) % (${P("y")})`, sizesOf(nd, "y"))}
  ${wide.lets}
  if (${wide.inside}) { return ${at("x", "x", "img", "ch", I)}; }
  return 0.0;
}`;
  }
  // number of elements of one image of the result, and the place of (m, n) in it
  const each = `i32(${P(pass === "forward" ? "y" : "x")})`;
  const index =
    pass === "weight"
      ? "(grp * i32(p.M) + m) * i32(p.N) + n"
      : `((n / ${each}) * i32(p.batches * p.M) + grp * i32(p.M) + m) * ${each} + n % ${each}`;
  const v = castTo(bias && !split ? "v + ld_bias(p.biaso + grp * i32(p.M) + m)" : "v", "float32", outType);
  const readers = operands.map(([name, before]) =>
    before ? flatAccessor(before, name, dtype) : accessors(name, dtype, halfForm(half(before)), false),
  );
  const outPlace = split ? "base" : `p.${out}o + base`;
  const put = after ? `finish(base + ${index}, ${v})` : `st_${out}(${outPlace} + ${index}, ${v})`;
  const globals = `var<private> grp: i32; var<private> base: i32;
fn setup(z: u32${split ? ", part: u32" : ""}) {
  grp = i32(z); base = ${split ? "i32(part * p.batches * p.M * p.N)" : "0"};
}
${readers.join("\n")}
${bias && !split ? accessors("bias", dtype, "elem", false) : ""}
${after?.globals ?? accessors(out, outType, outForm(outType), true)}
${body}
fn store(m: i32, n: i32, v: f32) { ${put}; }`;
  return gemm({
    family: "conv",
    params,
    tile: params.tile,
    bindings,
    uniforms,
    globals,
    aFast: "k",
    bFast: pass === "weight" ? "k" : "n",
    ...(halfA && { halfA }),
    ...(halfB && { halfB }),
    ...(split && { split }),
  });
}

export interface ConvPlan extends Window {
  readonly pass: ConvParams["pass"];
  readonly dtype: DType;
  readonly batch: number;
  readonly groups: number;
  /** Channels of the wide (convolution input) and narrow image, all groups together. */
  readonly wide: number;
  readonly narrow: number;
  readonly wideSize: readonly number[];
  readonly narrowSize: readonly number[];
  /** Prologues of the operands, and the words of both. */
  readonly first?: Prologue;
  readonly second?: Prologue;
  readonly operand?: Values;
  readonly bias?: boolean;
  readonly after?: EpilogueGraph;
  /** Offsets of the buffers: <buffer>o, 0 by default. */
  readonly offsets?: Values;
  /** The epilogue's words. */
  readonly rest?: Values;
  /** The adapter is a CPU (isFallbackAdapter). */
  readonly software?: boolean;
  /** Kernels may use f16. */
  readonly f16?: boolean;
}

const imageParts = (batch: number, splits: number): Values => {
  const kchunk = Math.ceil(batch / splits);
  return { kchunk, splits: Math.ceil(batch / kchunk) };
};

/** The kernels of one convolution pass. Buffer names as in conv(); scratch part: float32 of splits * elements of gw. */
export function planConv(c: ConvPlan): Step[] {
  const cx = c.wide / c.groups,
    cy = c.narrow / c.groups,
    taps = product(c.kernel);
  const px = product(c.wideSize),
    py = product(c.narrowSize);
  const [M, N, K] = {
    forward: [cy, c.batch * py, cx * taps] as const,
    input: [cx, c.batch * px, cy * taps] as const,
    weight: [cy, cx * taps, c.batch * py] as const,
  }[c.pass];
  const direct = c.software ?? false;
  const { tile, splits: cut } = direct ? { tile: "direct" as const, splits: 1 } : chooseTile(M, N, K, c.groups);
  // direct kernels: a part is a number of whole images, and there are enough parts for a few hundred invocations
  const few = M > 1 ? 4 : 1;
  const rows = M >= 8 ? 8 : few;
  const splits = direct
    ? Math.min(c.batch, Math.ceil(1024 / (Math.ceil(M / rows) * Math.ceil(N / 4) * c.groups)))
    : cut;
  const window = { kernel: c.kernel, stride: c.stride, padding: c.padding, dilation: c.dilation };
  const split = c.pass === "weight" && splits > 1;
  const names = BUFFERS[c.pass];
  const { bm, bn } = TILES[tile],
    words = c.operand ?? {};
  // how often the product reads an element of its first matrix, and of the image whose windows are its second matrix
  // (once for each place of the window)
  const plainly = Math.ceil(N / bn),
    windowed = taps * Math.ceil(M / bm);
  const times = c.pass === "weight" ? [plainly, windowed] : [windowed, plainly];
  const made = [c.first, c.second].map((before, i) =>
    before && !direct && flat(before) && cheaperInline(before, names[i]!, words, times[i]!, false) ? before : undefined,
  );
  const before: Step[] = [c.first, c.second].flatMap((b, i) =>
    b && !made[i] ? [prologueStep(b, c.dtype, names[i]!, words)] : [],
  );
  const moved = Object.fromEntries(
    made.flatMap((b, i) =>
      b ? [...b.inputs.map((_, k) => [`${names[i]}${k}o`, value(words, `${names[i]}_i${k}o`)] as const)] : [],
    ),
  );
  const kernel = conv({
    ...window,
    pass: c.pass,
    dtype: c.dtype,
    tile,
    ...(direct && { rows }),
    ...(c.f16 && !direct && c.dtype === "float16" && made.some((b) => !b) && { f16: true }),
    ...(made[0] && { first: made[0] }),
    ...(made[1] && { second: made[1] }),
    ...(split ? { split } : { ...(c.bias && { bias: true }), ...(c.after && { after: c.after }) }),
  });
  const images: Values = Object.fromEntries(
    c.wideSize.flatMap((s, d) => [
      [`x${d}`, s],
      [`y${d}`, c.narrowSize[d]!],
    ]),
  );
  const values: Values = {
    M,
    N,
    K,
    batches: c.groups,
    cx,
    cy,
    ...images,
    ...c.offsets,
    ...words,
    ...moved,
    ...c.rest,
    ...(split && (direct ? imageParts(c.batch, splits) : splitK(K, splits))),
  };
  if (split)
    return [
      ...before,
      { kernel, values, buffers: kernel.bindings.map((x) => (x.name === "gw" ? "part" : x.name)) },
      joinParts(c.groups * M * N, value(values, "splits"), c.dtype, c.offsets?.["gwo"] ?? 0, "gw"),
    ];
  return [...before, { kernel, values, buffers: kernel.bindings.map((x) => x.name) }];
}
