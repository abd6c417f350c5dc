import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tables } from "../../test_support/tables";

it.each(Object.entries(tables()))("Python's %s is current: `npm run tables` writes it", (file, text) => {
  expect(readFileSync(join(import.meta.dirname, "../../../torchlite/webgpu", file), "utf8")).toBe(text);
});
