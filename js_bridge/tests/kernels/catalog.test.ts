import { join } from "node:path";
import { expect, it } from "vitest";
import { BROWSERS, inBrowser } from "../../test_support/browsers";
import { catalog } from "../../test_support/catalog";
import { device, test } from "../../test_support/run_kernel";

test("every shader is accepted by Dawn", async () => {
  const d = await device();
  const found: string[] = [];
  for (const kernel of catalog({ subgroups: d.features.has("subgroups") })) {
    const info = await d.createShaderModule({ code: kernel.wgsl }).getCompilationInfo();
    const lines = info.messages.filter((m) => m.type === "error").map((m) => `${m.lineNum}: ${m.message}`);
    if (lines.length > 0) found.push(`${kernel.key} ${lines.join("; ")}`);
  }
  expect(found).toEqual([]);
});

it.each(BROWSERS)(
  "every shader is accepted by %s",
  async (_, start) => {
    expect(await inBrowser(start, join(import.meta.dirname, "../../test_support/catalog_page.ts"))).toEqual([]);
  },
  150_000,
);
