import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { HEADER, tables } from "../../test_support/tables";

const read = (file: string): string => readFileSync(join(import.meta.dirname, "../../..", file), "utf8");

it.each(Object.entries(tables(read(HEADER))))("%s is current: `npm run tables` writes it", (file, text) => {
  expect(read(file)).toBe(text);
});
