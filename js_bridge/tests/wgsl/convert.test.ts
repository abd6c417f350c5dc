import { expect } from "vitest";
import { fused } from "../../src/kernels/elementwise/fused";
import type { DType } from "../../src/kernels/spec";
import { decode, encode, fromBf16, fromHalf, runSteps, test, toBf16, toHalf } from "../../test_support/run_kernel";

/** A cast of bits, contiguous (four at a time) or strided (one at a time); returns the result's bytes. */
async function cast(bytes: Uint8Array, n: number, from: DType, to: DType, strided: boolean): Promise<Uint8Array> {
  const layout = strided ? "s" : "c";
  const kernel = fused({
    ndim: strided ? 1 : 0,
    inputs: [{ dtype: from, layout }],
    nodes: [{ in: 0 }],
    outputs: [{ node: 0, dtype: to, layout }],
  });
  const r = await runSteps(
    [{ kernel, values: { n, size0: n, i0o: 0, i0s0: 1, q0o: 0, q0s0: 1 }, buffers: ["x", "y"] }],
    { x: bytes, y: encode(to, new Array<number>(n).fill(0)) },
  );
  return r["y"]!;
}

const KINDS = [
  ["float16", fromHalf, toHalf],
  ["bfloat16", fromBf16, toBf16],
] as const;
const ALL = Uint16Array.from({ length: 65536 }, (_, i) => i);

test.each(KINDS.flatMap(([d, from]) => [true, false].map((strided) => [d, strided, from] as const)))(
  "%s to float32, all there are, strided %s",
  async (d, strided, from) => {
    const got = decode("float32", await cast(new Uint8Array(ALL.buffer), 65536, d, "float32", strided), 65536);
    const wrong = got.flatMap((v, i) => (Object.is(v, from(i)) ? [] : [`${i.toString(16)}: ${v}`]));
    expect(wrong).toEqual([]);
  },
);

test.each(KINDS.flatMap(([d, from, to]) => [true, false].map((strided) => [d, strided, from, to] as const)))(
  "float32 to %s, between all neighbours, strided %s",
  async (d, strided, from, to) => {
    const words = new Uint32Array(65536 * 5),
      floats = new Float32Array(words.buffer);
    for (let i = 0; i < 65536; i++) {
      // the number, half-way to the next, the float32 on both sides of that, and one in between
      const a = from(i),
        b = from((i & 0x7fff) === 0x7bff && d === "float16" ? i : (i + 1) & 0xffff);
      const infinite = d === "float16" && (i & 0x7fff) === 0x7bff;
      floats.set([a, infinite ? Math.sign(a) * 65520 : (a + b) / 2, 0, 0, a + (b - a) * 0.3], 5 * i);
      words[5 * i + 2] = words[5 * i + 1]! + 1;
      words[5 * i + 3] = words[5 * i + 1]! - 1;
    }
    const n = words.length;
    const bytes = await cast(new Uint8Array(words.buffer), n, "float32", d, strided);
    const got = new Uint16Array(bytes.buffer, bytes.byteOffset, n);
    const wrong = [...got].flatMap((v, i) =>
      v === to(floats[i]!) || (Number.isNaN(floats[i]) && Number.isNaN(from(v)))
        ? []
        : [`${words[i]!.toString(16)}: ${v.toString(16)} not ${to(floats[i]!).toString(16)}`],
    );
    expect(wrong.slice(0, 10)).toEqual([]);
  },
);
