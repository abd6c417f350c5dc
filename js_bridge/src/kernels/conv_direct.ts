/**
 * Convolution without workgroup memory: an invocation computes four channels of four neighbouring places, and walks channels and
 * window (or images and pixels) in plain loops, so that no index is divided inside of them. For software adapters, which
 * have no faster memory to share; division is what costs them most.
 */
import { accessors, castTo } from "../wgsl/access.js";
import { buildModule } from "../wgsl/module.js";
import { activate } from "./epilogue.js";
import type { ConvParams } from "./conv.js";
import { type Binding, type DType, type Kernel, kernelKey, linearGrid, type UniformWord, value } from "./spec.js";
import { pixels, product, range, ravel, sizesOf, unravel } from "./window.js";

const GROUP = 64;
const EACH = 4;

/** Bindings and uniforms are conv()'s; kchunk counts images here. */
export function convDirect(params: ConvParams, bindings: readonly Binding[], uniforms: readonly UniformWord[], outType: DType): Kernel {
  const { pass, dtype, bias, act, split, kernel, stride, padding, dilation } = params;
  const nd = kernel.length, taps = product(kernel);
  const px = `i32(${pixels(nd, "x")})`, py = `i32(${pixels(nd, "y")})`;
  const out = pass === "forward" ? "y" : pass === "input" ? "gx" : "gw";
  const four = range(EACH), dims = range(nd);
  const rows = four.map((r) => `let m${r} = min(mt + ${r}, i32(p.M) - 1);`).join(" ");
  const sum = four.map((r) => `c${r} += a${r} * b;`).join(" ");
  const nested = (open: readonly string[], body: string): string => `${open.join(" ")}\n${body}\n${"}".repeat(open.length)}`;
  const windowLoops = dims.map((d) => `for (var w${d} = 0; w${d} < ${kernel[d]}; w${d}++) {`);
  const tap = ravel(dims.map((d) => `w${d}`), kernel.map((k) => `${k}`));
  const wideInside = (q: number): string => dims.map((d) => `(i${q}_${d} >= 0) & (i${q}_${d} < i32(p.x${d}))`).join(" & ");
  let body: string;
  if (pass === "weight") {
    body = `${four.map((q) => `  let n${q} = min(nt + ${q}, i32(p.N) - 1); let ch${q} = n${q} / ${taps};
  ${unravel(`w${q}_`, `u32(n${q} % ${taps})`, kernel.map((k) => `${k}u`))}
  ${dims.map((d) => `let s${q}_${d} = w${q}_${d} * ${dilation[d]} - ${padding[d]};`).join(" ")}`).join("\n")}
  ${rows}
  let images = i32(p.K) / ${py};
  let from_ = ${split ? "i32(part * p.kchunk)" : "0"}; let to_ = ${split ? "min(images, i32((part + 1u) * p.kchunk))" : "images"};
  for (var img = from_; img < to_; img++) {
    let row = p.gyo + (img * i32(p.batches * p.cy) + grp * i32(p.cy)) * ${py};
    ${four.map((q) => `let x${q} = p.xo + (img * i32(p.batches * p.cx) + grp * i32(p.cx) + ch${q}) * ${px};`).join(" ")}
    ${nested(dims.map((d) => `for (var o${d} = 0; o${d} < i32(p.y${d}); o${d}++) {`), `
      let at = row + ${ravel(dims.map((d) => `o${d}`), sizesOf(nd, "y"))};
      ${four.map((r) => `let a${r} = ld_gy(at + m${r} * ${py});`).join(" ")}
      ${four.map((q) => `${dims.map((d) => `let i${q}_${d} = o${d} * ${stride[d]} + s${q}_${d};`).join(" ")}
      let b${q} = select(0.0, ld_x(x${q} + ${ravel(dims.map((d) => `i${q}_${d}`), sizesOf(nd, "x"))}), ${wideInside(q)});`).join("\n      ")}
      let b = vec4<f32>(b0, b1, b2, b3); ${sum}`)}
  }`;
  } else {
    const forward = pass === "forward";
    const [plane, image, from, load, depth] = forward ? [px, py, "o", "x", "cx"] : [py, px, "i", "gy", "cy"];
    const coords = (q: number): string => (forward
      ? dims.map((d) => `let i${q}_${d} = o${q}_${d} * ${stride[d]} + w${d} * ${dilation[d]} - ${padding[d]};`)
      : dims.map((d) => `let q${q}_${d} = i${q}_${d} + ${padding[d]} - w${d} * ${dilation[d]}; let o${q}_${d} = q${q}_${d}${stride[d] === 1 ? "" : ` / ${stride[d]}`};`)).join(" ");
    const inside = (q: number): string => (forward ? wideInside(q)
      : dims.map((d) => `(q${q}_${d} >= 0) & ${stride[d] === 1 ? "" : `(q${q}_${d} % ${stride[d]} == 0) & `}(o${q}_${d} < i32(p.y${d}))`).join(" & "));
    const element = (q: number): string => ravel(dims.map((d) => `${forward ? "i" : "o"}${q}_${d}`), sizesOf(nd, forward ? "x" : "y"));
    body = `${four.map((q) => `  let n${q} = min(nt + ${q}, i32(p.N) - 1);
  ${unravel(`${from}${q}_`, `u32(n${q} % ${image})`, sizesOf(nd, forward ? "y" : "x"))}
  let base${q} = p.${load}o + ((n${q} / ${image}) * i32(p.batches * p.${depth}) + grp * i32(p.${depth})) * ${plane};`).join("\n")}
  ${rows}
  for (var ch = 0; ch < i32(p.${depth}); ch++) {
    let skip = ch * ${plane};
    ${four.map((r) => `let k${r} = p.wo + ${forward ? `(grp * i32(p.M) + m${r}) * i32(p.K) + ch * ${taps}` : `((grp * i32(p.cy) + ch) * i32(p.M) + m${r}) * ${taps}`};`).join(" ")}
    ${nested(windowLoops, `
      let t = ${tap};
      ${four.map((r) => `let a${r} = ld_w(k${r} + t);`).join(" ")}
      ${four.map((q) => `${coords(q)} let b${q} = select(0.0, ld_${load}(base${q} + skip + ${element(q)}), ${inside(q)});`).join("\n      ")}
      let b = vec4<f32>(b0, b1, b2, b3); ${sum}`)}
  }`;
  }
  const place = `i32(${pass === "input" ? px : py})`;
  const index = pass === "weight" ? "(grp * i32(p.M) + m) * i32(p.N) + n" : `((n / ${place}) * i32(p.batches * p.M) + grp * i32(p.M) + m) * ${place} + n % ${place}`;
  const v = castTo(activate(split ? undefined : act, bias && !split ? "v + ld_bias(p.biaso + grp * i32(p.M) + m)" : "v", outType), "float32", outType);
  const globals = `var<private> grp: i32; var<private> base: i32;
${bindings.slice(0, -1).map((b) => accessors(b.name, dtype, "elem", false)).join("\n")}
${accessors(bindings.at(-1)!.name, outType, outType === "float32" ? "elem" : "atomic", true)}
fn store(m: i32, n: i32, v: f32) { if (m < i32(p.M) && n < i32(p.N)) { st_${bindings.at(-1)!.name}(${split ? "" : `p.${out}o + `}base + ${index}, ${v}); } }`;
  const main = `  let tiles_n = (p.N + ${EACH - 1}u) / ${EACH}u;
  let tiles = tiles_n * ((p.M + ${EACH - 1}u) / ${EACH}u);
  let zz = gid / tiles;
  if (zz >= p.batches${split ? " * p.splits" : ""}) { return; }
${split ? "  let part = zz % p.splits; grp = i32(zz / p.splits); base = i32(part * p.batches * p.M * p.N);" : "  grp = i32(zz);"}
  let tile = gid % tiles;
  let mt = i32(tile / tiles_n) * ${EACH}; let nt = i32(tile % tiles_n) * ${EACH};
  ${four.map((r) => `var c${r} = vec4<f32>(0.0);`).join(" ")}
${body}
${four.flatMap((r) => four.map((q) => `  store(mt + ${r}, nt + ${q}, c${r}[${q}]);`)).join("\n")}`;
  return {
    key: kernelKey("conv", params), bindings, uniforms, wgsl: buildModule({ bindings, uniforms, globals, main, workgroup: GROUP }),
    workgroups: (u) => linearGrid(Math.ceil(value(u, "M") / EACH) * Math.ceil(value(u, "N") / EACH) * value(u, "batches") * (split ? value(u, "splits") : 1), GROUP),
  };
}
