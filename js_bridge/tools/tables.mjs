// Writes for Python what it shares with the bridge: the element-wise operations of the kernels, and the protocol of the
// GPU worker. tests/api/tables.test.ts fails while these files are not current.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const contents = 'export * from "./test_support/tables";';
const options = { bundle: true, write: false, format: "esm", target: "es2022" };
const built = await build({ stdin: { contents, resolveDir: root }, ...options });
const program = built.outputFiles[0].text;
const { tables } = await import(`data:text/javascript,${encodeURIComponent(program)}`);
for (const [file, text] of Object.entries(tables())) writeFileSync(join(root, "../torchlite/webgpu", file), text);
