import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { CASES, result, type Results } from "./deno_program";
import { gpu } from "./testing";

/** Deno's program: that in DENO, in node_modules, or in the PATH. Its WebGPU is wgpu, whose compiler is Firefox's. */
function findDeno(): string | null {
  const local = join(import.meta.dirname, "..", "node_modules", ".bin", "deno");
  const named = process.env["DENO"] ?? (existsSync(local) ? local : "deno");
  return spawnSync(named, ["--version"]).status === 0 ? named : null;
}
const deno = findDeno();
if (!deno) console.warn("tests in Deno are skipped: there is no deno in the PATH (or DENO=...; npm has it as the package deno)");

/** Calls a function of deno_program.ts in Deno. */
async function inDeno(name: string): Promise<unknown> {
  const folder = mkdtempSync(join(import.meta.dirname, "..", "node_modules", ".deno-"));
  try {
    const outfile = join(folder, "program.mjs");
    const contents = `import { ${name} } from "./deno_program"; console.log(JSON.stringify(await ${name}())); Deno.exit(0);`;
    await build({ stdin: { contents, resolveDir: import.meta.dirname }, outfile, bundle: true, format: "esm", target: "es2022" });
    const done = spawnSync(deno ?? "", ["run", "--no-config", "--no-lock", "--allow-all", outfile], { encoding: "utf8", timeout: 200_000, maxBuffer: 1 << 28 });
    if (done.status !== 0) throw new Error(`deno ended with ${done.status ?? done.signal}: ${done.stderr.slice(-2000)}`);
    return JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!gpu || !deno)("in Deno", () => {
  it("gives Dawn's numbers", async () => {
    const got = (await inDeno("result")) as Results;
    const want = await result(gpu ? { gpu } : {});
    console.info(`${got.adapter}, ${want.adapter}`);
    for (const [name, one] of Object.entries(CASES)) {
      for (const [buffer, expected] of Object.entries(want.results[name] as Record<string, number[]>)) {
        const found = (got.results[name] as Record<string, number[]>)[buffer];
        expect(found?.length, `${name} ${buffer}: ${JSON.stringify(got.results[name]).slice(0, 300)}`).toBe(expected.length);
        const exact = one.kinds?.[buffer] !== undefined;
        const worst = Math.max(...expected.map((v, i) => Math.abs((found?.[i] ?? NaN) - v) / (exact ? 1 : 1 + Math.abs(v))));
        expect(worst, `${name} ${buffer}`).toBeLessThanOrEqual(exact ? 0 : 2e-5);
      }
    }
    expect([got.refused, want.refused]).toEqual([["KernelError", "9,0,0,0"], ["KernelError", "9,0,0,0"]]);
  });

  it("takes every shader", async () => {
    expect(await inDeno("refusedShaders")).toEqual([]);
  });
});
