import { afterAll, describe, expect, it } from "vitest";
import { planOf } from "../../src/kernels/plan";
import type { Runtime } from "../../src/runtime/runtime";
import { Writer, bits, closeAll, floats, gpu, open, define, newHandle } from "../../test_support/gpu";

const F32 = "float32";
const key = (family: string, params: object): string => `${family}:${JSON.stringify(params)}`;
const ROW = { rows: 3, n: 200, inner: 1, xo: 0, yo: 0 };
const SOFTMAX = key("softmax", { log: true, dtype: F32, out: F32 });
const has = (await gpu?.requestAdapter())?.features.has("subgroups") ?? false;

describe("which kernels a plan takes", () => {
  const kernels = (
    k: string,
    values: Record<string, number>,
    device: { software: boolean; subgroups?: boolean },
  ): string[] => {
    const plan = planOf(k);
    return plan
      .steps(Object.fromEntries(plan.words.map((w) => [w.name, values[w.name] ?? 1])), device)
      .steps.map((s) => s.kernel.key);
  };
  const CASES: [string, Record<string, number>][] = [
    [SOFTMAX, ROW],
    [key("layerNorm", { dtype: F32 }), ROW],
    [key("crossEntropy", { dtype: F32 }), ROW],
    [
      key("reduce", {
        kept: 1,
        reduced: 1,
        inputs: [{ dtype: F32 }],
        nodes: [{ in: 0 }],
        outputs: [{ op: "sum", node: 0, dtype: F32 }],
      }),
      { rows: 3, n: 20000, k0: 3, r0: 20000 },
    ],
    [key("matmul", { a: F32, b: F32, out: F32 }), { M: 3, N: 1, K: 500, am: 500, bk: 1, bn: 1, cm: 1 }],
    [
      key("conv", { pass: "weight", dtype: F32, kernel: [3], stride: [1], padding: [1], dilation: [1] }),
      { batch: 2, groups: 4, wide: 4, narrow: 4, x0: 9, y0: 9 },
    ],
  ];
  it.each(CASES)("%s", (k, values) => {
    const off = kernels(k, values, { software: false }),
      on = kernels(k, values, { software: false, subgroups: true });
    expect(off.some((text) => text.includes("subgroups"))).toBe(false);
    expect(on[0]).toContain('"subgroups":true');
  });
  it("short rows share a workgroup, columns stay side by side", () => {
    expect(kernels(SOFTMAX, { ...ROW, n: 50 }, { software: false, subgroups: true })[0]).not.toContain("subgroups");
    const columns = key("reduce", {
      kept: 1,
      reduced: 1,
      inputs: [{ dtype: F32 }],
      nodes: [{ in: 0 }],
      outputs: [{ op: "sum", node: 0, dtype: F32 }],
      inner: false,
    });
    expect(
      kernels(columns, { rows: 40, n: 500, k0: 40, r0: 500 }, { software: false, subgroups: true })[0],
    ).not.toContain("subgroups");
  });
});

describe.skipIf(!has)("devices with and without subgroups", () => {
  afterAll(closeAll);
  const N = 20000; // rows that have several lanes on a software adapter too
  const x = Array.from({ length: 3 * N }, (_, i) => Math.fround(Math.sin(i) * 5));
  const softmax = async (r: Runtime): Promise<number[]> => {
    const [a, o] = [newHandle(), newHandle()];
    const id = r.plans.id(SOFTMAX);
    const words = planOf(SOFTMAX).words.map((w) =>
      w.type === "f32" ? bits(0) : { ...ROW, n: N }[w.name as keyof typeof ROW],
    );
    new Writer()
      .alloc(a, 12 * N)
      .write(a, 0, Float32Array.from(x))
      .alloc(o, 12 * N)
      .plan(id, [a, o], words)
      .run(r);
    return floats(r, o, 3 * N);
  };
  const want = [0, 1, 2].flatMap((k) => {
    const row = x.slice(k * N, k * N + N),
      total = Math.log(row.reduce((s, v) => s + Math.exp(v), 0));
    return row.map((v) => v - total);
  });

  it.each([
    [{}, true],
    [{ without: ["subgroups"] }, false],
  ] as const)("%j", async (options, used) => {
    const r = await open(options);
    const got = await softmax(r);
    expect(Math.max(...got.map((v, i) => Math.abs(v - want[i]!)))).toBeLessThan(1e-5);
    expect(
      r.pipelines.defined(key("softmax", { log: true, dtype: F32, out: F32, lanes: 32, subgroups: true })) !==
        undefined,
    ).toBe(used);
  });

  it("a kernel with subgroups on a device without them says what is missing", async () => {
    const r = await open({ without: ["subgroups"] });
    const id = define(r, "x", { wgsl: "enable subgroups;", access: "", uniformWords: 0 });
    expect(() => new Writer().dispatch(id, 1, []).run(r)).toThrow(/needs subgroups/);
  });
});
