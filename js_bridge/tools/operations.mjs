// Writes the element-wise operations of the kernels down for Python: torchlite/webgpu/plan/operations.py.
// tests/api/operations.test.ts
// fails while that file is not current.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const contents = 'import { operationsText } from "./test_support/operations"; process.stdout.write(operationsText());';
const options = { bundle: true, write: false, format: "esm", target: "es2022" };
const built = await build({ stdin: { contents, resolveDir: root }, ...options });
const program = built.outputFiles[0].text;
const text = execFileSync(process.execPath, ["--input-type=module"], { input: program, encoding: "utf8" });
writeFileSync(join(root, "../torchlite/webgpu/plan/operations.py"), text);
