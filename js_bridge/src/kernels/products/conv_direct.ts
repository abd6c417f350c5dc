/**
 * Convolution without workgroup memory, for software adapters: they have no faster memory to share, and division costs
 * them most. An invocation computes some channels of four neighbouring places. It walks window and channels (or images
 * and pixels) in plain loops, so nothing is divided inside them.
 */
import { accessors, castTo } from "../../wgsl/access";
import { makeKernel } from "../../wgsl/module";
import { epilogue } from "../elementwise/epilogue";
import { BUFFERS, type ConvParams } from "./conv_params";
import { type Binding, type DType, type Kernel, linearGrid, type UniformWord, value, range } from "../spec";
import { pixels, product, ravel, sizesOf, unravel } from "../image/window";

const GROUP = 64;
const EACH = 4;

/** Bindings and uniforms are conv()'s; kchunk counts images here. */
export function convDirect(
  params: ConvParams,
  bindings: readonly Binding[],
  uniforms: readonly UniformWord[],
  outType: DType,
): Kernel {
  const { pass, dtype, bias, split, kernel, stride, padding, dilation } = params;
  const nd = kernel.length,
    taps = product(kernel);
  const px = `i32(${pixels(nd, "x")})`,
    py = `i32(${pixels(nd, "y")})`;
  const out = BUFFERS[pass][2];
  const after = params.after && epilogue(params.after, dtype);
  const four = range(EACH),
    dims = range(nd),
    high = params.rows ?? 4,
    down = range(high);
  const rows = down.map((r) => `let m${r} = min(mt + ${r}, i32(p.M) - 1);`).join(" ");
  const sum = down.map((r) => `c${r} += a${r} * b;`).join(" ");
  const nested = (open: readonly string[], body: string): string =>
    `${open.join(" ")}\n${body}\n${"}".repeat(open.length)}`;
  const windowLoops = dims.map((d) => `for (var w${d} = 0; w${d} < ${kernel[d]}; w${d}++) {`);
  const tap = ravel(
    dims.map((d) => `w${d}`),
    kernel.map((k) => `${k}`),
  );
  const wideInside = (q: number): string =>
    dims.map((d) => `(i${q}_${d} >= 0) & (i${q}_${d} < i32(p.x${d}))`).join(" & ");
  let body: string;
  if (pass === "weight") {
    const windows = kernel.map((k) => `${k}u`);
    const columnsOf = (q: number): string => `  let n${q} = min(nt + ${q}, i32(p.N) - 1); let ch${q} = n${q} / ${taps};
  ${unravel(`w${q}_`, `u32(n${q} % ${taps})`, windows)}
  ${dims.map((d) => `let s${q}_${d} = w${q}_${d} * ${dilation[d]} - ${padding[d]};`).join(" ")}`;
    const output = ravel(
      dims.map((d) => `o${d}`),
      sizesOf(nd, "y"),
    );
    const readX = (q: number): string => {
      const at = ravel(
        dims.map((d) => `i${q}_${d}`),
        sizesOf(nd, "x"),
      );
      return `${dims.map((d) => `let i${q}_${d} = o${d} * ${stride[d]} + s${q}_${d};`).join(" ")}
      let b${q} = select(0.0, ld_x(x${q} + ${at}), ${wideInside(q)});`;
    };
    const overOutputs = dims.map((d) => `for (var o${d} = 0; o${d} < i32(p.y${d}); o${d}++) {`);
    const eachOutput = `
      let at = row + ${output};
      ${down.map((r) => `let a${r} = ld_gy(at + m${r} * ${py});`).join(" ")}
      ${four.map(readX).join("\n      ")}
      let b = vec4<f32>(b0, b1, b2, b3); ${sum}`;
    body = `${four.map(columnsOf).join("\n")}
  ${rows}
  let images = i32(p.K) / ${py};
  let from_ = ${split ? "i32(part * p.kchunk)" : "0"};
  let to_ = ${split ? "min(images, i32((part + 1u) * p.kchunk))" : "images"};
  for (var img = from_; img < to_; img++) {
    let row = p.gyo + (img * i32(p.batches * p.cy) + grp * i32(p.cy)) * ${py};
    ${four.map((q) => `let x${q} = p.xo + (img * i32(p.batches * p.cx) + grp * i32(p.cx) + ch${q}) * ${px};`).join(" ")}
    ${nested(overOutputs, eachOutput)}
  }`;
  } else {
    const forward = pass === "forward";
    const [plane, image, from, load, depth] = forward ? [px, py, "o", "x", "cx"] : [py, px, "i", "gy", "cy"];
    // forward: the input that the output reads for this tap; gradient: the output that read this input for it
    const inputOf = (q: number, d: number): string =>
      `let i${q}_${d} = o${q}_${d} * ${stride[d]} + w${d} * ${dilation[d]} - ${padding[d]};`;
    const outputOf = (q: number, d: number): string => {
      const strided = stride[d] === 1 ? "" : ` / ${stride[d]}`;
      return `let q${q}_${d} = i${q}_${d} + ${padding[d]} - w${d} * ${dilation[d]};
                let o${q}_${d} = q${q}_${d}${strided};`;
    };
    const coords = (q: number): string => dims.map((d) => (forward ? inputOf : outputOf)(q, d)).join(" ");
    const narrowInside = (q: number, d: number): string => {
      const whole = stride[d] === 1 ? "" : `(q${q}_${d} % ${stride[d]} == 0) & `;
      return `(q${q}_${d} >= 0) & ${whole}(o${q}_${d} < i32(p.y${d}))`;
    };
    const inside = (q: number): string => (forward ? wideInside(q) : dims.map((d) => narrowInside(q, d)).join(" & "));
    const element = (q: number): string =>
      ravel(
        dims.map((d) => `${forward ? "i" : "o"}${q}_${d}`),
        sizesOf(nd, forward ? "x" : "y"),
      );
    const sizes = sizesOf(nd, forward ? "y" : "x");
    // the place after that of q - 1: incremented, not divided; it stops at the last place
    const next = (q: number): string =>
      dims
        .map((_, e) => nd - 1 - e)
        .map((d) => {
          const step = d === nd - 1 ? `select(0, 1, nt + ${q} < i32(p.N))` : `over${q}_${d + 1}`;
          return `let up${q}_${d} = ${from}${q - 1}_${d} + ${step};
              let over${q}_${d} = select(0, 1, up${q}_${d} == i32(${sizes[d]}));
              let ${from}${q}_${d} = select(up${q}_${d}, 0, over${q}_${d} == 1);`;
        })
        .join(" ");
    const placeOf = (q: number): string =>
      q === 0
        ? `  let img0 = nt / ${image}; ${unravel(`${from}0_`, `u32(nt % ${image})`, sizes)}`
        : `  ${next(q)} let img${q} = img${q - 1} + over${q}_0;`;
    const filter = (r: number): string =>
      forward ? `(grp * i32(p.M) + m${r}) * i32(p.K)` : `(grp * i32(p.cy) * i32(p.M) + m${r}) * ${taps}`;
    const filterStep = forward ? `${taps}` : `i32(p.M) * ${taps}`;
    body = `${four
      .map(
        (q) => `${placeOf(q)}
  let base${q} = p.${load}o + (img${q} * i32(p.batches * p.${depth}) + grp * i32(p.${depth})) * ${plane};`,
      )
      .join("\n")}
  ${rows}
  ${nested(
    windowLoops,
    `    let t = ${tap};
    ${four.map((q) => `${coords(q)} let in${q} = ${inside(q)}; let at${q} = base${q} + ${element(q)};`).join("\n    ")}
    ${down.map((r) => `let k${r} = p.wo + t + ${filter(r)};`).join(" ")}
    for (var ch = 0; ch < i32(p.${depth}); ch++) {
      let skip = ch * ${plane}; let k = ch * ${filterStep};
      ${four.map((q) => `let b${q} = select(0.0, ld_${load}(at${q} + skip), in${q});`).join("\n      ")}
      let b = vec4<f32>(b0, b1, b2, b3);
      ${down.map((r) => `c${r} += ld_w(k${r} + k) * b;`).join(" ")}
    }`,
  )}`;
  }
  const place = `i32(${pass === "input" ? px : py})`;
  // the offset of column n in the result, and the stride of its rows
  const column =
    pass === "weight"
      ? (q: number) => `nt + ${q}`
      : (q: number) => `img${q} * i32(p.batches * p.M - 1u) * ${place} + nt + ${q}`;
  const index = `(grp * i32(p.M) + m) * ${pass === "weight" ? "i32(p.N)" : place} + at`;
  const v = castTo(bias && !split ? "v + ld_bias(p.biaso + grp * i32(p.M) + m)" : "v", "float32", outType);
  const to = bindings.at(-1)!.name;
  const outPlace = split ? "base" : `p.${out}o + base`;
  const put = after ? `finish(base + ${index}, ${v})` : `st_${to}(${outPlace} + ${index}, ${v})`;
  const setup = split
    ? "  let part = zz % p.splits; grp = i32(zz / p.splits); base = i32(part * p.batches * p.M * p.N);"
    : "  grp = i32(zz);";
  const globals = `var<private> grp: i32; var<private> base: i32;
${bindings
  .slice(0, bias ? 3 : 2)
  .map((b) => accessors(b.name, dtype, "elem", false))
  .join("\n")}
${after?.globals ?? accessors(to, outType, outType === "float32" ? "elem" : "atomic", true)}
fn store(m: i32, n: i32, at: i32, v: f32) {
  if ((m < i32(p.M)) & (n < i32(p.N))) { ${put}; }
}`;
  const main = `  let tiles_n = (p.N + ${EACH - 1}u) / ${EACH}u;
  let tiles = tiles_n * ((p.M + ${high - 1}u) / ${high}u);
  let zz = gid / tiles;
  if (zz >= p.batches${split ? " * p.splits" : ""}) { return; }
${setup}
  let tile = gid % tiles;
  let mt = i32(tile / tiles_n) * ${high}; let nt = i32(tile % tiles_n) * ${EACH};
  ${down.map((r) => `var c${r} = vec4<f32>(0.0);`).join(" ")}
${body}
${four.map((q) => `  let at${q} = ${column(q)};`).join("\n")}
${down.flatMap((r) => four.map((q) => `  store(mt + ${r}, nt + ${q}, at${q}, c${r}[${q}]);`)).join("\n")}`;
  return makeKernel("conv", params, { bindings, uniforms, globals, main, workgroup: GROUP }, (u) =>
    linearGrid(
      Math.ceil(value(u, "M") / high) *
        Math.ceil(value(u, "N") / EACH) *
        value(u, "batches") *
        (split ? value(u, "splits") : 1),
      GROUP,
    ),
  );
}
