/**
 * For tests: functions of this folder run in Deno, whose WebGPU is wgpu: its compiler is Firefox's, and it takes Mesa's
 * software device, which has shader-f16.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Deno's program: that in DENO, in node_modules, or in the PATH. */
function findDeno(): string | null {
  const folder = join(import.meta.dirname, "..", "node_modules", "@deno");
  const local = (existsSync(folder) ? readdirSync(folder) : [])
    .flatMap((n) => ["deno", "deno.exe"].map((exe) => join(folder, n, exe)))
    .find((p) => existsSync(p));
  const named = process.env["DENO"] ?? local ?? "deno";
  return spawnSync(named, ["--version"]).status === 0 ? named : null;
}
export const deno = findDeno();
if (!deno)
  console.warn("tests in Deno are skipped: there is no deno in the PATH (or DENO=...; npm has it as the package deno)");

/** The description of Mesa's software Vulkan driver; null where it is not installed. */
function findLavapipe(): string | null {
  const folder = "/usr/share/vulkan/icd.d";
  const name = existsSync(folder) ? readdirSync(folder).find((n) => n.startsWith("lvp_icd.")) : undefined;
  return name ? join(folder, name) : null;
}
export const lavapipe = findLavapipe();

/**
 * Calls a function that a module of this folder exports; its answer is JSON. driver: of Vulkan, where not the usual
 * one.
 */
export async function inDeno(module: string, name: string, driver?: string): Promise<unknown> {
  const folder = mkdtempSync(join(import.meta.dirname, "..", "node_modules", ".deno-"));
  try {
    const outfile = join(folder, "program.mjs");
    const run = `console.log(JSON.stringify(await ${name}())); Deno.exit(0);`;
    const contents = `import { ${name} } from "./${module}"; ${run}`;
    await build({
      stdin: { contents, resolveDir: import.meta.dirname },
      outfile,
      bundle: true,
      format: "esm",
      target: "es2022",
    });
    const env = { ...process.env, ...(driver && { VK_ICD_FILENAMES: driver, VK_DRIVER_FILES: driver }) };
    const done = spawnSync(deno ?? "", ["run", "--no-config", "--no-lock", "--allow-all", outfile], {
      encoding: "utf8",
      timeout: 200_000,
      maxBuffer: 1 << 28,
      env,
    });
    if (done.status !== 0)
      throw new Error(`deno ended with ${done.status ?? done.signal}: ${done.stderr.slice(-2000)}`);
    return JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
