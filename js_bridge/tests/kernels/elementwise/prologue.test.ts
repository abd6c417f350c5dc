import { expect } from "vitest";
import { planConv } from "../../../src/kernels/products/conv";
import { planMatmul } from "../../../src/kernels/products/matmul";
import { type Prologue, prologueWords, inlinePlaces, cheaperInline } from "../../../src/kernels/elementwise/prologue";
import type { DType, Values } from "../../../src/kernels/spec";
import {
  close,
  productWords as layout,
  random,
  randomInts,
  runTensors,
  t,
  test,
} from "../../../test_support/run_kernel";

/** (int8 weight) * step, a step for each row or one for all. */
const dequant = (rows: boolean): Prologue => ({
  ndim: rows ? 2 : 0,
  inputs: [{ dtype: "int8", layout: "c" }, ...(rows ? [{ dtype: "float32" as DType, layout: "s" as const }] : [])],
  nodes: [
    { in: 0 },
    { op: "cast", args: [0], dtype: "float32" },
    rows ? { in: 1 } : { scalar: 0, dtype: "float32" },
    { op: "mul", args: [1, 2], dtype: "float32" },
  ],
});
const relu2: Prologue = {
  ndim: 0,
  inputs: [{ dtype: "float32", layout: "c" }],
  nodes: [
    { in: 0 },
    { op: "relu", args: [0], dtype: "float32" },
    { scalar: 0, dtype: "float32" },
    { op: "mul", args: [1, 2], dtype: "float32" },
  ],
};

test("places of a prologue's inputs", () => {
  const before = dequant(true);
  expect(prologueWords(before, "b").map((w) => w.name)).toEqual([
    "b_n",
    "b_size0",
    "b_size1",
    "b_i0o",
    "b_i1o",
    "b_i1s0",
    "b_i1s1",
  ]);
  const v: Values = { b_n: 60, b_size0: 6, b_size1: 10, b_i0o: 3, b_i1o: 100, b_i1s0: 1, b_i1s1: 0 };
  const see = (offset: number, strides: number[], sizes: number[]): unknown =>
    inlinePlaces(before, "b", v, { offset, strides }, sizes)?.map((p) => [p.offset, ...p.strides]);
  expect(see(0, [0, 0, 1, 10], [1, 1, 10, 6])).toEqual([
    [3, 0, 0, 1, 10],
    [100, 0, 0, 0, 1],
  ]); // the whole matrix, transposed
  expect(see(24, [0, 0, 20, 2], [1, 1, 2, 3])).toEqual([
    [27, 0, 0, 20, 2],
    [102, 0, 0, 2, 0],
  ]); // every second row and column, from (2, 4)
  expect(see(24, [0, 0, 1, 10], [1, 1, 7, 2])).toBeUndefined(); // rows that run into the next one
  expect(see(0, [30, 0, 10, 1], [2, 1, 3, 10])).toEqual([
    [3, 30, 0, 10, 1],
    [100, 3, 0, 1, 0],
  ]); // two dims over the same one
  expect(see(0, [0, 0, 15, 1], [1, 1, 4, 15])).toBeUndefined(); // other rows
  expect(
    inlinePlaces({ ...before, nodes: [{ coord: -1 }] }, "b", v, { offset: 0, strides: [0, 0, 1, 10] }, [1, 1, 10, 6]),
  ).toBeUndefined();
});

test("a prologue that tiles would compute too often gets a kernel of its own", () => {
  const v = { a_n: 1e6 };
  expect(cheaperInline(relu2, "a", v, 8, false)).toBe(true);
  expect(cheaperInline(relu2, "a", v, 800, false)).toBe(false);
  expect(
    cheaperInline({ ...relu2, nodes: [{ in: 0 }, { op: "exp", args: [0], dtype: "float32" }] }, "a", v, 8, true),
  ).toBe(false);
  expect(cheaperInline(relu2, "a", { a_n: 100 }, 100, true)).toBe(true);
});

/** Products of relu2 and a quantised matrix, by each kind of kernel, against the same operands as buffers. */
test.each([
  ["a tile", { M: 20, N: 36, K: 24 }],
  ["transposed", { M: 20, N: 36, K: 24, ta: true, tb: true }],
  ["a row", { M: 1, N: 40, K: 300 }],
  ["a row, transposed", { M: 1, N: 40, K: 300, tb: true }],
  ["a column", { M: 40, N: 1, K: 300 }],
  ["a long sum", { M: 4, N: 6, K: 3000 }],
  ["batches", { M: 5, N: 6, K: 7, batches: 3 }],
  ["added", { M: 1, N: 300, K: 400, tb: true, bias: "n" as const }],
])("%s", async (_, c) => {
  const { M, N, K } = c,
    B = "batches" in c ? c.batches : 1,
    bias = "bias" in c,
    v = layout(c);
  const x = random(B * M * K, -1, 1, 1),
    w = randomInts(B * K * N, -9, 9, 2),
    e = random(N, -1, 1, 3);
  const rows = v["bn"] === 1 ? B * K : B * N,
    cols = v["bn"] === 1 ? N : K,
    steps = random(rows, 0, 1, 4);
  const a = x.map((q) => Math.fround(Math.max(q, 0) * 1.5));
  const float = { dtype: "float32" as DType };
  const room = {
    c: { ...float, zeros: B * M * N },
    part: { ...float, zeros: 64 * B * M * N + 64 },
    sum: { ...float, zeros: B * M * N },
    a: { ...float, zeros: B * M * K },
    b: { ...float, zeros: B * K * N },
    e: t("float32", e),
  };
  for (const software of [true, false])
    for (const perRow of [true, false]) {
      const b = w.map((q, i) => Math.fround(q * Math.fround(perRow ? steps[Math.floor(i / cols)]! : 0.25)));
      const plan = {
        a: "float32" as DType,
        b: "float32" as DType,
        out: "float32" as DType,
        software,
        ...(bias && { bias: "float32" as DType }),
      };
      const want = (
        await runTensors(planMatmul({ ...plan, values: v }), { ...room, a: t("float32", a), b: t("float32", b) })
      )["c"]!;
      const values = {
        ...v,
        a_n: B * M * K,
        a_i0o: 0,
        a_c0: 1.5,
        b_n: B * K * N,
        b_size0: rows,
        b_size1: cols,
        b_i0o: 0,
        b_i1o: 0,
        b_i1s0: 1,
        b_i1s1: 0,
        b_c0: 0.25,
      };
      const made = planMatmul({ ...plan, first: relu2, second: dequant(perRow), values });
      const got = await runTensors(made, { ...room, a0: t("float32", x), b0: t("int8", w), b1: t("float32", steps) });
      close(got["c"]!, want, 1e-5, 1e-5);
      if (!software) expect(made.some((s) => s.buffers.at(-1) === "b")).toBe(false);
    }
});

test("convolutions", async () => {
  const window = { kernel: [3, 3], stride: [1, 1], padding: [1, 1], dilation: [1, 1] };
  const c = {
    ...window,
    dtype: "float32" as DType,
    batch: 2,
    groups: 1,
    wide: 3,
    narrow: 4,
    wideSize: [5, 6],
    narrowSize: [5, 6],
  };
  const x = random(2 * 3 * 30, -1, 1, 1),
    w = randomInts(4 * 3 * 9, -9, 9, 2),
    gy = random(2 * 4 * 30, -1, 1, 3);
  const float = (n: number) => ({ dtype: "float32" as DType, zeros: n });
  const room = {
    x: float(x.length),
    w: float(w.length),
    gy: float(gy.length),
    y: float(gy.length),
    gx: float(x.length),
  };
  const relued = (q: number[]) =>
      t(
        "float32",
        q.map((n) => Math.max(n, 0) * 1.5),
      ),
    stepped = t(
      "float32",
      w.map((n) => n * 0.25),
    );
  const operand = (tag: string) => ({
    [`${tag}_n`]: 2 * 120,
    [`${tag}_i0o`]: 0,
    [`${tag}_c0`]: 1.5,
    w_n: w.length,
    w_i0o: 0,
    w_c0: 0.25,
  });
  for (const software of [true, false]) {
    const y = await runTensors(planConv({ ...c, pass: "forward", software }), { ...room, x: relued(x), w: stepped });
    const made = planConv({
      ...c,
      pass: "forward",
      software,
      first: relu2,
      second: dequant(false),
      operand: { ...operand("x"), x_n: x.length },
    });
    expect(made.length).toBe(software ? 3 : 1);
    close((await runTensors(made, { ...room, x0: t("float32", x), w0: t("int8", w) }))["y"]!, y["y"]!, 1e-5, 1e-5);
    const gx = await runTensors(planConv({ ...c, pass: "input", software }), { ...room, gy: relued(gy), w: stepped });
    const back = planConv({
      ...c,
      pass: "input",
      software,
      first: relu2,
      second: dequant(false),
      operand: { ...operand("gy"), gy_n: gy.length },
    });
    close((await runTensors(back, { ...room, gy0: t("float32", gy), w0: t("int8", w) }))["gx"]!, gx["gx"]!, 1e-5, 1e-5);
  }
});

test("prologues and epilogues of split products read and write at any offset", async () => {
  const float = (n: number) => ({ dtype: "float32" as DType, zeros: n });
  const after = {
    ndim: 0,
    inputs: [{ dtype: "float32" as DType, layout: "c" as const }],
    nodes: [
      { product: "float32" as DType },
      { in: 0 },
      { op: "add" as const, args: [0, 1], dtype: "float32" as DType },
    ],
    outputs: [{ node: 2, dtype: "float32" as DType }],
  };
  for (const software of [true, false])
    for (const c of [
      { M: 1, N: 300, K: 400 },
      { M: 4, N: 6, K: 4000 },
    ]) {
      const { M, N, K } = c,
        a = random(M * K + 2, -1, 1, 1),
        b = random(K * N, -1, 1, 2),
        e = random(M * N + 3, -1, 1, 3);
      for (const [io, qo, xo] of [
        [1, 0, 0],
        [0, 1, 0],
        [3, 2, 2],
      ] as const) {
        const values = { ...layout(c), i0o: io, q0o: qo, a_n: M * K, a_i0o: xo, a_c0: 0.5 };
        const steps = planMatmul({
          a: "float32",
          b: "float32",
          out: "float32",
          values,
          software,
          after,
          first: {
            ...relu2,
            nodes: [...relu2.nodes.slice(0, 1), { op: "exp", args: [0], dtype: "float32" }, ...relu2.nodes.slice(2)],
          },
        });
        const got = (
          await runTensors(steps, {
            a0: t("float32", a),
            a: float(M * K),
            b: t("float32", b),
            in0: t("float32", e),
            part: float(64 * M * N + 64),
            sum: float(M * N),
            product: float(M * N),
            out0: float(M * N + 2),
          })
        )["out0"]!;
        const want = Array.from({ length: M * N }, (_, i) => {
          let s = e[io + i]!;
          for (let k = 0; k < K; k++) s += Math.exp(a[xo + Math.floor(i / N) * K + k]!) * 0.5 * b[k * N + (i % N)]!;
          return s;
        });
        close(got.slice(qo, qo + M * N), want, 1e-4, 1e-3);
      }
    }
});
