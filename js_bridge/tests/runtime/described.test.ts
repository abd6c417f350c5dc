import { expect, it } from "vitest";
import { described } from "../../src/runtime/described";
import { OPS } from "../../src/kernels/elementwise/op_table";
import { REDUCTIONS } from "../../src/kernels/rows/reduce_ops";

const F32 = 8;
const S = 128;
const op = (name: string, dtype: number, compute: number, ...args: number[]): number[] => {
  const number = Object.keys(OPS).indexOf(name);
  return [0, number & 255, number >> 8, dtype, compute, args.length, ...args];
};
const text = (...bytes: number[]): string => `expression:${String.fromCharCode(...bytes)}`;
const MATMUL = 'matmul:{"a":"float32","b":"float32","out":"float32"}';
const none = (): string => {
  throw new Error("no plan is asked for");
};

it("decodes an expression: parts of all kinds, strides, a result in an input's buffer", () => {
  const nodes = [...[1, 0], ...[2, 5], ...[3, 255], ...op("add_scaled", 0, F32, 0, 1, 2)];
  expect(described(text(0, 2, 4, ...nodes, 1, F32 | S, 0, 3, 0), none)).toEqual({
    family: "fused",
    params: {
      ndim: 2,
      nodes: [
        { in: 0 },
        { scalar: 0, dtype: "int64" },
        { coord: -1 },
        { op: "add_scaled", args: [0, 1, 2], dtype: "bool", compute: "float32" },
      ],
      inputs: [{ dtype: "float32", layout: "s", alias: 0 }],
      outputs: [{ node: 3, dtype: "bool", layout: "c" }],
    },
  });
});

it("puts an epilogue and a prologue into the description of their product", () => {
  const first = text(2, 1, 0, 0, 0, 1, 2, 1, 0, ...op("exp", F32, 255, 0), 1, F32 | S, 255);
  const keys: Record<number, string> = { 1: MATMUL, 0x10203: first };
  const after = text(1, 3, 2, 1, 0, 0, 2, 4, F32, ...op("relu", F32, 255, 0), 0, 1, F32);
  expect(described(after, (n) => keys[n]!)).toEqual({
    family: "matmul",
    params: {
      a: "float32",
      b: "float32",
      out: "float32",
      first: {
        ndim: 1,
        nodes: [{ in: 0 }, { op: "exp", args: [0], dtype: "float32" }],
        inputs: [{ dtype: "float32", layout: "s" }],
      },
      after: {
        ndim: 0,
        nodes: [{ product: "float32" }, { op: "relu", args: [0], dtype: "float32" }],
        inputs: [],
        outputs: [{ node: 1, dtype: "float32" }],
      },
    },
  });
});

it("decodes a reduction of an expression, with several results", () => {
  const nodes = [...[1, 0], ...[1, 1], ...op("mul", F32, 255, 0, 1)];
  const outputs = (["mean", "argmax"] as const).flatMap((name, k) => [REDUCTIONS.indexOf(name), 2 - k, k ? 5 : F32]);
  expect(described(text(4, 1, 2, 0, 3, ...nodes, 2, F32, 255, 6, 255, ...outputs), none)).toEqual({
    family: "reduce",
    params: {
      kept: 1,
      reduced: 2,
      inner: false,
      inputs: [{ dtype: "float32" }, { dtype: "float16" }],
      nodes: [{ in: 0 }, { in: 1 }, { op: "mul", args: [0, 1], dtype: "float32" }],
      outputs: [
        { op: "mean", node: 2, dtype: "float32" },
        { op: "argmax", node: 1, dtype: "int64" },
      ],
    },
  });
});

it.each([
  ["a reduction that is not known", text(4, 0, 1, 1, 1, 1, 0, 1, F32, 255, 200, 0, F32)],
  ["a reduction that is cut off", text(4, 0, 1, 1, 1, 1, 0, 1, F32, 255, 0)],
  ["a part that is cut off", text(0, 0, 1, 0, 1)],
  ["an unknown operation", text(0, 0, 1, 0, 255, 255, F32, 255, 0, 0, 0, F32)],
  ["a dtype that is not on the device", text(0, 0, 1, 2, 9, 0, 0, 9)],
  ["a part of an unknown kind", text(0, 0, 1, 9, 0, 0)],
  ["an unknown role", text(7, 0, 0, 0)],
  ["a product that is not there", text(1, 0, 0, 0, 0, 0, 0, 0)],
])("refuses %s", (_, key) => {
  expect(() => described(key, none)).toThrow();
});
