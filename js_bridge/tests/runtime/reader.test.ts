import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HEADER_WORDS, PACK } from "../../src/runtime/builtin";
import { unpack } from "../../src/runtime/canvas";
import { Pump } from "../../src/runtime/pump";
import type { Runtime } from "../../src/runtime/runtime";
import { INC, REST, Writer, bits, closeAll, floats, gpu, open, define, newHandle } from "../../test_support/gpu";

describe.skipIf(!gpu)("reader", () => {
  let r: Runtime;
  let inc: number;

  beforeAll(async () => {
    r = await open({ chunk: 8192, snapshot: 32768 });
    inc = define(r, "inc", INC);
  });
  afterAll(closeAll);

  it("reads what the slot held when it was asked, with other reads pending", async () => {
    const a = newHandle();
    new Writer().alloc(a, 256).fill(a, 0, REST, 0).run(r);
    const reads: Promise<number[]>[] = [];
    for (let i = 0; i < 20; i++) {
      reads.push(floats(r, a, 64));
      new Writer().dispatch(inc, 1, [a]).run(r);
    }
    r.slots.free(a); // and freed while all of them wait
    const b = newHandle();
    new Writer().alloc(b, 256).fill(b, 0, REST, bits(99)).run(r);
    const got = await Promise.all(reads.reverse());
    expect(got.reverse().map((x) => x[63])).toEqual(Array.from({ length: 20 }, (_, i) => i));
    r.slots.free(b);
  });

  it("starts reads from within a read", async () => {
    const a = newHandle();
    new Writer().alloc(a, 16).fill(a, 0, REST, bits(1)).run(r);
    const nested = floats(r, a, 1).then(async ([x]) => {
      new Writer().dispatch(inc, 1, [a]).run(r);
      const inner = await floats(r, a, 1);
      return [x, inner[0]];
    });
    expect(await nested).toEqual([1, 2]);
    r.slots.free(a);
  });

  it("reads in chunks and at odd offsets", async () => {
    const a = newHandle();
    const n = 100_003;
    const data = Uint8Array.from({ length: n }, (_, i) => (i * 7 + (i >> 8)) & 255);
    r.slots.alloc(a, n);
    r.stream.execute(Uint32Array.from(new Writer().upload(a, 0, n, 0).words), 0, 5, data.buffer);
    const got = await r.reader.read(a, 0, n);
    expect(got).toEqual(data);
    for (const [at, bytes] of [
      [1, 5],
      [8191, 2],
      [3, 70_001],
      [n - 1, 1],
      [17, 0],
    ] as const) {
      expect(await r.reader.read(a, at, bytes)).toEqual(data.subarray(at, at + bytes));
    }
    await expect(r.reader.read(a, n, 20)).rejects.toThrow(/outside of slot/);
    r.slots.free(a);
  });

  it("says why a synchronous read is not possible", () => {
    const a = newHandle();
    r.slots.alloc(a, 16);
    expect(() => r.reader.readSync(a, 0, 4)).toThrow(
      /cannot be read synchronously here: there is no OffscreenCanvas - use the async/,
    );
    expect(r.reader.problems()).toEqual({ map: "", canvas: "there is no OffscreenCanvas" });
    r.slots.free(a);
  });

  it("drives a GPU that has to be asked (Firefox)", async () => {
    const pumped = await open({ pump: true });
    const a = newHandle();
    new Writer().alloc(a, 16).fill(a, 0, REST, bits(5)).run(pumped);
    expect(await Promise.all([floats(pumped, a, 4), floats(pumped, a, 1)])).toEqual([[5, 5, 5, 5], [5]]);
    await pumped.synchronize();
    await expect(new Pump(pumped.holder, true).wait(Promise.reject(new Error("no")))).rejects.toThrow("no");
  });

  it("packs words into opaque pixels and takes them out again", async () => {
    const id = define(r, "pack", PACK);
    const n = 1000;
    const words = Uint32Array.from({ length: n }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 0);
    const groups = Math.ceil((n + HEADER_WORDS) / 3);
    const [a, p] = [newHandle(), newHandle()];
    const head = [1, 2, 0xfedcba98] as const;
    new Writer()
      .alloc(a, n * 4)
      .alloc(p, groups * 16)
      .write(a, 0, words)
      .dispatch(id, Math.ceil(groups / 256), [a, p, a], [0, n, groups, 0, ...head, 0])
      .run(r);
    const pixels = new Uint32Array((await r.reader.read(p, 0, groups * 16)).slice().buffer);
    expect(pixels.every((x) => x >>> 24 === 255)).toBe(true);
    for (const count of [n, n - 1, n - 2, 1]) {
      const out = new Uint32Array(count);
      unpack(pixels, head, out);
      expect(out).toEqual(words.subarray(0, count));
    }
    expect(() => unpack(new Uint32Array(pixels.length), head, new Uint32Array(3))).toThrow(
      /did not give back what the GPU wrote/,
    );
    expect(() => unpack(pixels, [1, 2, 3], new Uint32Array(3))).toThrow(/device may be lost/);
  });
});
