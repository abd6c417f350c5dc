import { expect, test } from "vitest";
import { type Node, statements } from "../../../src/kernels/elementwise/expression";

const text = (nodes: Node[]): string =>
  statements({ nodes, inputs: [{ dtype: "float32" }, { dtype: "float32" }] }, ["a", "b"], [], "i", "p.count");

test("a compiler cannot see that both operands are the same", () => {
  const sub = (...args: number[]): Node => ({ op: "sub", args, dtype: "float32" });
  expect(text([{ in: 0 }, sub(0, 0)])).toContain("tl_hidden(t0");
  expect(text([{ in: 0 }, { in: 0 }, sub(0, 1)])).toContain("tl_hidden(t1");
  expect(text([{ in: 0 }, { in: 1 }, sub(0, 1)])).not.toContain("tl_hidden");
});
