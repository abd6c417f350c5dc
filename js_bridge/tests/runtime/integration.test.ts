import { afterAll, describe, expect, it } from "vitest";
import { sourceOf } from "../../src/runtime/kernel";
import { planMatmul } from "../../src/kernels/products/matmul";
import { packUniforms } from "../../src/kernels/spec";
import { Writer, closeAll, floats, gpu, open } from "../../test_support/gpu";

/** The kernels' conventions and the runtime's are the same. */
describe.skipIf(!gpu)("kernels on the runtime", () => {
  afterAll(closeAll);

  it("multiplies matrices", async () => {
    const r = await open();
    const [m, k, n] = [37, 19, 23];
    const a = Float32Array.from({ length: m * k }, (_, i) => (i % 7) - 3);
    const b = Float32Array.from({ length: k * n }, (_, i) => (i % 5) - 2);
    const layout = {
      ...{ M: m, K: k, N: n, batches: 1, nb1: 1, alpha: 1, beta: 1 },
      ...{
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
        co: 0,
        cm: n,
        cn: 1,
        cb0: 0,
        cb1: 0,
      },
    };
    const slots: Record<string, number> = {};
    const w = new Writer();
    const slot = (name: string, bytes: number): number => {
      const s = (slots[name] ??= r.slots.reserve());
      w.alloc(s, bytes);
      return s;
    };
    w.write(slot("a", a.byteLength), 0, a).write(slot("b", b.byteLength), 0, b);
    slot("c", m * n * 4);
    const steps = planMatmul({ a: "float32", b: "float32", out: "float32", values: layout });
    for (const { kernel, values, buffers } of steps) {
      const id = r.pipelines.defined(kernel.key) ?? r.pipelines.define(kernel.key, sourceOf(kernel));
      const words = [...new Uint32Array(packUniforms(kernel, values))].slice(0, kernel.uniforms.length);
      w.dispatch(
        id,
        [...kernel.workgroups(values)],
        buffers.map((name) => slots[name] ?? slot(name, 1 << 16)),
        words,
      );
    }
    w.run(r);
    const want = Array.from({ length: m * n }, (_, i) => {
      let sum = 0;
      for (let j = 0; j < k; j++) sum += (a[Math.floor(i / n) * k + j] ?? 0) * (b[j * n + (i % n)] ?? 0);
      return sum;
    });
    expect(await floats(r, slots["c"] ?? 0, m * n)).toEqual(want);
  });
});
