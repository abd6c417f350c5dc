/**
 * Reading without waiting: a canvas that WebGPU draws to gives its pixels back at once through a 2D canvas. Three bytes
 * of payload per pixel and an opaque alpha come back exact in Chromium and Firefox; with a translucent alpha they do
 * not.
 *
 * A browser may give zeros, or an older picture, instead of an error. So each read carries a header that no other has,
 * and a probe on a device of its own decides at the start whether this way is open at all: where it is not, trying it
 * can cost the device.
 */
import { TEXTURE_COPY_DST, Usage } from "./constants";
import type { Marks } from "./batches";
import { HEADER_WORDS, MARKS, PACK } from "./builtin";
import { answered } from "./device";
import { ReadError } from "./errors";

const WIDTH = 256; // pixels; one row is 1024 bytes, and rows in copies to textures are multiples of 256
const MAGIC = 0x7e57ab1e;

interface Surface {
  readonly canvas: OffscreenCanvas;
  readonly context: GPUCanvasContext;
  readonly picture: OffscreenCanvasRenderingContext2D;
}

export class CanvasReader {
  readonly #device: GPUDevice;
  readonly #align: number;
  readonly #rows: number;
  readonly #surfaces = new Map<number, Surface>();
  #pipeline: GPUComputePipeline | null = null;
  #uniforms: GPUBuffer | null = null;
  #pixels: GPUBuffer | null = null;
  #count = 0;

  constructor(
    device: GPUDevice,
    limits: { readonly minStorageBufferOffsetAlignment: number; readonly maxTextureDimension2D: number },
  ) {
    this.#device = device;
    this.#align = limits.minStorageBufferOffsetAlignment;
    this.#rows = Math.min(4096, 2 ** Math.floor(Math.log2(limits.maxTextureDimension2D)));
  }

  static possible(): boolean {
    return typeof OffscreenCanvas !== "undefined";
  }

  /**
   * Reads words from a buffer; `offset` is in bytes, a multiple of 4. All work submitted before is done first. Returns
   * how many of the batches that `marks` names failed.
   */
  read(buffer: GPUBuffer, offset: number, out: Uint32Array, marks: Marks = { buffer, since: 0, count: 0 }): number {
    const most = this.#rows * WIDTH * 0.75 - HEADER_WORDS;
    let failed = 0;
    for (let done = 0; done < out.length; done += most) {
      failed = Math.max(
        failed,
        this.#readPart(buffer, offset + done * 4, out.subarray(done, Math.min(out.length, done + most)), marks),
      );
    }
    return failed;
  }

  /** Frees what it holds on the GPU. */
  clear(): void {
    this.#pixels?.destroy();
    this.#pixels = null;
    this.#surfaces.clear();
  }

  #readPart(buffer: GPUBuffer, offset: number, out: Uint32Array, marks: Marks): number {
    const groups = Math.ceil((out.length + HEADER_WORDS) / 3);
    const rows = 2 ** Math.ceil(Math.log2(Math.max(1, (groups * 4) / WIDTH)));
    const device = this.#device;
    const head = [MAGIC, ++this.#count >>> 0, Math.floor(Math.random() * 2 ** 32)] as const;
    const base = Math.floor(offset / this.#align) * this.#align;
    const pipeline = this.#getPipeline();
    const pixels = this.#getPixels(rows * WIDTH * 4);
    this.#uniforms ??= device.createBuffer({ size: 32, usage: Usage.UNIFORM | Usage.COPY_DST });
    device.queue.writeBuffer(
      this.#uniforms,
      0,
      Uint32Array.of((offset - base) / 4, out.length, groups, marks.since, ...head, marks.count),
    );

    const size = Math.ceil((offset - base + out.length * 4) / 4) * 4;
    const group = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [
        { binding: 0, resource: { buffer, offset: base, size } },
        { binding: 1, resource: { buffer: pixels } },
        { binding: 2, resource: { buffer: marks.buffer } },
      ],
    });
    const params = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(1),
      entries: [{ binding: 0, resource: { buffer: this.#uniforms } }],
    });
    const surface = this.#surface(rows);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.setBindGroup(1, params);
    pass.dispatchWorkgroups(Math.ceil(groups / 256));
    pass.end();
    encoder.copyBufferToTexture(
      { buffer: pixels, bytesPerRow: WIDTH * 4 },
      { texture: surface.context.getCurrentTexture() },
      [WIDTH, rows],
    );
    device.queue.submit([encoder.finish()]);

    const used = Math.ceil((groups * 4) / WIDTH);
    surface.picture.drawImage(surface.canvas, 0, 0);
    const image = surface.picture.getImageData(0, 0, WIDTH, used);
    return unpack(new Uint32Array(image.data.buffer), head, out);
  }

  #getPipeline(): GPUComputePipeline {
    this.#pipeline ??= this.#device.createComputePipeline({
      label: "torchlite.pack",
      layout: "auto",
      compute: { module: this.#device.createShaderModule({ code: PACK.wgsl }), entryPoint: "main" },
    });
    return this.#pipeline;
  }

  #getPixels(bytes: number): GPUBuffer {
    if (!this.#pixels || this.#pixels.size < bytes) {
      this.#pixels?.destroy();
      this.#pixels = this.#device.createBuffer({ size: bytes, usage: Usage.STORAGE | Usage.COPY_SRC });
    }
    return this.#pixels;
  }

  #surface(rows: number): Surface {
    const known = this.#surfaces.get(rows);
    if (known) return known;
    const canvas = new OffscreenCanvas(WIDTH, rows);
    const context = canvas.getContext("webgpu");
    const picture = new OffscreenCanvas(WIDTH, rows).getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
    if (!context || !picture) throw new ReadError("[read] this browser gives no WebGPU canvas to read from");
    context.configure({ device: this.#device, format: "rgba8unorm", usage: TEXTURE_COPY_DST, alphaMode: "opaque" });
    picture.globalCompositeOperation = "copy";
    const surface: Surface = { canvas, context, picture };
    this.#surfaces.set(rows, surface);
    return surface;
  }
}

/**
 * Takes the words out of pixels as PACK makes them, after a look at the header; returns the number of failed batches.
 */
export function unpack(pixels: Uint32Array, head: readonly [number, number, number], out: Uint32Array): number {
  const found: [number, number, number] = [0, 0, 0];
  unpackGroup(pixels, 0, found, 0);
  const failed = (found[2] - head[2]) >>> 0;
  if (found[0] !== head[0] || found[1] !== head[1] || failed > MARKS) {
    throw new ReadError(
      "[read] the canvas did not give back what the GPU wrote (the device may be lost) - use an asynchronous read",
    );
  }
  const whole = Math.floor(out.length / 3);
  for (let g = 0; g < whole; g++) unpackGroup(pixels, (g + 1) * 4, out, g * 3);
  if (whole * 3 < out.length) {
    const rest: [number, number, number] = [0, 0, 0];
    unpackGroup(pixels, (whole + 1) * 4, rest, 0);
    for (let i = whole * 3; i < out.length; i++) out[i] = rest[i - whole * 3] ?? 0;
  }
  return failed;
}

function unpackGroup(pixels: Uint32Array, from: number, out: { [index: number]: number }, to: number): void {
  const a = pixels[from] ?? 0;
  const b = pixels[from + 1] ?? 0;
  const c = pixels[from + 2] ?? 0;
  const d = pixels[from + 3] ?? 0;
  out[to] = ((a & 0xffffff) | (b << 24)) >>> 0;
  out[to + 1] = (((b >>> 8) & 0xffff) | (c << 16)) >>> 0;
  out[to + 2] = (((c >>> 16) & 0xff) | (d << 8)) >>> 0;
}

export const NO_ADAPTER = "there is no adapter";
/** What probeCanvas says where it did nothing on a GPU. */
export const UNTRIED: ReadonlySet<string> = new Set(["it was not tried", "there is no OffscreenCanvas", NO_ADAPTER]);

/**
 * Whether canvas reads work here: a known pattern, read back on a device made for it. Empty when they do, else the
 * reason. Must run before the real device is made, as it may take the GPU process down.
 */
export async function probeCanvas(gpu: GPU): Promise<string> {
  if (!CanvasReader.possible()) return "there is no OffscreenCanvas";
  let device: GPUDevice | null = null;
  try {
    const adapter = await answered(gpu.requestAdapter());
    if (!adapter) return NO_ADAPTER;
    device = await answered(adapter.requestDevice({ label: "torchlite canvas probe" }), undefined, (late) =>
      late.destroy(),
    );
    const words = Uint32Array.from({ length: 1000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 0);
    // NaNs, -0 and corner values of bytes
    words.set([0x7fc00001, 0xffc00000, 0x80000000, 0xffffffff, 0, 0x00ff00ff], 0);
    const buffer = device.createBuffer({ size: words.byteLength, usage: Usage.STORAGE | Usage.COPY_DST });
    device.queue.writeBuffer(buffer, 0, words);
    const out = new Uint32Array(words.length);
    new CanvasReader(device, device.limits).read(buffer, 0, out);
    return out.every((word, i) => word === words[i]) ? "" : "the canvas gave back other bytes than the GPU wrote";
  } catch (e) {
    return e instanceof Error ? e.message : String(e);
  } finally {
    device?.destroy();
  }
}
