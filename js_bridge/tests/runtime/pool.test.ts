import { afterAll, describe, expect, it } from "vitest";
import { sizeClass } from "../../src/runtime/pool";
import { INC, REST, Writer, closeAll, floats, gpu, open, define, newHandle } from "../../test_support/gpu";

const MiB = 1 << 20;

describe("size classes", () => {
  it("waste little and are multiples of 256", () => {
    for (const n of [
      1,
      4,
      255,
      256,
      257,
      1000,
      1024,
      1025,
      5000,
      70_000,
      MiB - 1,
      MiB,
      MiB + 1,
      5 * MiB + 1,
      100 * MiB + 5,
    ]) {
      const size = sizeClass(n);
      expect(size).toBeGreaterThanOrEqual(n);
      expect(size % 256).toBe(0);
      expect(sizeClass(size)).toBe(size);
      if (n > 1024) expect(size / n).toBeLessThan(1.26);
    }
  });
});

describe.skipIf(!gpu)("pool", () => {
  afterAll(closeAll);

  it("deals a step that repeats the same buffers, in whatever order they come back", async () => {
    const r = await open();
    const step = (order: readonly number[]): number[] => {
      const taken = [300, 300, 5000, 300, 300].map((n) => r.pool.take(n));
      for (const k of order) r.pool.give(taken[k]!, k === 2 ? 5000 : 300);
      return taken.map((b) => b.id);
    };
    const first = step([0, 1, 2, 3, 4]);
    for (const order of [
      [3, 0, 4, 2, 1],
      [4, 3, 2, 1, 0],
      [1, 4, 0, 3, 2],
    ])
      expect(step(order)).toEqual(first);
  });

  it("is bounded by its budget over 10000 allocations with work in between", async () => {
    const r = await open({ budget: 64 * MiB });
    const inc = define(r, "inc", INC);
    let seed = 1;
    const random = (): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
    const live: number[] = [];
    let writer = new Writer();
    let bytes = 0;
    for (let i = 0; i < 10_000; i++) {
      const slot = newHandle();
      const size = Math.floor(2 ** (4 + random() * 15)) * 4; // 64 B to 2 MiB
      writer.alloc(slot, size);
      if (i % 10 === 0) writer.dispatch(inc, 1, [slot]);
      live.push(slot);
      bytes += size;
      while (live.length > 20) writer.free(live.splice(Math.floor(random() * live.length), 1)[0] ?? 0);
      if (writer.words.length > 1000) {
        writer.run(r);
        writer = new Writer();
        if (r.backlogged) await r.synchronize();
      }
    }
    for (const slot of live) writer.free(slot);
    writer.run(r);
    await r.synchronize();
    const s = r.pool.stats;
    expect(bytes).toBeGreaterThan(1024 * MiB);
    expect(s.reservedPeak).toBeLessThanOrEqual(64 * MiB);
    expect(s.allocated).toBe(0);
    expect(s.live).toBe(0);
    expect(s.reused).toBeGreaterThan(8000);
    expect(s.retiring).toBe(0);
    r.emptyCache();
    expect(r.pool.stats.reserved).toBe(0);
  });

  it("says what is full when the budget is spent, and goes on after a free", async () => {
    const r = await open({ budget: 4 * MiB });
    const slots = [1, 2, 3, 4].map((i) => {
      r.slots.alloc(i, MiB);
      return i;
    });
    expect(() => r.slots.alloc(5, MiB)).toThrow(
      /out of WebGPU memory: 1.00 MiB more were asked for; in use 4.00 MiB, reserved 4.00 MiB, budget 4.00 MiB/,
    );
    r.slots.free(5);
    r.slots.free(slots[0] ?? 0);
    r.slots.alloc(6, MiB);
    expect(r.pool.stats.reused).toBe(1);
    r.slots.free(6);
    r.slots.alloc(7, MiB / 2); // another class: the free buffer must make room
    expect(r.pool.stats.reserved).toBe(3.5 * MiB);
    r.pool.budget = 0; // unbounded again
    r.slots.alloc(8, 8 * MiB);
  });

  it("destroys what commands not yet submitted use after them", async () => {
    const three = 0x40400000;
    const spare = await open();
    new Writer()
      .alloc(1, 4 * MiB)
      .alloc(2, 256)
      .fill(1, 0, REST, three)
      .copy(1, 0, 2, 0, 16)
      .free(1)
      .run(spare);
    spare.pool.emptyCache();
    expect(spare.pool.stats.reserved).toBe(4 * MiB + 256); // it is still needed
    expect(await floats(spare, 2, 1)).toEqual([3]);
    expect(spare.pool.stats.reserved).toBe(256);

    const full = await open({ budget: 4 * MiB });
    new Writer()
      .alloc(1, 2 * MiB)
      .alloc(2, 256)
      .fill(1, 0, REST, three)
      .copy(1, 0, 2, 0, 16)
      .free(1)
      .alloc(3, 3 * MiB)
      .fill(3, 0, REST, 0)
      .run(full);
    expect(full.pool.stats.reservedPeak).toBeLessThanOrEqual(4 * MiB);
    expect(await floats(full, 2, 1)).toEqual([3]);

    const large = await open(); // several, in one batch
    new Writer()
      .alloc(9, 256)
      .alloc(1, 2 * MiB)
      .fill(1, 0, REST, three)
      .alloc(2, 2 * MiB)
      .copy(1, 0, 2, 0, 2 * MiB)
      .alloc(3, 2 * MiB)
      .copy(2, 0, 3, 0, 2 * MiB)
      .copy(3, 0, 9, 0, 16)
      .free(1)
      .free(2)
      .free(3)
      .run(large);
    large.pool.emptyCache();
    await large.synchronize();
    expect(await floats(large, 9, 1)).toEqual([3]);
  });

  it("keeps up to the peak and a limit beyond it", async () => {
    const { pool } = await open();
    pool.cacheLimit = MiB;
    const step = (each: number): void => {
      const taken = [1, 2, 3, 4].map(() => pool.take(each));
      for (const buffer of taken) pool.give(buffer, each);
    };
    step(4 * MiB);
    const { created, reserved } = pool.stats;
    expect(reserved).toBe(16 * MiB);
    step(4 * MiB);
    expect(pool.stats.created).toBe(created); // all were there
    for (let size = 1; size < 4; size += 0.5) step(size * MiB);
    expect(pool.stats.reservedPeak).toBeLessThanOrEqual(20 * MiB); // the peak and a quarter
    pool.emptyCache();
    step(2 * MiB);
    expect(pool.stats.reserved).toBe(8 * MiB); // the peak since then
  });

  it("keeps more of what it destroyed and had to make again, up to twice the peak", async () => {
    const { pool } = await open();
    pool.cacheLimit = MiB;
    const step = (): void => {
      // sizes that take turns: each needs the peak, and none can use another's buffers
      for (const each of [8 * MiB, 10 * MiB, 12 * MiB]) {
        const taken = [pool.take(each), pool.take(each)];
        for (const buffer of taken) pool.give(buffer, each);
      }
    };
    for (let i = 0; i < 6; i++) step();
    expect(pool.stats.reservedPeak).toBeLessThanOrEqual(48 * MiB);
    pool.emptyCache();
    const turns = (): void => {
      for (const each of [8 * MiB, 7 * MiB]) pool.give(pool.take(each), each);
    };
    turns();
    const { created } = pool.stats;
    turns();
    expect(pool.stats.created).toBeGreaterThan(created); // over the limit: one of them was destroyed
    turns();
    const settled = pool.stats.created;
    turns();
    expect(pool.stats.created).toBe(settled);
    expect(pool.stats.reserved).toBe(15 * MiB);
  });

  it("does not hand out a buffer that turned out to have no memory", async () => {
    const r = await open();
    const device = r.holder.device,
      pop = device.popErrorScope.bind(device);
    let first = true;
    device.popErrorScope = () => {
      const answer = pop();
      if (!first) return answer;
      first = false;
      return answer.then(() => ({ message: "no memory" }) as GPUError);
    };
    r.slots.alloc(1, MiB);
    r.slots.free(1);
    await expect(r.synchronize()).rejects.toThrow(/the GPU has no memory for a buffer of 1.00 MiB/);
    expect(r.pool.stats.reserved).toBe(0);
    new Writer().alloc(2, MiB).fill(2, 0, REST, 0x3f800000).run(r);
    expect(await floats(r, 2, 1)).toEqual([1]);
  });

  it("keeps to lowered limits", async () => {
    const r = await open({
      limits: { maxBufferSize: MiB, maxStorageBufferBindingSize: MiB / 2, maxStorageBuffersPerShaderStage: 1 },
    });
    expect(() => r.slots.alloc(1, MiB + 4)).toThrow(
      /over this device's limit of 1.00 MiB per buffer \(maxBufferSize\)/,
    );
    r.slots.free(1);
    r.slots.alloc(2, MiB - 100); // its size class would be within, exactly
    const inc = define(r, "inc", INC);
    expect(() => new Writer().dispatch(inc, 1, [2]).run(r)).toThrow(
      /\[inc\] binds 1023.91 KiB; this device takes 512.00 KiB at once/,
    );
    r.slots.free(2);
    r.slots.alloc(3, MiB);
    new Writer().fill(3, 0, REST, 0x3f800000).run(r); // in parts, as one binding would be too large
    const got = await floats(r, 3, MiB / 4);
    expect(got.every((x) => x === 1)).toBe(true);
    expect(() => define(r, "two", { ...INC, access: "rw" })).toThrow(/\[two\] binds more than the 1 of this device/);
  });

  it("asks for a wait when much is under way", async () => {
    const r = await open({ maxInFlight: 4 });
    r.slots.alloc(1, 256);
    for (let i = 0; i < 10; i++) {
      new Writer().fill(1, 0, REST, i).run(r);
      r.recorder.flush();
    }
    expect([r.recorder.batches.inFlight, r.backlogged]).toEqual([10, true]);
    await r.synchronize();
    expect([r.recorder.batches.inFlight, r.backlogged]).toEqual([0, false]);
  });

  it("counts peaks", async () => {
    const r = await open();
    r.slots.alloc(1, 1000);
    r.slots.alloc(2, 3000);
    r.slots.free(2);
    expect(r.pool.stats.allocated).toBe(1008);
    expect(r.pool.stats.allocatedPeak).toBe(4016);
    r.pool.resetPeaks();
    expect(r.pool.stats.allocatedPeak).toBe(1008);
  });
});
