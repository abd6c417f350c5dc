import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bridge } from "../../src/api/bridge";
import { planOf } from "../../src/kernels/plan";
import type { Runtime } from "../../src/runtime/runtime";
import { Writer, bits, closeAll, floats, gpu, open, newHandle } from "../../test_support/gpu";

const key = (family: string, params: object): string => `${family}:${JSON.stringify(params)}`;
const F32 = "float32";

describe.skipIf(!gpu)("plans", () => {
  let r: Runtime;
  beforeAll(async () => {
    r = await open();
  });
  afterAll(closeAll);

  const put = (data: readonly number[], bytes = data.length * 4): number => {
    const s = newHandle();
    new Writer().alloc(s, bytes).write(s, 0, Float32Array.from(data)).run(r);
    return s;
  };
  const room = (n: number): number => put(new Array<number>(n).fill(-7));
  /** Words by name, in the plan's order. */
  const words = (k: string, values: Record<string, number>): number[] =>
    planOf(k).words.map((w) => {
      const v = values[w.name] ?? w.init;
      if (v === undefined) throw new Error(`${w.name} is missing`);
      return w.type === "f32" ? bits(v) : v >>> 0;
    });
  const run = (k: string, slots: readonly number[], values: Record<string, number>): void => {
    const id = r.plans.id(k);
    new Writer().plan(id, slots, words(k, values)).run(r);
  };
  const iota = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

  const ADD = key("fused", {
    ndim: 0,
    inputs: [
      { dtype: F32, layout: "c" },
      { dtype: F32, layout: "c" },
    ],
    nodes: [{ in: 0 }, { in: 1 }, { op: "add", args: [0, 1], dtype: F32 }],
    outputs: [{ node: 2, dtype: F32, layout: "c" }],
  });

  it("runs one kernel with the words as they are", async () => {
    const [a, b, o] = [put(iota(10)), put(iota(10)), room(10)];
    run(ADD, [a, b, o], { n: 10, i0o: 0, i1o: 0, q0o: 0 });
    expect(await floats(r, o, 10)).toEqual(iota(10).map((v) => 2 * v));
  });

  it("takes offsets that are no multiples of four", async () => {
    const [a, b, o] = [put(iota(12)), put(iota(12)), room(12)];
    run(ADD, [a, b, o], { n: 6, i0o: 1, i1o: 4, q0o: 3 });
    expect(await floats(r, o, 12)).toEqual([-7, -7, -7, 5, 7, 9, 11, 13, 15, -7, -7, -7]);
    const made = r.plans.made;
    run(ADD, [a, b, o], { n: 6, i0o: 2, i1o: 5, q0o: 3 });
    expect(r.plans.made).toBe(made); // another offset is no other plan
    expect((await floats(r, o, 12)).slice(2, 6)).toEqual([-7, 7, 9, 11]);
    const half = key("fused", {
      ndim: 0,
      inputs: [{ dtype: F32, layout: "c" }],
      nodes: [{ in: 0 }],
      outputs: [{ node: 0, dtype: "uint8", layout: "c" }],
    });
    const bytes = room(3);
    run(half, [a, bytes], { n: 4, i0o: 2, q0o: 1 });
    expect([...(await r.reader.read(bytes, 1, 4))]).toEqual([2, 3, 4, 5]);
  });

  it("cuts long reductions in parts, with scratch of its own", async () => {
    const n = 20000;
    const [x, o] = [put(iota(n).map((i) => i % 3)), room(1)];
    const sum = key("reduce", {
      kept: 0,
      reduced: 1,
      inputs: [{ dtype: F32 }],
      nodes: [{ in: 0 }],
      outputs: [{ op: "sum", node: 0, dtype: F32 }],
      inner: true,
    });
    const live = r.pool.stats.live;
    run(sum, [x, o], { rows: 1, n, r0: n, i0o: 0, i0r0: 1, q0o: 0 });
    expect(r.pool.stats.live).toBe(live);
    expect(await floats(r, o, 1)).toEqual([iota(n).reduce((s, i) => s + (i % 3), 0)]);
    // offsets are no reason to plan anew
    const made = r.plans.made;
    run(sum, [x, o], { rows: 1, n, r0: n - 1, i0o: 1, i0r0: 1, q0o: 0 });
    run(sum, [x, o], { rows: 1, n, r0: n, i0o: 0, i0r0: 1, q0o: 0 });
    expect(r.plans.made - made).toBe(1);
    const other = room(2);
    run(sum, [x, other], { rows: 1, n, r0: n, i0o: 0, i0r0: 1, q0o: 1 });
    expect(r.plans.made - made).toBe(1);
    expect((await floats(r, other, 2))[0]).toBe(-7);
    expect((await floats(r, other, 2))[1]).toBe((await floats(r, o, 1))[0]);
  });

  it("multiplies matrices, with bias, and long sums of small products", async () => {
    const layout = (m: number, k: number, n: number): Record<string, number> => ({
      ...{
        M: m,
        K: k,
        N: n,
        batches: 1,
        nb1: 1,
        alpha: 1,
        beta: 1,
        ao: 0,
        am: k,
        ak: 1,
        ab0: 0,
        ab1: 0,
        bo: 0,
        bk: n,
        bn: 1,
        bb0: 0,
        bb1: 0,
      },
      ...{ co: 0, cm: n, cn: 1, cb0: 0, cb1: 0, eo: 0, em: 0, en: 1, eb0: 0, eb1: 0 },
    });
    const want = (a: number[], b: number[], m: number, k: number, n: number, e: number[] = []): number[] =>
      iota(m * n).map((i) =>
        iota(k).reduce((s, j) => s + a[Math.floor(i / n) * k + j]! * b[j * n + (i % n)]!, e[i % n] ?? 0),
      );
    for (const [m, k, n] of [
      [5, 7, 6],
      [3, 6000, 4],
      [1, 9, 5],
    ] as const) {
      const [a, b, e] = [iota(m * k).map((i) => (i % 7) - 3), iota(k * n).map((i) => (i % 5) - 2), iota(n)];
      const o = room(m * n);
      run(key("matmul", { a: F32, b: F32, out: F32, bias: F32 }), [put(a), put(b), put(e), o], layout(m, k, n));
      expect(await floats(r, o, m * n)).toEqual(want(a, b, m, k, n, e));
      run(key("matmul", { a: F32, b: F32, out: F32 }), [put(a), put(b), o], layout(m, k, n));
      expect(await floats(r, o, m * n)).toEqual(want(a, b, m, k, n));
    }
  });

  it("convolves, whatever the groups", async () => {
    for (const groups of [1, 2]) {
      const conv = key("conv", { pass: "forward", dtype: F32, kernel: [3], stride: [1], padding: [1], dilation: [1] });
      const [x, w, o] = [iota(2 * 5), iota((2 * 2 * 3) / groups), room(2 * 5)];
      run(conv, [put([9, 9, 9, ...x]), put(w), o], { batch: 1, groups, wide: 2, narrow: 2, x0: 5, y0: 5, xo: 3 });
      const want = iota(10).map((i) => {
        const [oc, at] = [Math.floor(i / 5), i % 5];
        let sum = 0;
        for (let ic = 0; ic < 2 / groups; ic++)
          for (let t = 0; t < 3; t++) {
            const p = at + t - 1;
            if (p >= 0 && p < 5) sum += w[(oc * (2 / groups) + ic) * 3 + t]! * x[(groups === 2 ? oc : ic) * 5 + p]!;
          }
        return sum;
      });
      expect(await floats(r, o, 10)).toEqual(want);
    }
  });

  it("normalizes rows and scans them", async () => {
    const x = put(iota(12));
    const o = room(12);
    run(key("softmax", { log: true, dtype: F32, out: F32 }), [x, o], { rows: 3, n: 4, inner: 1, xo: 0, yo: 0 });
    (await floats(r, o, 12)).forEach((v, i) =>
      expect(v).toBeCloseTo((i % 4) - 3 - Math.log(1 + Math.exp(-1) + Math.exp(-2) + Math.exp(-3)), 5),
    );
    run(key("scan", { op: "cumsum", dtype: F32, out: F32 }), [x, o], { outer: 3, n: 4, inner: 1, xo: 0, yo: 0 });
    expect(await floats(r, o, 12)).toEqual(
      iota(12).map((i) =>
        iota(i + 1)
          .filter((j) => j >> 2 === i >> 2)
          .reduce((a, b) => a + b, 0),
      ),
    );
    const [mean, rstd] = [room(3), room(3)];
    run(key("layerNorm", { dtype: F32 }), [x, o, mean, rstd], { rows: 3, n: 4, xo: 0, yo: 0, eps: 0 });
    expect(await floats(r, mean, 3)).toEqual([1.5, 5.5, 9.5]);
  });

  it("does nothing where there is nothing to do", async () => {
    const o = room(1);
    const before = r.profile.counters.dispatches;
    run(ADD, [o, o, o], { n: 0, i0o: 0, i1o: 0, q0o: 0 });
    expect(r.profile.counters.dispatches).toBe(before);
    expect(await floats(r, o, 1)).toEqual([-7]);
  });

  it("says what it cannot plan", () => {
    const bad: [string, RegExp][] = [
      ["nothing:{}", /no WebGPU kernel/],
      ["fused:{", /cannot be planned/],
      [key("softmax", { log: false, dtype: "int64", out: F32 }), /softmax.*int64/],
      [key("softmax", { log: false, dtype: "float64", out: F32 }), /no dtype float64/],
      [key("softmax", { log: false, dtype: F32, out: F32, backwards: true }), /no parameter backwards/],
      [
        key("fused", {
          ndim: 0,
          inputs: [],
          nodes: [{ op: "frobnicate", args: [], dtype: F32 }],
          outputs: [{ node: 0, dtype: F32, layout: "c" }],
        }),
        /frobnicate/,
      ],
      [
        key("fused", {
          ndim: 0,
          inputs: [],
          nodes: [{ op: "neg", args: [0], dtype: F32 }],
          outputs: [{ node: 0, dtype: F32, layout: "c" }],
        }),
        /no node/,
      ],
      [key("matmul", { a: "int64", b: "int64", out: "int64", bias: "int64" }), /matmul/],
    ];
    const bridge = new Bridge();
    for (const [k, message] of bad) {
      expect(() => bridge.plan(k)).toThrow(message);
      expect(() => bridge.plan(k)).toThrow(expect.objectContaining({ name: "UnsupportedKernelError" }) as Error);
    }
    expect(bridge.plan(ADD)).toBe(bridge.plan(ADD));
  });

  it("leaves void what a failed plan should have written", async () => {
    const [a, o, p] = [room(4), room(4), room(4)];
    const id = r.plans.id(ADD);
    expect(() => new Writer().plan(id, [a, a, o], [4]).run(r)).toThrow(/takes 3 buffers and 4 words/);
    await expect(r.reader.read(o, 0, 16)).rejects.toThrow(/takes 3 buffers/);
    expect(await floats(r, a, 1)).toEqual([-7]);
    expect(() => new Writer().plan(id, [o, a, p], [4, 0, 0, 0]).run(r)).toThrow(/holds no result/);
    expect(() => new Writer().plan(9999, [a], []).run(r)).toThrow(/no plan number 9999/);
    await expect(r.reader.read(a, 0, 16)).rejects.toThrow(/no plan number/);
    await expect(r.reader.read(p, 0, 16)).rejects.toThrow(/holds no result/);
    const conv = key("conv", { pass: "forward", dtype: F32, kernel: [3], stride: [1], padding: [1], dilation: [1] });
    const q = room(4);
    expect(() => run(conv, [room(4), room(4), q], { batch: 1, groups: 2, wide: 3, narrow: 3, x0: 1, y0: 1 })).toThrow(
      /do not make 2 groups/,
    );
    await expect(r.reader.read(q, 0, 4)).rejects.toThrow(/2 groups/);
  });

  it("spreads over dimensions what is too much for one", async () => {
    const small = await open({ limits: { maxComputeWorkgroupsPerDimension: 5 } });
    const id = small.plans.id(ADD);
    const n = 256 * 4 * 20 + 5;
    const [a, o] = [newHandle(), newHandle()];
    new Writer()
      .alloc(a, n * 4)
      .alloc(o, n * 4)
      .fill(a, 0, 0xffffffff, bits(2))
      .plan(id, [a, a, o], [n, 0, 0, 0])
      .run(small);
    expect((await floats(small, o, n)).every((v) => v === 4)).toBe(true);
  });

  it("refuses kernels with more buffers than the device binds", async () => {
    const small = await open({ limits: { maxStorageBuffersPerShaderStage: 4 } });
    const sum = (ops: string[]): string =>
      key("reduce", {
        kept: 0,
        reduced: 1,
        inputs: [{ dtype: F32 }],
        nodes: [{ in: 0 }],
        outputs: ops.map((op) => ({ op, node: 0, dtype: F32 })),
      });
    expect(() => small.plans.id(sum(["sum", "amax"]))).not.toThrow();
    expect(() => small.plans.id(sum(["sum", "var"]))).toThrow(/more than the 4/); // var keeps three numbers a row
  });

  it("keeps plans and forgets steps when the device is replaced", async () => {
    const k = key("softmax", { log: false, dtype: F32, out: F32 });
    const again = await open();
    const id = again.plans.id(k);
    for (let i = 0; i < 2; i++) {
      const [x, y] = [newHandle(), newHandle()];
      new Writer().alloc(x, 16).alloc(y, 16).fill(x, 0, 16, 0).plan(id, [x, y], [1, 4, 1, 0, 0]).run(again);
      expect(await floats(again, y, 4)).toEqual([0.25, 0.25, 0.25, 0.25]);
      expect(await again.reset()).toBe(true);
    }
    expect(again.plans.made).toBe(2);
  });
});
