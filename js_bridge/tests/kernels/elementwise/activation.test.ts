import { ACTIVATIONS } from "../../../src/kernels/elementwise/op_activation";
import { fused } from "../../../src/kernels/elementwise/fused";
import { close, erf, random, runOne, t, test } from "../../../test_support/run_kernel";
import { single } from "../../../src/kernels/elementwise/expression";

type ActivationName = keyof typeof ACTIVATIONS;

const sig = (x: number): number => 1 / (1 + Math.exp(-x));
const softplus = (x: number, b: number, l: number): number => (x * b > l ? x : Math.log1p(Math.exp(x * b)) / b);
const inner = (x: number): number => 0.7978845608028654 * (x + 0.044715 * x ** 3);

type Forward = { f: (x: number, ...s: number[]) => number; scalars?: number[] };
const FORWARD: Partial<Record<ActivationName, Forward>> = {
  relu: { f: (x) => (x <= 0 ? 0 : x) },
  threshold: { f: (x, a, b) => (x <= a! ? b! : x), scalars: [0.5, -7] },
  hardtanh: { f: (x, a, b) => (Number.isNaN(x) ? x : Math.min(Math.max(x, a!), b!)), scalars: [-1, 2] },
  gelu: { f: (x) => (x < -4 ? NaN : 0.5 * x * (1 + erf(x / Math.SQRT2))) },
  gelu_tanh: { f: (x) => (x === -Infinity ? NaN : 0.5 * x * (1 + Math.tanh(inner(x)))) },
  silu: { f: (x) => x * sig(x) },
  elu: { f: (x, n, p, i) => (x <= 0 ? Math.expm1(x * i!) * n! : x * p!), scalars: [1.3, 0.9, 0.8] },
  leaky_relu: { f: (x, s) => (x > 0 ? x : x * s!), scalars: [0.1] },
  hardswish: { f: (x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6 },
  hardsigmoid: { f: (x) => Math.min(Math.max(x + 3, 0), 6) / 6 },
  softplus: { f: (x, b, l) => softplus(x, b!, l!), scalars: [1, 20] },
  mish: { f: (x) => x * Math.tanh(softplus(x, 1, 20)) },
  log_sigmoid: { f: (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))) },
  softshrink: { f: (x, l) => (Number.isNaN(x) ? x : Math.max(x - l!, 0) + Math.min(x + l!, 0)), scalars: [0.5] },
  hardshrink: { f: (x, l) => (x >= -l! && x <= l! ? 0 : x), scalars: [0.5] },
};

async function run(name: ActivationName, tensors: number[][], scalars: readonly number[]): Promise<number[]> {
  const n = tensors[0]!.length;
  const nodes = single(
    name,
    tensors.map(() => "float32"),
    "float32",
    scalars.length,
  );
  const kernel = fused({
    ndim: 0,
    inputs: tensors.map(() => ({ dtype: "float32", layout: "c" as const })),
    nodes,
    outputs: [{ node: nodes.length - 1, dtype: "float32", layout: "c" }],
  });
  const values = Object.fromEntries([
    ["n", n],
    ["q0o", 0],
    ...tensors.map((_, i) => [`i${i}o`, 0]),
    ...scalars.map((v, i) => [`c${i}`, v]),
  ]);
  return (
    await runOne(kernel, values, {
      ...Object.fromEntries(tensors.map((x, i) => [`x${i}`, t("float32", x)])),
      out: { dtype: "float32", zeros: n },
    })
  )["out"]!;
}

test.each(Object.entries(FORWARD) as [ActivationName, Forward][])("%s", async (name, { f, scalars = [] }) => {
  const xs = [...random(501, -9, 9), 0, -0, NaN, Infinity, -Infinity, 1e-5, 30].map(Math.fround);
  const want = xs.map((x) => f(x, ...scalars.map(Math.fround)));
  const got = await run(name, [xs], scalars);
  const use = want.map(
    (w, i) => !(Number.isNaN(w) && !Number.isNaN(xs[i]!)) && !(name === "gelu" && Math.abs(w) < 1e-5),
  );
  // infinite inputs of x * f(x) give NaN or 0 by order of evaluation
  close(
    got.filter((_, i) => use[i] && Number.isFinite(xs[i]!)),
    want.filter((_, i) => use[i] && Number.isFinite(xs[i]!)),
    3e-6,
    1e-7,
  );
});

/** Backward forms against a central difference of the forward, away from its corners. */
const BACKWARD: [ActivationName, ActivationName | "sigmoid" | "tanh", "x" | "y"][] = [
  ["threshold_backward", "threshold", "x"],
  ["gelu_backward", "gelu", "x"],
  ["gelu_tanh_backward", "gelu_tanh", "x"],
  ["silu_backward", "silu", "x"],
  ["elu_backward", "elu", "x"],
  ["elu_result_backward", "elu", "y"],
  ["leaky_relu_backward", "leaky_relu", "x"],
  ["hardtanh_backward", "hardtanh", "x"],
  ["hardswish_backward", "hardswish", "x"],
  ["hardsigmoid_backward", "hardsigmoid", "x"],
  ["softplus_backward", "softplus", "x"],
  ["mish_backward", "mish", "x"],
  ["log_sigmoid_backward", "log_sigmoid", "x"],
  ["shrink_backward", "softshrink", "x"],
  ["sigmoid_backward", "sigmoid", "y"],
  ["tanh_backward", "tanh", "y"],
];
test.each(BACKWARD)("%s", async (name, of, from) => {
  const fwd: Forward = { ...FORWARD, sigmoid: { f: sig }, tanh: { f: Math.tanh } }[of]!;
  const scalars = fwd.scalars ?? [];
  const f = (x: number): number => fwd.f(x, ...scalars);
  const corners = [-3, -1, -0.5, 0, 0.5, 2, 3];
  const xs = random(400, -3.9, 6).filter((x) => corners.every((c) => Math.abs(x - c) > 0.01));
  const gs = random(xs.length, -2, 2, 4);
  const want = xs.map((x, i) => (gs[i]! * (f(x + 1e-6) - f(x - 1e-6))) / 2e-6);
  const arity = ACTIVATIONS[name as keyof typeof ACTIVATIONS].arity - 2;
  close(
    await run(name, [gs, xs.map((x) => (from === "y" ? f(x) : x)).map(Math.fround)], scalars.slice(0, arity)),
    want,
    1e-5,
    1e-6,
  );
});
