// Writes what the core, the bridge and Python share: dtypes, the kernels' operations, the protocol of the GPU worker.
// tests/api/tables.test.ts fails while these files are not current.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const top = join(root, "..");
const contents = 'export * from "./test_support/tables";';
const options = { bundle: true, write: false, format: "esm", target: "es2022" };
const built = await build({ stdin: { contents, resolveDir: root }, ...options });
const program = built.outputFiles[0].text;
const { HEADER, tables } = await import(`data:text/javascript,${encodeURIComponent(program)}`);
const header = readFileSync(join(top, HEADER), "utf8");
for (const [file, text] of Object.entries(tables(header))) writeFileSync(join(top, file), text);
