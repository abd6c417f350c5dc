import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { operationsText } from "../../test_support/operations";

it("Python's list of element-wise operations is current: `npm run operations` writes it", () => {
  const path = join(import.meta.dirname, "../../../torchlite/webgpu/plan/operations.py");
  expect(readFileSync(path, "utf8")).toBe(operationsText());
});
