import { describe, expect, it } from "vitest";
import { deno, inDeno } from "../../test_support/deno_host";
import { CASES, result, type Results } from "../../test_support/deno_program";
import { gpu } from "../../test_support/gpu";

describe.skipIf(!gpu || !deno)("in Deno", () => {
  it("gives Dawn's numbers", async () => {
    const got = (await inDeno("deno_program", "result")) as Results;
    const want = await result(gpu ? { gpu } : {});
    console.info(`${got.adapter}, ${want.adapter}`);
    for (const [name, one] of Object.entries(CASES)) {
      // not an error's text
      expect(typeof want.results[name], `${name}: ${JSON.stringify(want.results[name])}`).toBe("object");
      for (const [buffer, expected] of Object.entries(want.results[name] as Record<string, number[]>)) {
        const found = (got.results[name] as Record<string, number[]>)[buffer];
        expect(found?.length, `${name} ${buffer}: ${JSON.stringify(got.results[name]).slice(0, 300)}`).toBe(
          expected.length,
        );
        const exact = one.kinds?.[buffer] !== undefined;
        const worst = Math.max(
          ...expected.map((v, i) => Math.abs((found?.[i] ?? NaN) - v) / (exact ? 1 : 1 + Math.abs(v))),
        );
        expect(worst, `${name} ${buffer}`).toBeLessThanOrEqual(exact ? 0 : 2e-5);
      }
    }
    expect([got.refused, want.refused]).toEqual([
      ["KernelError", "9,0,0,0"],
      ["KernelError", "9,0,0,0"],
    ]);
  });

  it("takes every shader", async () => {
    expect(await inDeno("deno_program", "refusedShaders")).toEqual([]);
  });
});
