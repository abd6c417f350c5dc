/** No two files of the bridge import each other, directly or through others; types count too. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const SRC = join(import.meta.dirname, "../../src");
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".ts"));

const imports = new Map(
  files.map((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    const named = [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map((m) => `${m[1]}.ts`);
    return [file, named.map((n) => relative(SRC, join(SRC, dirname(file), n)))];
  }),
);

/** All that a file reads, itself only if it is in a circle. */
function reached(file: string): Set<string> {
  const seen = new Set<string>();
  const rest = [file];
  for (let next = rest.pop(); next !== undefined; next = rest.pop())
    for (const other of imports.get(next) ?? []) {
      if (!seen.has(other)) rest.push(other);
      seen.add(other);
    }
  return seen;
}

it("finds the imports", () => {
  expect(reached("api/page.ts")).toContain("runtime/stream.ts");
});

it("has no circles", () => {
  expect(files.filter((f) => reached(f).has(f))).toEqual([]);
});
