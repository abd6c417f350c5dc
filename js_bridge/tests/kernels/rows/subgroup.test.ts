import { expect } from "vitest";
import { layerNorm } from "../../../src/kernels/rows/norm";
import { reduce } from "../../../src/kernels/rows/reduce";
import type { ReduceOp } from "../../../src/kernels/rows/reduce_ops";
import { softmax } from "../../../src/kernels/rows/softmax";
import type { DType, Kernel, Values } from "../../../src/kernels/spec";
import { close, random, randomInts, runOne, t, test } from "../../../test_support/run_kernel";

/** How a device might spread `lanes` invocations over subgroups: for each its subgroup and its place in that. */
interface Spread {
  readonly size: number;
  of(lane: number, lanes: number): readonly [group: number, at: number];
}
const linear = (size: number): Spread => ({ size, of: (l) => [Math.floor(l / size), l % size] });
const SPREADS: Readonly<Record<string, Spread>> = {
  ...Object.fromEntries([4, 8, 16, 32, 64, 128].map((size) => [`in order, ${size}`, linear(size)])),
  "dealt out, 16": {
    size: 16,
    of: (l, lanes) => {
      const groups = Math.ceil(lanes / 16);
      return [l % groups, Math.floor(l / groups)];
    },
  },
  "backwards, 8": { size: 8, of: (l) => [Math.floor(l / 8), 7 - (l % 8)] },
  "blocks of subgroups in another order, 32": {
    size: 32,
    of: (l, lanes) => [lanes / 32 - 1 - Math.floor(l / 32), l % 32],
  },
  "half full, 32": { size: 32, of: (l) => [Math.floor(l / 16), l % 16] },
  "with holes, 16": { size: 16, of: (l) => [Math.floor(l / 8), 2 * (l % 8) + 1] },
  "shifted by two, 8": { size: 8, of: (l) => [Math.floor((l + 2) / 8), (l + 2) % 8] },
  "in order, then dealt out, 8": {
    size: 8,
    of: (l, lanes) =>
      l < 16 ? [l >> 3, l & 7] : [2 + ((l - 16) % ((lanes - 16) / 8)), Math.floor((l - 16) / ((lanes - 16) / 8))],
  },
};

/**
 * The kernel as if a device spread its invocations over subgroups like this: subgroup operations go through workgroup
 * memory. What WGSL leaves open, the value of an invocation that is not there, is a conspicuous number.
 */
function emulated(kernel: Kernel, name: string, lanes: number): Kernel {
  const { size, of } = SPREADS[name]!;
  const seats = Array.from({ length: lanes }, (_, l) => of(l, lanes));
  const groups = Math.max(...seats.map(([g]) => g)) + 1;
  expect(new Set(seats.map(([g, at]) => g * size + at)).size).toBe(lanes);
  expect(seats.every(([, at]) => at < size)).toBe(true);
  const table = (name_: string, values: number[]): string =>
    `const ${name_} = array<u32, ${values.length}>(${values.map((v) => `${v}u`).join(", ")});`;
  const holder = new Array<number>(groups * size).fill(lanes);
  seats.forEach(([g, at], l) => {
    holder[g * size + at] = l;
  });
  const types = { f32: "f32", i32: "i32", u32: "u32", vec2: "vec2<u32>", bool: "bool" };
  const bits: Record<string, [(v: string) => string, (v: string) => string]> = {
    f32: [(v) => `vec2<u32>(bitcast<u32>(${v}), 0u)`, (v) => `bitcast<f32>(${v}.x)`],
    i32: [(v) => `vec2<u32>(bitcast<u32>(${v}), 0u)`, (v) => `bitcast<i32>(${v}.x)`],
    u32: [(v) => `vec2<u32>(${v}, 0u)`, (v) => `${v}.x`],
    vec2: [(v) => v, (v) => v],
    bool: [(v) => `vec2<u32>(select(0u, 1u, ${v}), 0u)`, (v) => `(${v}.x != 0u)`],
  };
  const own = "let base = emu_seat.x * emu_size;";
  const fold = (
    op: string,
    type: keyof typeof types,
    start: string,
    join: string,
  ): string => `fn emu_${op}_${type}(v: ${types[type]}) -> ${types[type]} {
  workgroupBarrier(); emu_s[emu_lane] = ${bits[type]![0]("v")}; workgroupBarrier(); ${own}
  var a = ${start};
  for (var i = base; i < base + emu_size; i++) {
    var h = emu_holder; let l = h[i]; if (l < ${lanes}u) { let b = ${bits[type]![1]("emu_s[l]")}; a = ${join}; }
  }
  return a; }`;
  const shuffle = (
    type: keyof typeof types,
  ): string => `fn emu_shuffle_${type}(v: ${types[type]}, m: u32) -> ${types[type]} {
  workgroupBarrier(); emu_s[emu_lane] = ${bits[type]![0]("v")}; workgroupBarrier(); ${own}
  var h = emu_holder; let l = h[base + ((emu_seat.y ^ m) % emu_size)];
  if (l >= ${lanes}u) { return ${bits[type]![1]("vec2<u32>(0x47c35012u, 77u)")}; }
  return ${bits[type]![1]("emu_s[l]")}; }`;
  const prelude = `const emu_size = ${size}u;
${table(
  "emu_group",
  seats.map(([g]) => g),
)}
${table(
  "emu_at",
  seats.map(([, at]) => at),
)}
${table("emu_holder", holder)}
var<workgroup> emu_s: array<vec2<u32>, ${lanes}>;
var<private> emu_lane: u32;
var<private> emu_seat: vec2<u32>;
${[
  fold("Add", "f32", "0.0", "a + b"),
  fold("Add", "u32", "0u", "a + b"),
  fold("Add", "i32", "0i", "a + b"),
  fold("Max", "u32", "0u", "max(a, b)"),
  fold("Max", "f32", "-3.4e38", "max(a, b)"),
  fold("Min", "u32", "0xffffffffu", "min(a, b)"),
  fold("Mul", "f32", "1.0", "a * b"),
  fold("Or", "i32", "0i", "a | b"),
  fold("All", "bool", "true", "a && b"),
].join("\n")}
fn emu_first(v: u32) -> u32 {
  workgroupBarrier(); emu_s[emu_lane] = vec2<u32>(v, 0u); workgroupBarrier(); ${own}
  for (var i = base; i < base + emu_size; i++) {
    var h = emu_holder; let l = h[i]; if (l < ${lanes}u) { return emu_s[l].x; }
  }
  return 0u; }
${(["f32", "i32", "vec2"] as const).map(shuffle).join("\n")}`;
  const state = new Map(
    [...(/struct State \{(.*?)\}/.exec(kernel.wgsl)?.[1] ?? "").matchAll(/(\w+): ([\w<>]+)/g)].map((m) => [
      m[1]!,
      m[2]!.startsWith("vec2") ? "vec2" : m[2]!,
    ]),
  );
  // by the few forms that the kernels' text has
  const typeOf = (arg: string): string => {
    if (arg === "1u" || arg.startsWith("tl_rank")) return "u32";
    if (arg.startsWith("v.")) return state.get(arg.slice(2))!;
    return arg === "v" ? "f32" : "bool";
  };
  const text = kernel.wgsl
    .replace("enable subgroups;", "diagnostic(off, derivative_uniformity);")
    .replace(/subgroupBroadcastFirst\(/g, "emu_first(")
    .replace(/subgroupShuffleXor\((v\.\w+)/g, (_, arg: string) => `emu_shuffle_${typeOf(arg)}(${arg}`)
    .replace(
      /subgroup(Add|Max|Min|Mul|Or|All)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g,
      (_, op: string, arg: string) => `emu_${op}_${typeOf(arg)}(${arg})`,
    )
    .replace(
      ", @builtin(subgroup_invocation_id) subgroup_at: u32, @builtin(subgroup_size) subgroup_size: u32) {",
      `) {
  var gs = emu_group; var ats = emu_at;
  emu_lane = lane; emu_seat = vec2<u32>(gs[lane], ats[lane]);
  let subgroup_at = emu_seat.y; let subgroup_size = emu_size;`,
    );
  expect(text).not.toMatch(/subgroup[A-Z]/);
  const at = text.indexOf("\n") + 1;
  return { ...kernel, key: `${name} ${kernel.key}`, wgsl: `${text.slice(0, at)}${prelude}\n${text.slice(at)}` };
}

const N = 300,
  ROWS = 3;
const rowsOf = (x: readonly number[]): number[][] => [0, 1, 2].map((k) => x.slice(k * N, k * N + N));

test.each(Object.keys(SPREADS))("any spread of invocations over subgroups: %s", async (name) => {
  const x = random(ROWS * N, -5, 5),
    ints = randomInts(ROWS * N, -9, 9);
  // subgroups larger than the row among them
  for (const lanes of name.startsWith("in order, ") ? [32, 128] : [64]) {
    const run = async (
      kernel: Kernel,
      values: Values,
      buffers: Parameters<typeof runOne>[2],
    ): Promise<Record<string, number[]>> => runOne(emulated(kernel, name, lanes), values, buffers);
    const by = { lanes, subgroups: true };
    const soft = await run(
      softmax({ log: true, dtype: "float32", out: "float32", ...by }),
      { rows: ROWS, n: N, inner: 1, xo: 0, yo: 0 },
      { x: t("float32", x), y: { dtype: "float32", zeros: x.length } },
    );
    close(
      soft["y"]!,
      rowsOf(x).flatMap((r) => {
        const m = Math.max(...r),
          s = Math.log(r.reduce((a, v) => a + Math.exp(v - m), 0));
        return r.map((v) => v - m - s);
      }),
      3e-6,
      1e-6,
    );
    const norm = await run(
      layerNorm({ dtype: "float32", ...by }),
      { rows: ROWS, n: N, xo: 0, yo: 0, eps: 1e-5, meano: 0, rstdo: 0 },
      {
        x: t("float32", x),
        y: { dtype: "float32", zeros: x.length },
        mean: { dtype: "float32", zeros: ROWS },
        rstd: { dtype: "float32", zeros: ROWS },
      },
    );
    close(
      norm["mean"]!,
      rowsOf(x).map((r) => r.reduce((a, v) => a + v, 0) / N),
      1e-6,
      1e-6,
    );
    const want: Record<string, (r: number[]) => number> = {
      amin: (r) => Math.min(...r),
      argmax: (r) => r.indexOf(Math.max(...r)),
      any: (r) => Number(r.some((v) => v !== 0)),
      var: (r) => {
        const m = r.reduce((a, v) => a + v, 0) / N;
        return r.reduce((a, v) => a + (v - m) ** 2, 0) / (N - 1);
      },
    };
    const ops = ["amin", "argmax", "any", "var"] as ReduceOp[];
    const dtypeOf = (op: ReduceOp): DType => {
      if (op === "argmax") return "int64";
      return op === "any" ? "int32" : "float32";
    };
    for (const dtype of ["float32", "int64"] as const) {
      const used = dtype === "int64" ? ops.slice(1, 3) : ops;
      const kernel = reduce({
        stage: "full",
        ...by,
        kept: 1,
        reduced: 1,
        inputs: [{ dtype }],
        nodes: [{ in: 0 }],
        outputs: used.map((op) => ({
          op,
          node: 0,
          dtype: dtypeOf(op),
        })),
      });
      const values = {
        rows: ROWS,
        n: N,
        k0: ROWS,
        r0: N,
        i0o: 0,
        i0k0: N,
        i0r0: 1,
        q0o: 0,
        q1o: 0,
        q2o: 0,
        q3o: 0,
        correction: 1,
      };
      const outs = Object.fromEntries(
        used.map((op, k) => [
          `out${k}`,
          {
            dtype: dtypeOf(op),
            zeros: ROWS,
          },
        ]),
      );
      const got = await run(kernel, values, { in0: t(dtype, ints), ...outs });
      used.forEach((op, k) =>
        close(
          got[`out${k}`]!,
          rowsOf(ints).map((r) => want[op]!(r)),
          2e-6,
          1e-6,
        ),
      );
    }
  }
});
