import { describe, expect, it } from "vitest";
import { deno, inDeno, lavapipe } from "../../test_support/deno_host";
import { HALF_CASES, halfResult, type HalfResults } from "../../test_support/half_program";
import { readsHalves } from "../../src/runtime/halves";
import { gpu, open, closeAll } from "../../test_support/gpu";

if (!lavapipe)
  console.warn(
    "tests of shader-f16 are skipped: Mesa's software driver is not installed (Debian: mesa-vulkan-drivers)",
  );

const half = (bits: number): number => {
  const e = (bits >> 10) & 31,
    m = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (e === 31) return m ? NaN : sign * Infinity;
  return sign * (e ? 2 ** (e - 25) * (m + 1024) : m * 2 ** -24);
};
/**
 * Places of two results that differ, or by more than `ulps` of half precision and what sums in another order may be
 * apart; NaNs are alike.
 */
function apart(a: readonly number[], b: readonly number[], ulps = 0): string[] {
  if (a.length !== b.length) return [`${a.length} elements, ${b.length} elements`];
  return a.flatMap((x, i) => {
    const [u, v] = [half(x), half(b[i]!)];
    if (Object.is(u, v) || (Number.isNaN(u) && Number.isNaN(v))) return [];
    // infinity is one step beyond the largest
    const [p, q] = [u, v].map((w) => Math.max(-65536, Math.min(65536, w))) as [number, number];
    return ulps > 0 &&
      Math.abs(p - q) <=
        1e-3 + ulps * 2 ** (Math.max(-14, Math.floor(Math.log2(Math.max(Math.abs(p), Math.abs(q))))) - 10)
      ? []
      : [`${i}: ${u}, ${v}`];
  });
}
/** Cases that take Dawn's software device seconds. */
const SLOW = /"M":10|wide/;
const outputs = (name: string): string[] => Object.keys(HALF_CASES[name]!.kinds ?? {});

describe.skipIf(!deno || !lavapipe)("shader-f16", () => {
  it("changes no number, on kernels for GPUs and for CPUs", async () => {
    const [on, off, onCpu, offCpu] = (await inDeno("half_program", "halfResults", lavapipe ?? "")) as [
      HalfResults,
      HalfResults,
      HalfResults,
      HalfResults,
    ];
    expect([on, off, onCpu, offCpu].map((r) => r.halves)).toEqual(["f16", "bits", "f16", "bits"]);
    const want = gpu ? await halfResult({ gpu, software: true }, (name) => !SLOW.test(name)) : null;
    const used: string[] = [];
    for (const name of Object.keys(HALF_CASES)) {
      for (const buffer of outputs(name)) {
        expect(apart(on.results[name]![buffer]!, off.results[name]![buffer]!), name).toEqual([]);
        expect(apart(onCpu.results[name]![buffer]!, offCpu.results[name]![buffer]!), `${name} on a CPU`).toEqual([]);
        // sums in another order, or joined to other instructions: the last place of the rounded result
        expect(apart(off.results[name]![buffer]!, offCpu.results[name]![buffer]!, 1), `${name}, both ways`).toEqual([]);
        if (want && !SLOW.test(name))
          expect(apart(off.results[name]![buffer]!, want.results[name]![buffer]!, 1), `${name}, Dawn's`).toEqual([]);
      }
      if (on.kernels[name]!.some((k) => k.includes('"f16":true'))) used.push(name);
      expect(off.kernels[name]!.join(), name).not.toContain("f16");
    }
    // all but a product that is a reduction
    expect(used).toEqual(Object.keys(HALF_CASES).filter((n) => !/"M":1,/.test(n)));
  });
});

describe.skipIf(!gpu)("float16 on a device without shader-f16", () => {
  it("is read by its bits", async () => {
    const r = await open({ without: ["shader-f16"] });
    expect([r.holder.info.halves, r.holder.f16]).toEqual(["bits", false]);
    closeAll();
  });
});

it("a device that is lost while it is asked reads no halves, and leaves no rejection to nobody", async () => {
  const later = <T>(ms: number): Promise<T> => new Promise((_, no) => setTimeout(no, ms, new Error("lost")));
  const any: object = new Proxy(() => undefined, {
    get: (_, name) => {
      if (name === "then") return undefined;
      if (name === "popErrorScope") return () => later(0);
      return name === "mapAsync" ? () => later(20) : any;
    },
    apply: () => any,
  });
  const unhandled: unknown[] = [];
  const note = (e: unknown): void => void unhandled.push(e);
  process.on("unhandledRejection", note);
  expect(await readsHalves(any as GPUDevice)).toBe(false);
  await new Promise((done) => setTimeout(done, 50));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
