import { expect } from "vitest";
import { planMatmul } from "../../../src/kernels/products/matmul";
import { matmul } from "../../../src/kernels/products/matmul_kernel";
import type { EpilogueGraph } from "../../../src/kernels/elementwise/epilogue";
import { TILES, type TileName } from "../../../src/kernels/products/gemm";
import type { DType } from "../../../src/kernels/spec";
import {
  close,
  device,
  fromBf16,
  fromHalf,
  pipelineOf,
  type Product as Case,
  productWords as layout,
  random,
  randomInts,
  runTensors,
  t,
  test,
  packUniforms,
  toBf16,
  toHalf,
} from "../../../test_support/run_kernel";

const round = (d: DType, x: number[]): number[] => {
  if (d === "float16") return x.map((v) => fromHalf(toHalf(v)));
  return d === "bfloat16" ? x.map((v) => fromBf16(toBf16(v))) : x;
};

async function check(c: Case, tile?: TileName, software = c.N !== 520, vec = false): Promise<void> {
  const { M, N, K } = c,
    B = c.batches ?? 1,
    d = c.dtype ?? "float32",
    out = c.out ?? d;
  const ints = d.startsWith("int");
  const gen = (n: number, seed: number): number[] =>
    ints ? randomInts(n, -50, 50, seed) : round(d, random(n, -1, 1, seed));
  const a = gen(B * M * K, 1),
    b = gen(B * K * N, 2),
    e = gen(M * N, 3);
  const v = layout(c);
  const [aFast, bFast] = [c.ta ? ("m" as const) : ("k" as const), c.tb ? ("k" as const) : ("n" as const)];
  const steps = tile
    ? [
        {
          kernel: matmul({ a: d, b: d, out, tile, aFast, bFast, vecA: vec, vecB: vec }),
          values: v,
          buffers: ["a", "b", "c"],
        },
      ]
    : planMatmul({ a: d, b: d, out, values: v, software, ...(c.bias && { bias: d }) });
  const r = await runTensors(steps, {
    a: t(d, a),
    b: t(d, b),
    e: t(d, e),
    c: { dtype: out, zeros: B * M * N },
    part: { dtype: ints ? "int64" : "float32", zeros: 64 * B * M * N },
    sum: { dtype: "float32", zeros: B * M * N },
  });
  const want: number[] = [];
  for (let z = 0; z < B; z++)
    for (let m = 0; m < M; m++)
      for (let n = 0; n < N; n++) {
        let s = 0;
        for (let k = 0; k < K; k++)
          s += a[z * M * K + m * v["am"]! + k * v["ak"]!]! * b[z * K * N + k * v["bk"]! + n * v["bn"]!]!;
        s = s * (c.alpha ?? 1) + (c.bias ? (c.beta ?? 1) * e[m * v["em"]! + n]! : 0);
        want.push(s);
      }
  const tol = { float16: 1e-3, bfloat16: 8e-3 }[out as string] ?? (ints ? 0 : 2e-6);
  close(r["c"]!, want, tol, ints ? 0 : tol * Math.sqrt(K));
}

test.each(Object.keys(TILES) as TileName[])("tile %s, transpositions, ragged sizes", async (tile) => {
  // every transposition where a pipeline is quick to compile on a software adapter, the two extremes elsewhere
  const both = tile === "direct" || tile === "small";
  for (const ta of [false, true])
    for (const tb of [false, true]) if (both || ta !== tb) await check({ M: 67, N: 133, K: 35, ta, tb }, tile);
});

test.each((Object.keys(TILES) as TileName[]).filter((tile) => TILES[tile].bk > 0))(
  "tile %s, vectors along k, and along both other dims",
  async (tile) => {
    await check({ M: 67, N: 133, K: 36, tb: true }, tile, false, true);
    await check({ M: 68, N: 132, K: 35, ta: true }, tile, false, true);
  },
);

const CASES: Case[] = [
  { M: 1, N: 1, K: 1 },
  { M: 64, N: 64, K: 64 },
  { M: 100, N: 36, K: 52, tb: true },
  { M: 36, N: 100, K: 52, ta: true },
  { M: 3, N: 5, K: 7, batches: 11 },
  { M: 1, N: 300, K: 200 },
  { M: 300, N: 1, K: 200 },
  { M: 1, N: 70, K: 90, tb: true },
  { M: 16, N: 24, K: 5000 },
  { M: 16, N: 24, K: 5000, bias: "n", alpha: 0.5, beta: 2 },
  { M: 40, N: 48, K: 20, bias: "mn", alpha: -1, beta: 0.25 },
  { M: 33, N: 65, K: 17, bias: "n" },
  { M: 1, N: 300, K: 400, tb: true, bias: "n" },
  { M: 200, N: 1, K: 400, bias: "mn", alpha: 3, beta: 0.5 },
  { M: 1, N: 300, K: 400, dtype: "bfloat16", bias: "n" },
  { M: 1, N: 40, K: 400, batches: 9, alpha: 2 },
  { M: 5, N: 6, K: 0 },
  { M: 0, N: 6, K: 3 },
  { M: 30, N: 20, K: 40, dtype: "float16" },
  { M: 30, N: 21, K: 40, dtype: "bfloat16", tb: true },
  { M: 30, N: 20, K: 40, dtype: "float16", out: "float32", batches: 3 },
  { M: 9, N: 10, K: 600, dtype: "int32" },
  { M: 9, N: 10, K: 6, dtype: "int64" },
  { M: 300, N: 520, K: 16 },
];
test.each(CASES)("$M x $N x $K $dtype", async (c) => {
  await check(c);
});
test.each(CASES.filter((c) => c.M === 1 || c.N === 1))("a vector on a GPU, $M x $N x $K", async (c) => {
  await check(c, undefined, false);
});

/** relu(product * x + 2 coordinate) with x of the result's shape or one number a column, and the product itself. */
function followed(dtype: DType, strided: boolean): EpilogueGraph {
  return {
    ndim: strided ? 2 : 0,
    inputs: [{ dtype: "float32", layout: strided ? "s" : "c" }],
    nodes: [
      { product: dtype },
      { in: 0 },
      { op: "mul", args: [0, 1], dtype: "float32" },
      { scalar: 0, dtype: "float32" },
      { coord: strided ? 1 : -1 },
      { op: "mul", args: [3, 4], dtype: "float32" },
      { op: "add", args: [2, 5], dtype: "float32" },
      { op: "relu", args: [6], dtype: "float32" },
    ],
    outputs: [
      { node: 7, dtype: "float32" },
      { node: 0, dtype },
    ],
  };
}
test.each(CASES.filter((c) => !c.dtype?.startsWith("int") && c.K > 0 && c.M > 0))(
  "what follows $M x $N x $K $dtype",
  async (c) => {
    const { M, N, K } = c,
      B = c.batches ?? 1,
      d = c.dtype ?? "float32",
      out = c.out ?? d,
      n = B * M * N;
    const a = round(d, random(B * M * K, -1, 1, 1)),
      b = round(d, random(B * K * N, -1, 1, 2)),
      e = round(d, random(M * N, -1, 1, 3)),
      x = random(n, -1, 1, 4);
    const part = { dtype: "float32" as DType, zeros: 64 * n };
    const buffers = {
      a: t(d, a),
      b: t(d, b),
      e: t(d, e),
      in0: t("float32", x),
      c: { dtype: out, zeros: n },
      product: { dtype: out, zeros: n },
      part,
      sum: { dtype: "float32" as DType, zeros: n },
      out0: { dtype: "float32" as DType, zeros: n },
      out1: { dtype: out, zeros: n },
    };
    // tiles in workgroup memory take seconds to compile on a software adapter
    for (const software of M === 1 || N === 1 || K === 5000 ? [true, false] : [true]) {
      const plan = { a: d, b: d, out, values: layout(c), software, ...(c.bias && { bias: d }) };
      const own = (await runTensors(planMatmul(plan), buffers))["c"]!;
      for (const strided of [false, true]) {
        const values = { ...plan.values, size0: B * M, size1: N, i0o: 0, i0s0: 0, i0s1: 1, q0o: 0, q1o: 0, c0: 0.5 };
        const r = await runTensors(planMatmul({ ...plan, after: followed(out, strided), values }), buffers);
        const tol = out === "float32" ? 2e-6 : 2e-2;
        close(r["out1"]!, [...own], tol, tol * Math.sqrt(K));
        close(
          r["out0"]!,
          [...r["out1"]!].map((v, i) => Math.max(0, v * (strided ? x[i % N]! : x[i]!) + 0.5 * (strided ? i % N : i))),
          1e-5,
          1e-5,
        );
      }
    }
  },
);

test("NaN and inf outside the matrix never enter", async () => {
  const r = await runTensors(
    planMatmul({ a: "float32", b: "float32", out: "float32", software: true, values: layout({ M: 2, N: 3, K: 2 }) }),
    {
      a: t("float32", [1, 2, Infinity, 4]),
      b: t("float32", [1, 0, NaN, 3, 4, 5]),
      c: { dtype: "float32", zeros: 6 },
    },
  );
  expect(r["c"]!.map(String)).toEqual(["7", "8", "NaN", "Infinity", "NaN", "NaN"]);
});

test("512 x 512 x 512 speed", async () => {
  const d = await device();
  const n = 512,
    times: string[] = [];
  for (const tile of ["medium", "direct"] as const)
    for (const vecB of [false, true]) {
      const kernel = matmul({
        a: "float32",
        b: "float32",
        out: "float32",
        tile,
        aFast: "k",
        bFast: "n",
        ...(vecB && { vecB }),
      });
      const pipe = await pipelineOf(kernel);
      const values = layout({ M: n, N: n, K: n });
      const make = (usage: number): GPUBuffer => d.createBuffer({ size: n * n * 4, usage });
      const buffers = [make(GPUBufferUsage.STORAGE), make(GPUBufferUsage.STORAGE), make(GPUBufferUsage.STORAGE)];
      const words = packUniforms(kernel, values);
      const u = d.createBuffer({ size: words.byteLength, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
      d.queue.writeBuffer(u, 0, words);
      let best = Infinity;
      for (let i = 0; i < 2; i++) {
        const start = performance.now();
        const enc = d.createCommandEncoder();
        const pass = enc.beginComputePass();
        pass.setPipeline(pipe);
        pass.setBindGroup(
          0,
          d.createBindGroup({
            layout: pipe.getBindGroupLayout(0),
            entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
          }),
        );
        pass.setBindGroup(
          1,
          d.createBindGroup({ layout: pipe.getBindGroupLayout(1), entries: [{ binding: 0, resource: { buffer: u } }] }),
        );
        pass.dispatchWorkgroups(...kernel.workgroups(values));
        pass.end();
        d.queue.submit([enc.finish()]);
        await d.queue.onSubmittedWorkDone();
        best = Math.min(best, performance.now() - start);
      }
      times.push(`${tile}${vecB ? " vec" : ""} ${best.toFixed(0)} ms`);
    }
  console.log(times.join(", "));
});
