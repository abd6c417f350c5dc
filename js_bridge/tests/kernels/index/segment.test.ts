import { expect } from "vitest";
import { planSegment, type SegmentParams } from "../../../src/kernels/index/segment";
import type { DType, Values } from "../../../src/kernels/spec";
import {
  close,
  encode,
  type Num,
  random,
  randomInts,
  runSteps,
  runTensors,
  t,
  test,
} from "../../../test_support/run_kernel";

const MODES = ["set", "add", "prod", "amax", "amin"] as const;
const scratch = (n: number): Record<string, { dtype: DType; zeros: number }> =>
  Object.fromEntries(
    ["places", "sorted", "from", "ka", "kb", "pa", "pb"].map((k) => [k, { dtype: "int32", zeros: n }]),
  );
const line = (n: number, extent: number): Values => ({
  n,
  size0: n,
  qo: 0,
  qs0: 0,
  ao: 0,
  as0: 1,
  i0o: 0,
  i0s0: 1,
  step0: 1,
  extent0: extent,
});

function fold(mode: (typeof MODES)[number], a: bigint, b: bigint): bigint {
  if (mode === "set") return b;
  if (mode === "add") return BigInt.asIntN(64, a + b);
  if (mode === "prod") return BigInt.asIntN(64, a * b);
  return a > b === (mode === "amax") ? a : b;
}

test.each(MODES)("%s of int64, exactly", async (mode) => {
  const n = 700,
    m = 50;
  const src = randomInts(n, -1e6, 1e6, 3).map((v) => BigInt(v) * 2n ** 33n + BigInt(v)),
    idx = randomInts(n, 0, m, 5),
    old = randomInts(m, -1e6, 1e6, 7).map((v) => BigInt(v) * 2n ** 30n + 1n);
  for (const fresh of [false, true]) {
    const want = [...old];
    const seen = new Set<number>();
    idx.forEach((to, i) => {
      want[to] = fresh && !seen.has(to) ? src[i]! : fold(mode, want[to]!, src[i]!);
      seen.add(to);
    });
    const spare = Object.fromEntries(Object.keys(scratch(n)).map((k) => [k, new Uint8Array(4 * n)]));
    const out = await runSteps(planSegment({ ndim: 1, dtype: "int64", indices: ["int64"], mode, fresh }, line(n, m)), {
      src: encode("int64", src),
      idx0: encode("int64", idx),
      dst: encode("int64", old),
      status: new Uint8Array(16),
      ...spare,
    });
    expect([...new BigInt64Array(out["dst"]!.buffer, 0, m)]).toEqual(want);
  }
});

test("rows of an embedding gradient, with an index left out and one out of range", async () => {
  const n = 300,
    m = 20,
    cols = 6;
  const idx = randomInts(n, 0, m, 5),
    src: Num[] = random(n * cols, -1, 1);
  idx[7] = m;
  const want = new Array<number>(m * cols).fill(0);
  idx.forEach((to, i) => {
    if (to !== 3 && to < m)
      for (let c = 0; c < cols; c++)
        want[to * cols + c] = Math.fround(want[to * cols + c]! + Number(src[i * cols + c]));
  });
  const params: SegmentParams = { ndim: 1, dtype: "float32", indices: ["int64"], mode: "add", wide: true, skip: true };
  const values = {
    n,
    size0: n,
    qo: 0,
    qs0: 0,
    ao: 0,
    as0: cols,
    i0o: 0,
    i0s0: 1,
    step0: cols,
    extent0: m,
    skip: 3,
    cols,
    qc: 1,
    ac: 1,
  };
  const out = await runTensors(planSegment(params, values), {
    src: t("float32", src),
    idx0: t("int64", idx),
    dst: t(
      "float32",
      want.map(() => 0),
    ),
    status: t("int32", [0, 0, 0, 0]),
    ...scratch(n),
  });
  expect(out["dst"]).toEqual(want); // in the same order: to the last bit
  expect(out["status"]).toEqual([1, m, 0, m]);
});

test("packed dtypes and two dims", async () => {
  const [a, b, m] = [9, 31, 12];
  const idx = randomInts(a * b, 0, m, 2),
    src = randomInts(a * b, -3, 4, 9);
  // dst[row, idx[row, column]] += src
  for (const dtype of ["float16", "int8", "int32"] as const) {
    const want = new Array<number>(a * m).fill(1);
    idx.forEach((to, i) => (want[Math.floor(i / b) * m + to]! += src[i]!));
    const values = {
      n: a * b,
      size0: a,
      size1: b,
      qo: 0,
      qs0: m,
      qs1: 0,
      ao: 0,
      as0: b,
      as1: 1,
      i0o: 0,
      i0s0: b,
      i0s1: 1,
      step0: 1,
      extent0: m,
    };
    const out = await runTensors(planSegment({ ndim: 2, dtype, indices: ["int32"], mode: "add" }, values), {
      src: t(dtype, src),
      idx0: t("int32", idx),
      dst: t(
        dtype,
        want.map(() => 1),
      ),
      status: t("int32", [0, 0, 0, 0]),
      ...scratch(a * b),
    });
    close(out["dst"]!, want, 0, 0);
  }
});
