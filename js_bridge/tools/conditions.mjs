// Conditional expressions within a branch of another: prints where, and exits with 1. Arguments: the files.
import { readFileSync } from "node:fs";
import { parsers } from "prettier/plugins/typescript";

const found = [];

/** `inside`: whether the node is part of a branch of a conditional expression. */
function walk(node, inside, file) {
  if (Array.isArray(node)) for (const part of node) walk(part, inside, file);
  if (typeof node?.type !== "string") return;
  const conditional = node.type === "ConditionalExpression";
  if (conditional && inside) found.push(`${file}:${node.loc.start.line}: a conditional expression within another`);
  for (const [name, part] of Object.entries(node))
    if (part !== null && typeof part === "object" && name !== "loc" && name !== "range")
      walk(part, conditional ? inside || name !== "test" : inside, file);
}

for (const file of process.argv.slice(2)) {
  const tree = await parsers.typescript.parse(readFileSync(file, "utf8"), { filepath: file });
  walk(tree.body, false, file);
}
for (const line of found) console.log(line);
process.exitCode = found.length ? 1 : 0;
