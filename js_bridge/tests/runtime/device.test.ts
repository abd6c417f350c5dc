import { afterAll, describe, expect, it } from "vitest";
import { LIMITS } from "../../src/runtime/device";
import { Runtime } from "../../src/runtime/runtime";
import { INC, REST, Writer, bits, closeAll, floats, gpu, open, define, newHandle } from "../../test_support/gpu";

describe("without a device", () => {
  it("creates nothing before it is asked, and says why there is nothing", async () => {
    const r = new Runtime({ gpu: { requestAdapter: () => Promise.resolve(null) } as unknown as GPU, probe: false });
    expect(r.holder.state).toBe("closed");
    expect(() => r.slots.alloc(1, 4)).toThrow(/\[webgpu\] WebGPU was not opened yet/);
    expect(await r.open()).toBe(false);
    expect(r.holder.reason).toMatch(/offers no adapter/);
    await expect(r.reader.read(1, 0, 4)).rejects.toMatchObject({ name: "UnavailableError" });
    expect(r.reader.problems().map).toMatch(/no adapter/);
  });

  it("tells a refused device and a missing navigator.gpu apart", async () => {
    const refusing = { requestAdapter: () => Promise.reject(new Error("blocked by policy")) } as unknown as GPU;
    const r = new Runtime({ gpu: refusing, probe: false });
    expect(await r.open()).toBe(false);
    expect(r.holder.reason).toMatch(/asking for an adapter failed: blocked by policy/);
    const mute = { requestAdapter: () => new Promise(() => undefined) } as unknown as GPU;
    const waiting = new Runtime({ gpu: mute, probe: false, opening: 1 });
    expect(await waiting.open()).toBe(false);
    expect(waiting.holder.reason).toBe("asking for an adapter failed: the browser gave no answer for 1 s");
    const none = new Runtime();
    expect(await none.open()).toBe(false);
    expect(none.holder.reason).toMatch(/has no WebGPU/);
  });
});

describe.skipIf(!gpu)("device", () => {
  afterAll(closeAll);

  it("asks for the adapter's limits and reports them", async () => {
    const r = await open();
    const adapter = await gpu?.requestAdapter();
    for (const name of LIMITS) expect([name, r.holder.limits[name]]).toEqual([name, adapter?.limits[name]]);
    expect(r.holder.device.limits.maxStorageBufferBindingSize).toBe(adapter?.limits.maxStorageBufferBindingSize);
    expect(JSON.parse(JSON.stringify(r.holder.info))).toMatchObject({
      vendor: expect.any(String),
      features: expect.any(Array),
    });
  });

  it("opens once when asked twice at the same time", async () => {
    const r = new Runtime({ gpu: gpu as GPU });
    expect(await Promise.all([r.open(), r.open()])).toEqual([true, true]);
    expect(r.holder.epoch).toBe(1);
    r.close();
    expect(() => r.holder.device).toThrow(/was closed/);
  });

  it("tells nothing of an old device on a new one", async () => {
    const r = await open();
    const bad = define(r, "bad", { ...INC, wgsl: "nonsense" });
    new Writer().alloc(1, 256).dispatch(bad, 1, [1]).run(r);
    r.recorder.flush();
    expect(await r.reset()).toBe(true);
    new Writer().alloc(1, 256).fill(1, 0, REST, 0x3f800000).run(r);
    await r.synchronize();
    expect(await floats(r, 1, 1)).toEqual([1]);
  });

  it("marks what a fill should have written where the batch fails that it went into", async () => {
    const r = await open({ maxDispatches: 2 });
    const inc = define(r, "inc", INC),
      bad = define(r, "bad", { ...INC, wgsl: "nonsense" });
    new Writer()
      .alloc(1, 256)
      .alloc(2, 256)
      .dispatch(inc, 1, [2])
      .dispatch(inc, 1, [2])
      .fill(1, 0, REST, 0x3f800000)
      .dispatch(bad, 1, [2])
      .run(r);
    await expect(r.synchronize()).rejects.toThrow(/bad/);
    await expect(floats(r, 1, 1)).rejects.toThrow(/holds no result/);
  });

  it("reports a device lost during work, and starts anew", async () => {
    const r = await open();
    const inc = define(r, "inc", INC);
    const a = newHandle();
    new Writer()
      .alloc(a, 1 << 20)
      .fill(a, 0, REST, 0)
      .dispatch(inc, 4096, [a])
      .run(r);
    const device = r.holder.device;
    const waiting = Promise.allSettled([r.reader.read(a, 0, 1 << 20), r.synchronize()]);
    device.destroy(); // as the browser would
    const lost = { status: "rejected", reason: { name: "DeviceLostError" } };
    expect(await waiting).toMatchObject([lost, lost]);
    await device.lost;
    expect(r.holder.state).toBe("lost");
    expect(r.holder.reason).not.toBe("");
    expect(() => new Writer().alloc(newHandle(), 16).run(r)).toThrow(/the device was lost .* its tensors are gone/);
    await expect(r.reader.read(a, 0, 4)).rejects.toMatchObject({ name: "DeviceLostError" });
    expect(r.backlogged).toBe(false);

    expect(await r.reset()).toBe(true);
    expect(r.holder.epoch).toBe(2);
    r.slots.free(a); // a finalizer that runs late
    await expect(r.reader.read(a, 0, 4)).rejects.toMatchObject({ name: "SlotError" });
    const b = newHandle();
    new Writer().alloc(b, 256).fill(b, 0, REST, bits(1)).dispatch(inc, 1, [b]).run(r);
    expect(await floats(r, b, 1)).toEqual([2]);
    expect(r.pool.stats.live).toBe(1);
  });

  it("survives repeated resets with work recorded and not submitted", async () => {
    const r = await open();
    const inc = define(r, "inc", INC);
    for (let i = 0; i < 5; i++) {
      const a = newHandle();
      new Writer().alloc(a, 256).fill(a, 0, REST, bits(i)).dispatch(inc, 1, [a]).run(r);
      if (i % 2 === 0) expect(await floats(r, a, 1)).toEqual([i + 1]);
      await r.reset();
    }
    expect(r.slots.live).toBe(0);
  });
});

describe.skipIf(!gpu)("kernels", () => {
  afterAll(closeAll);

  it("name themselves and the line when their WGSL is wrong; results that depend on them are void", async () => {
    const r = await open();
    const inc = define(r, "inc", INC);
    const bad = define(r, "bad:f32", { ...INC, wgsl: INC.wgsl.replace("+ 1.0", "+ nonsense") });
    const [a, b, other] = [1, 2, 3];
    new Writer().alloc(other, 256).fill(other, 0, REST, bits(3)).run(r);
    r.recorder.flush();
    new Writer().alloc(a, 256).alloc(b, 256).fill(a, 0, REST, 0).dispatch(bad, 1, [a]).run(r);
    r.recorder.flush();
    new Writer().copy(a, 0, b, 0, 256).dispatch(inc, 1, [b]).run(r); // nobody knows yet
    await expect(r.reader.read(b, 0, 4)).rejects.toThrow(
      /\[bad:f32\] the kernel does not compile: line \d+:\d+: .*nonsense/s,
    );
    await expect(r.reader.read(a, 0, 4)).rejects.toMatchObject({ name: "KernelError" });
    expect(await floats(r, other, 1)).toEqual([3]);
    await expect(r.synchronize()).rejects.toThrow(/\[bad:f32\]/);
    await r.synchronize(); // told once
    expect(() => new Writer().dispatch(bad, 1, [other]).run(r)).toThrow(/\[bad:f32\] the kernel does not compile/);
  });

  it("are timed where the adapter has timestamps", async () => {
    const r = await open();
    const inc = define(r, "inc", INC);
    if (!r.profile.setTiming(true)) return;
    const w = new Writer().alloc(1, 65536).fill(1, 0, REST, 0);
    for (let i = 0; i < 10; i++) w.dispatch(inc, 256, [1]);
    w.run(r);
    await r.synchronize();
    const [row] = await r.profile.report();
    expect(row).toMatchObject({ key: "inc", calls: 10 });
    expect(row?.ns).toBeGreaterThan(0);
    const plain = await open({ without: ["timestamp-query"] });
    expect(plain.profile.setTiming(true)).toBe(false);
  });
});
