import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../test_support/browser_page";
import { BROWSERS, inBrowser } from "../../test_support/browsers";

describe.skipIf(BROWSERS.length === 0)("in a browser", () => {
  it.each(BROWSERS)(
    "%s: reads of both kinds, in window and worker",
    async (_, start) => {
      const outcomes = (await inBrowser(
        start,
        join(import.meta.dirname, "../../test_support/browser_page.ts"),
      )) as Outcome[];
      for (const { where, figures } of outcomes) console.info(where, JSON.stringify(figures));
      expect(outcomes.map((o) => [o.where, o.failures])).toEqual([
        ["window", []],
        ["worker", []],
      ]);
    },
    150_000,
  );
});
