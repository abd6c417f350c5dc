import { expect } from "vitest";
import { fused } from "../../../src/kernels/elementwise/fused";
import { single } from "../../../src/kernels/elementwise/expression";
import { OPS, type OpName } from "../../../src/kernels/elementwise/op_table";
import values from "../../../test_support/special_values.json" with { type: "json" };
import { close, runOne, t, test } from "../../../test_support/run_kernel";

/** Values of special functions at float32 arguments, to 17 digits (from a 40-digit computation). */
const VALUES: Readonly<Record<string, readonly (readonly number[])[]>> = values;

async function run(op: OpName, tensors: readonly (readonly number[])[]): Promise<number[]> {
  const n = tensors[0]!.length;
  const nodes = single(
    op,
    tensors.map(() => "float32"),
    "float32",
  );
  const kernel = fused({
    ndim: 0,
    inputs: tensors.map(() => ({ dtype: "float32", layout: "c" as const })),
    nodes,
    outputs: [{ node: nodes.length - 1, dtype: "float32", layout: "c" }],
  });
  const values = Object.fromEntries([["n", n], ["q0o", 0], ...tensors.map((_, i) => [`i${i}o`, 0])]);
  return (
    await runOne(kernel, values, {
      ...Object.fromEntries(tensors.map((x, i) => [`x${i}`, t("float32", x)])),
      out: { dtype: "float32", zeros: n },
    })
  )["out"]!;
}

/** Relative and absolute error allowed; functions with zeros have an absolute one. */
const ERROR: Readonly<Record<string, readonly [number, number]>> = {
  special_bessel_j0: [4e-6, 4e-7],
  special_bessel_j1: [4e-6, 4e-7],
  special_bessel_y0: [4e-6, 4e-7],
  special_bessel_y1: [4e-6, 4e-7],
  special_airy_ai: [4e-6, 1e-6],
  lgamma: [1e-6, 3e-7],
  igamma: [6e-6, 1e-6],
  igammac: [6e-6, 1e-6],
  special_zeta: [2e-6, 0],
  polygamma: [1e-5, 0],
  digamma: [2e-6, 1e-6],
  special_entr: [1e-6, 1e-7],
};

test.each(Object.keys(VALUES))("%s", async (name) => {
  const rows = VALUES[name]!;
  const got = await run(
    name as OpName,
    rows[0]!.slice(0, -1).map((_, i) => rows.map((r) => r[i]!)),
  );
  const [rel, abs] = ERROR[name] ?? (name.includes("polynomial") ? [1e-5, 2e-6] : [2e-6, 1e-44]);
  const want = rows.map((r) => r[r.length - 1]!);
  close(
    got,
    want.map((w) => (Math.abs(w) > 3.4e38 ? Infinity * Math.sign(w) : w)),
    rel,
    abs,
  );
});

test("ends of the ranges", async () => {
  const CASES: [OpName, number[], number[]][] = [
    ["lgamma", [0, -3, Infinity, -Infinity, NaN], [Infinity, Infinity, Infinity, Infinity, NaN]],
    ["i0", [Infinity, -Infinity, NaN, 0], [NaN, NaN, NaN, 1]],
    ["special_i1e", [Infinity, 0, -0], [0, 0, -0]],
    ["special_modified_bessel_k0", [0, -1, Infinity, NaN], [Infinity, NaN, 0, NaN]],
    ["special_scaled_modified_bessel_k1", [0, -1, Infinity], [Infinity, NaN, 0]],
    ["special_bessel_j0", [Infinity, 0, NaN], [0, 1, NaN]],
    ["special_bessel_y0", [0, -1, Infinity], [-Infinity, NaN, 0]],
    ["special_ndtri", [0, 1, -0.1, 1.1, NaN], [-Infinity, Infinity, NaN, NaN, NaN]],
    ["special_log_ndtr", [-Infinity, Infinity, NaN], [-Infinity, 0, NaN]],
    ["special_erfcx", [Infinity, -30, NaN], [0, Infinity, NaN]],
    ["special_entr", [0, -1, NaN, 1], [0, -Infinity, NaN, 0]],
    ["special_airy_ai", [Infinity, -Infinity, NaN], [0, 0, NaN]],
    ["special_spherical_bessel_j0", [Infinity, 0], [0, 1]],
    ["frexp_mantissa", [8, -0.3, 0, 1e-40, Infinity], [0.5, -0.6000000238418579, 0, 0.5444488525390625, Infinity]],
    ["frexp_exponent", [8, -0.3, 0, 1e-40, Infinity], [4, -1, 0, -132, 0]],
  ];
  for (const [op, xs, want] of CASES) {
    const got = await run(op, [xs.map(Math.fround)]);
    expect([op, ...got.map((v) => v + 0)]).toEqual([op, ...want.map((v) => v + 0)]);
  }
  expect(
    await run("igamma", [
      [0, 1, 1, -1, 0],
      [1, 0, Infinity, 1, 0],
    ]),
  ).toEqual([1, 0, 1, NaN, NaN]);
  expect(
    await run("igammac", [
      [0, 1, 1, -1, 0],
      [1, 0, Infinity, 1, 0],
    ]),
  ).toEqual([0, 1, 0, NaN, NaN]);
  expect(
    await run("special_zeta", [
      [1, 0.5, 2, 2.5],
      [3, 3, -2, -1.5],
    ]),
  ).toEqual([Infinity, NaN, Infinity, NaN]);
});

test("every operation has a form", () => {
  expect(
    Object.entries(OPS)
      .filter(([, def]) => def === null)
      .map(([name]) => name),
  ).toEqual([]);
});
