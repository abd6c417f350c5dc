// Bundles the bridge and holds it to its budget. Without an argument both bundles are made: the ES module, and the
// script for the wheel (src/api/page.ts). A file name as argument makes one: .mjs is the module, .js the script. With
// another argument, it is made of that source instead.
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

// ESBUILD: the folder of esbuild, where it is not among this folder's packages.
const { ESBUILD } = process.env;
const { build } = await import(ESBUILD ? pathToFileURL(join(ESBUILD, "lib", "main.js")) : "esbuild");

const BUDGET = 120_000; // bytes, gzip
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const outfiles = process.argv[2]
  ? [process.argv[2]]
  : ["torchlite_webgpu.mjs", "bridge.js"].map((name) => join(root, "dist", name));

for (const outfile of outfiles) {
  const script = outfile.endsWith(".js");
  await build({
    entryPoints: [process.argv[3] ?? join(root, "src", "api", script ? "page.ts" : "bridge.ts")],
    outfile,
    bundle: true,
    format: script ? "iife" : "esm",
    target: "es2022",
    minify: true,
    keepNames: false,
    legalComments: "none",
    logLevel: "warning",
  });
  const bytes = readFileSync(outfile);
  const packed = gzipSync(bytes, { level: 9 }).length;
  console.log(`${basename(outfile)}: ${bytes.length} bytes, ${packed} gzip (budget ${BUDGET})`);
  if (packed > BUDGET) process.exit(1);
}
