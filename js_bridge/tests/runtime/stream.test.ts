import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Watch } from "../../src/runtime/profile";
import { LEAST } from "../../src/runtime/stream";
import { INDEX_BITS } from "../../src/runtime/slots";
import type { Runtime } from "../../src/runtime/runtime";
import {
  AXPB,
  INC,
  Op,
  REST,
  Writer,
  bits,
  closeAll,
  floats,
  gpu,
  open,
  define,
  newHandle,
} from "../../test_support/gpu";

it("has the core's commands", () => {
  const path = join(import.meta.dirname, "../../../native/src/gpu/commands.inc");
  const table = [...readFileSync(path, "utf8").matchAll(/^COMMAND\((\d+), (\w+), (\d+)\)/gm)];
  expect(Object.fromEntries(table.map(([, op, name]) => [name, Number(op)]))).toEqual(Op);
  expect(Object.fromEntries(table.map(([, op, , least]) => [op, Number(least)]))).toEqual(LEAST);
});

describe.skipIf(!gpu)("command stream", () => {
  let r: Runtime;
  let axpb: number;
  let inc: number;

  beforeAll(async () => {
    r = await open();
    axpb = define(r, "axpb", AXPB);
    inc = define(r, "inc", INC);
  });
  afterAll(closeAll);

  const slot = newHandle;

  it("writes, dispatches, copies, fills and reads back", async () => {
    const [a, b, o] = [slot(), slot(), slot()];
    const x = Float32Array.from({ length: 100 }, (_, i) => i);
    new Writer()
      .alloc(a, 400)
      .alloc(b, 400)
      .alloc(o, 400)
      .write(a, 0, x)
      .fill(b, 0, REST, bits(0.5))
      .dispatch(axpb, 2, [a, b, o], [100, bits(2)])
      .copy(o, 0, b, 200, 200)
      .fill(b, 0, 8, 0)
      .run(r);
    expect(await floats(r, o, 100)).toEqual([...x].map((v) => 2 * v + 0.5));
    const got = await floats(r, b, 100);
    expect(got.slice(0, 4)).toEqual([0, 0, 0.5, 0.5]);
    expect(got.slice(50)).toEqual([...x.subarray(0, 50)].map((v) => 2 * v + 0.5));
    new Writer().free(a).free(b).free(o).run(r);
  });

  it("keeps the order of writes and dispatches on one buffer", async () => {
    const a = slot();
    const w = new Writer().alloc(a, 256);
    for (let i = 0; i < 50; i++)
      w.write(a, 0, new Float32Array(64).fill(i)).dispatch(inc, 1, [a]).dispatch(inc, 1, [a]);
    w.run(r);
    expect(await floats(r, a, 2)).toEqual([51, 51]);
    r.slots.free(a);
  });

  it("keeps the order when a freed buffer is written again under another slot", async () => {
    const [a, o] = [slot(), slot()];
    const zero = slot();
    const w = new Writer()
      .alloc(a, 512)
      .alloc(o, 512)
      .alloc(zero, 512)
      .fill(zero, 0, REST, 0)
      .fill(a, 0, REST, bits(3));
    w.dispatch(axpb, 2, [a, zero, o], [128, bits(1)]).free(a);
    const c = slot();
    w.alloc(c, 512).write(c, 0, new Float32Array(128).fill(9)); // most likely a's buffer
    w.run(r);
    expect((await floats(r, o, 3))[0]).toBe(3);
    expect((await floats(r, c, 3))[0]).toBe(9);
    new Writer().free(o).free(c).free(zero).run(r);
  });

  it("submits by itself when a batch is full, with uniforms intact", async () => {
    const [a, one] = [slot(), slot()];
    const before = r.profile.counters.submits;
    const w = new Writer().alloc(a, 4).alloc(one, 4).write(a, 0, Float32Array.of(0)).write(one, 0, Float32Array.of(1));
    const b = slot();
    w.alloc(b, 4);
    for (let i = 0; i < 1500; i++) w.dispatch(axpb, 1, i % 2 ? [b, one, a] : [a, one, b], [1, bits(1)]);
    w.run(r);
    expect(await floats(r, a, 1)).toEqual([1500]);
    expect(r.profile.counters.submits - before).toBeGreaterThan(2);
    expect(r.profile.counters.bindGroupHits).toBeGreaterThan(1400);
    new Writer().free(a).free(b).free(one).run(r);
  });

  it("gives the right result where input and output share a buffer", async () => {
    const a = slot();
    new Writer()
      .alloc(a, 64)
      .write(
        a,
        0,
        Float32Array.from({ length: 16 }, (_, i) => i),
      )
      .dispatch(axpb, 1, [a, a, a], [16, bits(10)])
      .run(r);
    expect(await floats(r, a, 4)).toEqual([0, 11, 22, 33]);
    expect(r.profile.counters.aliasCopies).toBe(2);
    new Writer().copy(a, 0, a, 4, 40).run(r); // overlapping
    expect(await floats(r, a, 4)).toEqual([0, 0, 11, 22]);
    r.slots.free(a);
  });

  it("runs linear grids beyond one dimension's limit", async () => {
    const small = await open({ limits: { maxComputeWorkgroupsPerDimension: 3 } });
    const id = define(small, "inc", INC);
    const s = newHandle();
    new Writer()
      .alloc(s, 64 * 20 * 4)
      .fill(s, 0, REST, 0)
      .dispatch(id, 20, [s])
      .run(small);
    expect((await floats(small, s, 64 * 20)).every((x) => x === 1)).toBe(true);
    // no larger than it must be: what is beyond the work costs time too
    small.profile.watch(Watch.KERNELS);
    for (const groups of [3, 4, 9, 10]) new Writer().dispatch(id, groups, [s]).run(small);
    expect(small.profile.notes().map((n) => "groups" in n && n.groups)).toEqual([
      [3, 1, 1],
      [2, 2, 1],
      [3, 3, 1],
      [3, 2, 2],
    ]);
    expect(() => new Writer().dispatch(id, 28, [s]).run(small)).toThrow(
      /\[inc\] 28 workgroups are over this device's 3 per dimension/,
    );
  });

  it("takes bytes that are no multiple of 4 at the end of a slot only", async () => {
    const a = slot();
    new Writer()
      .alloc(a, 7)
      .write(a, 0, Uint8Array.of(1, 2, 3, 4, 5, 6, 7))
      .run(r);
    expect([...(await r.reader.read(a, 1, 6))]).toEqual([2, 3, 4, 5, 6, 7]);
    expect(() => new Writer().write(a, 0, Uint8Array.of(9)).run(r)).toThrow(/multiples of 4/);
    r.slots.free(a);
  });

  it("uploads from a memory beside the stream, shared memory included", async () => {
    const a = slot();
    const memory = new SharedArrayBuffer(64);
    new Uint32Array(memory).set([5, 6, 7, 8]);
    const words = Uint32Array.from(new Writer().alloc(a, 8).upload(a, 0, 8, 4).words);
    r.stream.execute(words, 0, words.length, memory);
    expect([...new Uint32Array((await r.reader.read(a, 0, 8)).slice().buffer)]).toEqual([6, 7]);
    expect(() => r.stream.execute(Uint32Array.from(new Writer().upload(a, 0, 8, 60).words), 0, 5, memory)).toThrow(
      /outside of a memory of 64/,
    );
    r.slots.free(a);
  });

  it("names what is wrong with a stream", () => {
    let a = slot();
    expect(() => new Writer().raw(77).run(r)).toThrow(/word 0 is no command: opcode 77/);
    expect(() => new Writer().raw(Op.ALLOC | (9 << 8), 1, 2).run(r)).toThrow(/alloc of 9 words, 3 are left/);
    expect(() => new Writer().free(a).run(r)).toThrow(/\[free\] slot \d+ \(generation \d+\) is not in use/);
    expect(() => new Writer().alloc(0, 4).run(r)).toThrow(/slot 0 means "none"/);
    new Writer().alloc(a, 16).run(r);
    expect(() => new Writer().alloc(a, 16).run(r)).toThrow(/in use already/);
    expect(() => new Writer().fill(a, 8, 16, 0).run(r)).toThrow(/bytes 8 to 24 are outside of slot/);
    r.slots.free(a); // the failed fill has left it void
    new Writer().alloc((a = slot()), 16).run(r);
    expect(() => new Writer().dispatch(axpb, 1, [a], [1, 1]).run(r)).toThrow(
      /\[axpb\] takes 3 buffers and 3 words, not 1 and 3/,
    );
    expect(() => new Writer().dispatch(9999, 1, [a]).run(r)).toThrow(/no plan number 9999/);
    r.slots.free(a); // the unknown plan might have written it
  });

  it("refuses handles of an earlier generation", async () => {
    const a = slot();
    new Writer().alloc(a, 16).free(a).run(r);
    const b = a + (1 << INDEX_BITS);
    new Writer().alloc(b, 16).fill(b, 0, REST, 1).run(r);
    await expect(r.reader.read(a, 0, 4)).rejects.toThrow(/was given to another slot/);
    expect(() => r.slots.free(a)).toThrow(/not in use/);
    r.slots.free(b);
  });

  it("runs on after a failed command, and only what depends on it is void", async () => {
    const [a, b, c] = [slot(), slot(), slot()];
    const w = new Writer()
      .alloc(a, 64)
      .alloc(b, 2 ** 31 + 2 ** 30) // over the limit per buffer
      .alloc(c, 64)
      .fill(a, 0, REST, bits(4))
      .fill(c, 0, REST, bits(1))
      .dispatch(axpb, 1, [a, b, c], [4, bits(1)])
      .fill(a, 0, 4, bits(5));
    let error: Error | null = null;
    try {
      w.run(r);
    } catch (e) {
      error = e as Error;
    }
    expect(error?.name).toBe("OutOfMemoryError");
    expect(await floats(r, a, 2)).toEqual([5, 4]);
    await expect(r.reader.read(c, 0, 4)).rejects.toThrow(
      /\[read\] slot .* holds no result, because: \[alloc\] a buffer of 3.00 GiB/,
    );
    new Writer().free(a).free(b).free(c).run(r);
    expect(r.slots.live).toBe(0);
  });
});
