/** Kernels that the runtime itself needs. */
import type { KernelSource } from "./kernel";

/** Writes a 32-bit pattern: first word, number of words, pattern. */
export const FILL: KernelSource = {
  access: "w",
  uniformWords: 4,
  wgsl: `
struct Params { first: u32, count: u32, pattern: u32, pad: u32 }
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(1) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) wg: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) l: u32,
) {
  let i = (wg.x + nwg.x * (wg.y + nwg.y * wg.z)) * 256u + l;
  if (i < p.count) { data[p.first + i] = p.pattern; }
}`,
};

/** Batches whose acceptance by the GPU is known at a time. */
export const MARKS = 1024;

/** Words at the head of a canvas read, by which one read is not mistaken for another. */
export const HEADER_WORDS = 3;

/**
 * Packs words into pixels that a canvas gives back unchanged: three bytes of payload and an opaque alpha each, so three
 * words make four pixels. The first three words of \`head\` go first. If the reader does not find them again, it got
 * something else than this read. To the third one is added how many of the \`head.w\` batches from \`since\` on left no
 * mark (see Batches).
 */
export const PACK: KernelSource = {
  access: "rwr",
  uniformWords: 8,
  wgsl: `
struct Params { first: u32, words: u32, groups: u32, since: u32, head: vec4<u32> }
@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> pixels: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(1) @binding(0) var<uniform> p: Params;
fn word(i: u32) -> u32 {
  if (i < p.words) { return data[p.first + i]; }
  return 0u;
}
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) wg: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) l: u32,
) {
  let g = (wg.x + nwg.x * (wg.y + nwg.y * wg.z)) * 256u + l;
  if (g >= p.groups) { return; }
  var a = p.head.x; var b = p.head.y; var c = p.head.z;
  if (g == 0u) {
    for (var i = 0u; i < p.head.w; i++) { c += select(0u, 1u, marks[(p.since + i) % ${MARKS}u] != 0u); }
  }
  if (g > 0u) { let i = (g - 1u) * 3u; a = word(i); b = word(i + 1u); c = word(i + 2u); }
  let payload = vec4<u32>(
    a & 0xffffffu, (a >> 24u) | ((b & 0xffffu) << 8u), (b >> 16u) | ((c & 0xffu) << 16u), c >> 8u);
  pixels[g] = payload | vec4<u32>(0xff000000u);
}`,
};
