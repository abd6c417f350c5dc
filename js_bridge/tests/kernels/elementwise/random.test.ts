import { expect } from "vitest";
import { fused } from "../../../src/kernels/elementwise/fused";
import type { DType } from "../../../src/kernels/spec";
import { close, runOne, test } from "../../../test_support/run_kernel";

/** Philox 4x32-10, from its paper. */
function philox(counter: number[], key: number[]): number[] {
  let [c, k] = [counter.map(BigInt), key.map(BigInt)];
  for (let i = 0; i < 10; i++) {
    const a = 0xd2511f53n * c[0]!,
      b = 0xcd9e8d57n * c[2]!;
    c = [(b >> 32n) ^ c[1]! ^ k[0]!, b & 0xffffffffn, (a >> 32n) ^ c[3]! ^ k[1]!, a & 0xffffffffn];
    k = [(k[0]! + 0x9e3779b9n) & 0xffffffffn, (k[1]! + 0xbb67ae85n) & 0xffffffffn];
  }
  return c.map(Number);
}

async function draw(
  random: "uniform" | "normal" | "bits",
  dtype: DType,
  n: number,
  seed: [number, number],
  offset = 0,
  layout: "c" | "s" = "c",
): Promise<number[]> {
  const kernel = fused({
    ndim: layout === "s" ? 1 : 0,
    inputs: [],
    nodes: [{ random, stream: 0, dtype }],
    outputs: [{ node: 0, dtype, layout }],
  });
  const r = await runOne(
    kernel,
    { n, size0: n, q0o: 0, q0s0: 1, s0: seed[0], s0h: seed[1], s0o: offset },
    { out: { dtype, zeros: n } },
  );
  return r["out"]!;
}

test("the generator is Philox", async () => {
  expect(philox([0, 0, 0, 0], [0, 0]).map((v) => v.toString(16))).toEqual([
    "6627e8d5",
    "e169c58d",
    "bc57ac4c",
    "9b00dbd8",
  ]); // a published vector
  const n = 40,
    seed: [number, number] = [0x12345678, 0x9abcdef0];
  const words = Array.from({ length: n }, (_, i) => philox([i, 7, 0, 0], seed));
  expect(await draw("uniform", "float32", n, seed, 7)).toEqual(words.map((w) => (w[0]! >>> 8) / 2 ** 24));
  expect(await draw("uniform", "float32", n, seed, 7, "s")).toEqual(words.map((w) => (w[0]! >>> 8) / 2 ** 24));
  expect(await draw("bits", "int32", n, seed, 7)).toEqual(words.map((w) => w[0]! & 0x7fffffff));
  close(
    await draw("normal", "float32", n, seed, 7),
    words.map(
      (w) =>
        Math.sqrt(-2 * Math.log(((w[0]! >>> 8) + 1) / 2 ** 24)) * Math.cos((2 * Math.PI * (w[1]! >>> 8)) / 2 ** 24),
    ),
    2e-6,
    1e-6,
  );
});

test("moments", async () => {
  const n = 100000;
  for (const [kind, mean, variance] of [
    ["uniform", 0.5, 1 / 12],
    ["normal", 0, 1],
  ] as const) {
    const x = await draw(kind, "float32", n, [42, 0]);
    const m = x.reduce((a, b) => a + b, 0) / n;
    expect(Math.abs(m - mean)).toBeLessThan(0.01);
    expect(Math.abs(x.reduce((a, b) => a + (b - m) ** 2, 0) / n - variance)).toBeLessThan(0.02);
  }
});
