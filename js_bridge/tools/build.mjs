// Bundles the bridge into one ES module and holds it to its budget.
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 120_000; // bytes, gzip
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const outfile = process.argv[2] ?? join(root, "dist", "torchlite_webgpu.mjs");

await build({
  entryPoints: [join(root, "src", "index.ts")],
  outfile,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  keepNames: false,
  legalComments: "none",
  logLevel: "warning",
});
const bytes = readFileSync(outfile);
const packed = gzipSync(bytes, { level: 9 }).length;
console.log(`torchlite_webgpu.mjs: ${bytes.length} bytes, ${packed} gzip (budget ${BUDGET})`);
if (packed > BUDGET) process.exit(1);
