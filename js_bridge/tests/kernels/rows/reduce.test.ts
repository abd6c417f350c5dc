import { expect } from "vitest";
import { REDUCTIONS, type ReduceOp } from "../../../src/kernels/rows/reduce_ops";
import { planReduce } from "../../../src/kernels/rows/reduce";
import type { DType, Values } from "../../../src/kernels/spec";
import { close, joins, random, randomInts, runTensors, t, test } from "../../../test_support/run_kernel";

/** Reduces data seen as [outer, n, inner] over n. */
async function run(
  op: ReduceOp,
  dtype: DType,
  out: DType,
  data: readonly number[],
  [outer, n, inner]: [number, number, number],
  extra: Values = {},
  software = false,
  by: { subgroups?: true } = {},
): Promise<number[]> {
  const rows = outer * inner;
  const cast = dtype !== out && (op === "sum" || op === "prod" || op === "mean");
  const steps = planReduce({
    kept: 2,
    reduced: 1,
    inputs: [{ dtype }],
    nodes: [{ in: 0 }, ...(cast ? [{ op: "cast" as const, args: [0], dtype: out }] : [])],
    outputs: [{ op, node: cast ? 1 : 0, dtype: out }],
    inner: inner === 1,
    software,
    ...by,
    values: { rows, n, k0: outer, k1: inner, r0: n, i0o: 0, i0k0: n * inner, i0k1: 1, i0r0: inner, q0o: 0, ...extra },
  });
  const scratch = Object.fromEntries([0, 1, 2].map((j) => [`part${j}`, { dtype: "int64" as DType, zeros: 4096 }]));
  const r = await runTensors(steps, { in0: t(dtype, data), out0: { dtype: out, zeros: rows }, ...scratch });
  return r["out0"]!;
}

function reference(op: ReduceOp, data: readonly number[], [outer, n, inner]: [number, number, number]): number[] {
  const out: number[] = [];
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      const x = Array.from({ length: n }, (_, r) => data[(o * n + r) * inner + i]!);
      const sum = x.reduce((a, b) => a + b, 0),
        m = sum / n;
      const best = (f: (a: number, b: number) => boolean): number =>
        x.reduce((k, v, j) => (!Number.isNaN(x[k]!) && (Number.isNaN(v) || f(v, x[k]!)) ? j : k), 0);
      switch (op) {
        case "sum":
          out.push(sum);
          break;
        case "mean":
          out.push(m);
          break;
        case "prod":
          out.push(x.reduce((a, b) => a * b, 1));
          break;
        case "amax":
          out.push(x.some(Number.isNaN) ? NaN : x.reduce((a, b) => Math.max(a, b), -Infinity));
          break;
        case "amin":
          out.push(x.some(Number.isNaN) ? NaN : x.reduce((a, b) => Math.min(a, b), Infinity));
          break;
        case "any":
          out.push(Number(x.some((v) => v !== 0)));
          break;
        case "all":
          out.push(Number(x.every((v) => v !== 0)));
          break;
        case "count_nonzero":
          out.push(x.filter((v) => v !== 0).length);
          break;
        case "argmax":
          out.push(best((a, b) => a > b));
          break;
        case "argmin":
          out.push(best((a, b) => a < b));
          break;
        case "norm2":
          out.push(Math.sqrt(x.reduce((a, b) => a + b * b, 0)));
          break;
        case "var":
          out.push(x.reduce((a, b) => a + (b - m) ** 2, 0) / (n - 1));
          break;
        case "std":
          out.push(Math.sqrt(x.reduce((a, b) => a + (b - m) ** 2, 0) / (n - 1)));
          break;
        case "logsumexp": {
          const top = Math.max(...x);
          out.push(Number.isFinite(top) ? top + Math.log(x.reduce((a, b) => a + Math.exp(b - top), 0)) : top);
        }
      }
    }
  return out;
}

const SHAPES: [number, number, number][] = [
  [3, 5, 1],
  [2, 37, 4],
  [1, 1000, 1],
  [1, 20000, 1],
  [70, 300, 3],
  [3, 9000, 2],
  [2100, 3, 2],
];
const OPS: ReduceOp[] = REDUCTIONS.filter((op) => op !== "rstd"); // it has a test of its own
const outOf = (op: ReduceOp): DType => {
  if (op === "any" || op === "all") return "bool";
  return op === "count_nonzero" || op.startsWith("arg") ? "int64" : "float32";
};
/** Values for an op: products stay near 1, and truths are 0 or 1. */
const dataFor = (op: ReduceOp, size: number): number[] => {
  if (op === "prod") return random(size, 0.98, 1.02);
  return op === "any" || op === "all" ? randomInts(size, 0, 2) : random(size, -2, 3);
};

test.each(OPS)("%s", async (op) => {
  for (const shape of SHAPES) {
    const size = shape[0] * shape[1] * shape[2];
    const data = dataFor(op, size);
    const extra = op === "var" || op === "std" ? { correction: 1 } : {};
    close(
      await run(op, "float32", outOf(op), data, shape, extra),
      reference(op, data, shape),
      op === "prod" ? 1e-3 : 2e-6,
      2e-6 * Math.sqrt(shape[1]),
    );
  }
});

test("columns side by side", async () => {
  for (const shape of [
    [2, 100, 50],
    [1, 3000, 40],
    [3, 9, 17],
  ] as [number, number, number][]) {
    const data = random(shape[0] * shape[1] * shape[2], -2, 3);
    for (const op of ["sum", "argmax"] as const)
      close(await run(op, "float32", outOf(op), data, shape), reference(op, data, shape), 2e-6, 1e-4);
  }
  const shape: [number, number, number] = [1, 3000, 40],
    data = random(120000, -2, 3);
  close(
    await run("var", "float32", "float32", data, shape, { correction: 1 }),
    reference("var", data, shape),
    2e-6,
    1e-5,
  );
});

test("rstd", async () => {
  const shape: [number, number, number] = [3, 5000, 1],
    x = random(15000, 9, 11);
  const want = reference("var", x, shape).map((v) => 1 / Math.sqrt((v * 4999) / 5000 + 1e-3));
  close(await run("rstd", "float32", "float32", x, shape, { eps: 1e-3 }), want, 2e-6, 0);
});

test("special values", async () => {
  const x = [1, NaN, 3, -Infinity, -Infinity, -Infinity, Infinity, 2, Infinity, -0, 0, -0].map(Number);
  for (const op of ["sum", "amax", "amin", "argmax", "argmin", "logsumexp", "any", "all"] as const) {
    const want = reference(op, x, [4, 3, 1]);
    if (op === "logsumexp") want[0] = NaN;
    close(await run(op, "float32", outOf(op), x, [4, 3, 1]), want, 2e-7, 0);
  }
});

test("integers and halves", async () => {
  const x = randomInts(4000, -100, 100);
  close(await run("sum", "int32", "int64", x, [4, 1000, 1]), reference("sum", x, [4, 1000, 1]), 0, 0);
  close(
    await run(
      "sum",
      "int64",
      "int64",
      x.map((v) => v * 1e10),
      [4, 1000, 1],
    ),
    reference(
      "sum",
      x.map((v) => v * 1e10),
      [4, 1000, 1],
    ),
    0,
    0,
  );
  close(
    await run(
      "amax",
      "int64",
      "int64",
      x.map((v) => v * 1e12),
      [4, 100, 10],
    ),
    reference(
      "amax",
      x.map((v) => v * 1e12),
      [4, 100, 10],
    ),
    0,
    0,
  );
  close(await run("argmin", "int8", "int64", x, [4, 1000, 1]), reference("argmin", x, [4, 1000, 1]), 0, 0);
  close(
    await run(
      "sum",
      "bool",
      "int64",
      x.map((v) => Number(v > 0)),
      [4, 1000, 1],
    ),
    reference(
      "sum",
      x.map((v) => Number(v > 0)),
      [4, 1000, 1],
    ),
    0,
    0,
  );
  const h = x.map((v) => v / 64);
  close(await run("sum", "float16", "float32", h, [5, 800, 1]), reference("sum", h, [5, 800, 1]), 1e-6, 1e-5);
  close(
    await run(
      "mean",
      "bfloat16",
      "bfloat16",
      h.map((v) => Math.round(v)),
      [5, 8, 100],
    ),
    reference(
      "mean",
      h.map((v) => Math.round(v)),
      [5, 8, 100],
    ),
    8e-3,
    1e-3,
  );
});

test("a million elements keep pairwise accuracy", async () => {
  const n = 1 << 20;
  const x = random(n, 0, 1);
  const [got] = await run("sum", "float32", "float32", x, [1, n, 1]);
  const want = reference("sum", x, [1, n, 1])[0]!;
  expect(Math.abs(got! - want) / want).toBeLessThan(3e-7);
});

test("no rows, no elements", async () => {
  expect(await run("sum", "float32", "float32", [], [3, 0, 1])).toEqual([0, 0, 0]);
  expect(await run("prod", "float32", "float32", [], [2, 0, 1])).toEqual([1, 1]);
  expect(await run("sum", "float32", "float32", [], [0, 3, 1])).toEqual([]);
});

test.each([
  [1, 20000, 1],
  [3, 5000, 1],
  [2, 3000, 20],
  [600, 40, 1],
  [1, 40000, 3],
])("on a software adapter: %i x %i x %i", async (outer, n, inner) => {
  const shape: [number, number, number] = [outer, n, inner];
  const x = random(outer * n * inner, -1, 1, 7);
  for (const op of ["sum", "amax", "argmin", "var"] as const) {
    const whole = op === "argmin";
    close(
      await run(op, "float32", whole ? "int64" : "float32", x, shape, op === "var" ? { correction: 1 } : {}, true),
      reference(op, x.map(Math.fround), shape),
      whole ? 0 : 1e-5,
      whole ? 0 : 1e-4,
    );
  }
});

const SUBGROUPS = joins.filter(([, by]) => by.subgroups);
const ROWS: [number, number, number][] = [
  [3, 70, 1],
  [2, 300, 1],
  [2, 2000, 1],
  [1, 30000, 1],
  [1, 700, 3],
];

test.each(SUBGROUPS.flatMap(([, by]) => OPS.map((op) => [op, by] as const)))("%s in subgroups", async (op, by) => {
  for (const shape of ROWS) {
    const size = shape[0] * shape[1] * shape[2];
    const data = op.startsWith("arg") ? randomInts(size, 0, 9) : dataFor(op, size);
    const extra = op === "var" || op === "std" ? { correction: 1 } : {};
    const got = await run(op, "float32", outOf(op), data, shape, extra, false, by);
    close(got, reference(op, data, shape), op === "prod" ? 1e-3 : 2e-6, 2e-6 * Math.sqrt(shape[1]));
    expect(await run(op, "float32", outOf(op), data, shape, extra, false, by)).toEqual(got);
  }
});

test.each(SUBGROUPS)("special values in %s", async (_, by) => {
  const n = 300,
    of = (...v: [number, number][]): number[] => {
      const x = random(n, -2, 2);
      for (const [at, y] of v) x[at] = y;
      return x;
    };
  const flat = (v: number): number[] => new Array<number>(n).fill(v);
  const x = [
    of([70, NaN]),
    of([299, -Infinity], [3, Infinity]),
    of([5, Infinity], [205, Infinity]),
    flat(-Infinity),
    flat(NaN),
    flat(-0),
    of([130, -NaN], [131, Infinity]),
  ].flat();
  for (const op of ["sum", "amax", "amin", "argmax", "argmin", "logsumexp", "any", "all", "count_nonzero"] as const) {
    const shape: [number, number, number] = [7, n, 1],
      want = reference(op, x, shape);
    if (op === "logsumexp") for (const k of [0, 4, 6]) want[k] = NaN;
    if (op === "logsumexp") for (const k of [1, 2]) want[k] = Infinity;
    close(await run(op, "float32", outOf(op), x, shape, {}, false, by), want, 2e-6, 2e-5);
  }
});

test.each(SUBGROUPS)("integers and halves in %s", async (_, by) => {
  const x = randomInts(4000, -100, 100),
    shape: [number, number, number] = [4, 1000, 1];
  const big = x.map((v) => v * 1e10),
    bits = x.map((v) => Number(v > 0));
  for (const op of ["sum", "amax", "amin", "argmax", "argmin"] as const)
    close(await run(op, "int64", "int64", big, shape, {}, false, by), reference(op, big, shape), 0, 0);
  for (const op of ["amax", "amin"] as const)
    close(await run(op, "int32", "int32", x, shape, {}, false, by), reference(op, x, shape), 0, 0);
  close(await run("sum", "int32", "int64", x, shape, {}, false, by), reference("sum", x, shape), 0, 0);
  close(
    await run(
      "prod",
      "int32",
      "int32",
      x.map((v) => (v % 40 ? 1 : 2)),
      shape,
      {},
      false,
      by,
    ),
    reference(
      "prod",
      x.map((v) => (v % 40 ? 1 : 2)),
      shape,
    ).map((v) => v | 0),
    0,
    0,
  );
  close(await run("sum", "bool", "int64", bits, shape, {}, false, by), reference("sum", bits, shape), 0, 0);
  const h = x.map((v) => v / 64);
  close(
    await run("sum", "float16", "float32", h, [5, 800, 1], {}, false, by),
    reference("sum", h, [5, 800, 1]),
    1e-6,
    1e-5,
  );
});

test.each(SUBGROUPS)("no rows, no elements, a million in %s", async (_, by) => {
  expect(await run("sum", "float32", "float32", [], [3, 0, 1], {}, false, by)).toEqual([0, 0, 0]);
  expect(await run("sum", "float32", "float32", [], [0, 300, 1], {}, false, by)).toEqual([]);
  const n = 1 << 20,
    x = random(n, 0, 1),
    [got] = await run("sum", "float32", "float32", x, [1, n, 1], {}, false, by);
  const want = reference("sum", x, [1, n, 1])[0]!;
  expect(Math.abs(got! - want) / want).toBeLessThan(3e-7);
});

test.each([
  [[3, 50, 4], false],
  [[2, 20000, 1], true],
  [[40, 700, 1], true],
  [[64, 900, 1], false],
] as [[number, number, number], boolean][])("what follows a sum over %o", async ([outer, n, inner], own) => {
  const x = random(outer * n * inner, -1, 1),
    rows = outer * inner,
    b = random(inner, -1, 1, 2);
  const want = reference("sum", x, [outer, n, inner]).map((v, i) => v * 0.5 + b[i % inner]!);
  for (const software of [false, true]) {
    const steps = planReduce({
      software,
      kept: 2,
      reduced: 1,
      inner: own,
      inputs: [{ dtype: "float32" }],
      nodes: [{ in: 0 }, { scalar: 0, dtype: "float32" }, { op: "mul", args: [0, 1], dtype: "float32" }],
      outputs: [{ op: "sum", node: 2, dtype: "float32" }],
      after: {
        ndim: 2,
        inputs: [{ dtype: "float32", layout: "s" }],
        nodes: [
          { product: "float32" },
          { scalar: 0, dtype: "float32" },
          { op: "mul", args: [0, 1], dtype: "float32" },
          { in: 0 },
          { op: "add", args: [2, 3], dtype: "float32" },
        ],
        outputs: [
          { node: 4, dtype: "float32" },
          { node: 0, dtype: "float32" },
        ],
      },
      values: {
        rows,
        n,
        k0: outer,
        k1: inner,
        r0: n,
        i0o: 0,
        i0k0: n * inner,
        i0k1: 1,
        i0r0: inner,
        c0: 2,
        yo: 0,
        size0: outer,
        size1: inner,
        i1o: 0,
        i1s0: 0,
        i1s1: 1,
        q0o: 0,
        q1o: 0,
        c1: 0.25,
      },
    });
    const r = await runTensors(steps, {
      in0: t("float32", x),
      in1: t("float32", b),
      out0: { dtype: "float32", zeros: rows },
      out1: { dtype: "float32", zeros: rows },
      part0: { dtype: "float32", zeros: rows * 64 },
    });
    close(r["out0"]!, want, 1e-5, 1e-4);
    close(
      r["out1"]!,
      reference("sum", x, [outer, n, inner]).map((v) => 2 * v),
      1e-5,
      1e-4,
    );
  }
});
