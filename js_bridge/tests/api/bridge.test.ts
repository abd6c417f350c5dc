import { afterEach, describe, expect, it } from "vitest";
import { Bridge, INDEX_BITS, ReadModeBit, STATS, State } from "../../src/api/bridge";
import { INC, REST, Writer, bits, gpu, newHandle } from "../../test_support/gpu";
import { planOfText, textKey } from "../../test_support/text_plan";
import type { RuntimeOptions } from "../../src/runtime/runtime";

/** Stands for WebAssembly's memory, which is replaced when it grows. */
class Heap {
  memory = new WebAssembly.Memory({ initial: 1, maximum: 10 });

  put(words: readonly number[], at: number): void {
    new Uint32Array(this.memory.buffer, at, words.length).set(words);
  }
}

describe.skipIf(!gpu)("bridge", () => {
  const bridges: Bridge[] = [];
  afterEach(() => bridges.splice(0).forEach((b) => b.close()));

  async function start(options: RuntimeOptions = {}): Promise<[Bridge, Heap]> {
    const bridge = new Bridge({ gpu: gpu as GPU, planOf: planOfText, ...options });
    const heap = new Heap();
    bridge.attach(() => heap.memory.buffer);
    bridges.push(bridge);
    expect(await bridge.open()).toBe(true);
    return [bridge, heap];
  }

  it("runs streams from the heap, across its growth", async () => {
    const [bridge, heap] = await start();
    const inc = bridge.plan(textKey("inc", INC));
    const slot = (5 << INDEX_BITS) | 7; // numbered by the caller
    heap.put([bits(1), bits(2), bits(3), bits(4)], 4096);
    const words = new Writer().alloc(slot, 16).upload(slot, 0, 16, 4096).dispatch(inc, 1, [slot]).words;
    heap.put(words, 1024);
    bridge.run(1024, words.length);
    heap.put([0, 0, 0, 0], 4096); // the stream has been consumed
    heap.memory.grow(1);
    heap.put(words.slice(words.length - 5), 65536 + 256); // the dispatch alone
    bridge.run(65536 + 256, 5);
    expect([...new Float32Array((await bridge.read(slot, 4, 12)).slice().buffer)]).toEqual([4, 5, 6]);
    bridge.free(slot);
  });

  it("submits few dispatches with the ones that follow, or when a read needs them", async () => {
    const [bridge, heap] = await start();
    const inc = bridge.plan(textKey("inc", INC));
    const slot = newHandle();
    bridge.alloc(slot, 16);
    bridge.execute(Uint32Array.from(new Writer().fill(slot, 0, REST, 0).words));
    const submits = (): number => {
      const out = new Float64Array(STATS.length);
      bridge.stats(out);
      return out[STATS.indexOf("submits")] ?? NaN;
    };
    const words = new Writer().dispatch(inc, 1, [slot]).words;
    heap.put(words, 1024);
    const before = submits();
    for (let i = 0; i < 15; i++) bridge.run(1024, words.length, "enough");
    expect(submits()).toBe(before);
    bridge.run(1024, words.length, "enough");
    expect(submits()).toBe(before + 1);
    for (let i = 0; i < 31; i++) bridge.run(1024, words.length, "enough");
    expect(submits()).toBe(before + 1); // the GPU has work: now twice as many go together
    bridge.run(1024, words.length, "enough");
    expect(submits()).toBe(before + 2);
    bridge.run(1024, words.length, "enough");
    expect([...new Float32Array((await bridge.read(slot, 0, 16)).slice().buffer)]).toEqual([49, 49, 49, 49]);
    expect(submits()).toBe(before + 3);
    for (let i = 0; i < 16; i++) bridge.run(1024, words.length, "enough");
    expect(submits()).toBe(before + 4); // a read emptied the queue
    bridge.free(slot);
  });

  it("answers in numbers, strings and arrays", async () => {
    const [bridge] = await start();
    expect([bridge.state(), bridge.reason(), bridge.epoch()]).toEqual([State.READY, "", 1]);
    expect(JSON.parse(bridge.info())).toHaveProperty("limits.maxBufferSize");
    expect(bridge.limit("maxComputeWorkgroupsPerDimension")).toBeGreaterThan(1000);
    expect(bridge.readProblem(ReadModeBit.MAP)).toBe("");
    expect(bridge.readProblem(ReadModeBit.CANVAS)).toMatch(/OffscreenCanvas/);

    const slot = newHandle();
    bridge.alloc(slot, 100);
    bridge.execute(Uint32Array.from(new Writer().fill(slot, 0, REST, 0).words));
    await bridge.synchronize();
    const out = new Float64Array(STATS.length);
    bridge.stats(out);
    const stat = (name: (typeof STATS)[number]): number => out[STATS.indexOf(name)] ?? NaN;
    expect([stat("allocated"), stat("reserved"), stat("slots"), stat("submits"), stat("inFlight")]).toEqual([
      112, 256, 1, 1, 0,
    ]);
    bridge.free(slot);
    expect(bridge.emptyCache()).toBe(256);
    expect(await bridge.times()).toBe("[]");
    bridge.close();
    expect(bridge.state()).toBe(State.CLOSED);
    expect(await bridge.reset()).toBe(true);
    expect(bridge.epoch()).toBe(2);
  });

  it("tells of memory that the GPU did not have after all", async () => {
    const device = { fail: false };
    const real = gpu as GPU;
    // an adapter whose device reports, late as devices do, that one buffer did not fit
    const pretending = {
      requestAdapter: async () => {
        const adapter = await real.requestAdapter();
        const request = adapter?.requestDevice.bind(adapter);
        return new Proxy(adapter as GPUAdapter, {
          get: (target, name) => {
            if (name !== "requestDevice") return Reflect.get(target, name, target) as unknown;
            return async (d: GPUDeviceDescriptor) => {
              const made = (await request?.(d)) as GPUDevice;
              const pop = made.popErrorScope.bind(made);
              made.popErrorScope = async () => {
                const fail = device.fail;
                device.fail = false;
                const error = await pop();
                return fail ? new GPUOutOfMemoryError("no room") : error;
              };
              return made;
            };
          },
        });
      },
    } as unknown as GPU;
    const [bridge] = await start({ gpu: pretending });
    const [a, b] = [newHandle(), newHandle()];
    device.fail = true;
    bridge.alloc(a, 1 << 20);
    bridge.alloc(b, 1 << 20);
    const reading = bridge.read(a, 0, 4);
    await expect(reading).rejects.toMatchObject({ name: "OutOfMemoryError" });
    await expect(bridge.synchronize()).rejects.toThrow(/the GPU has no memory for a buffer of 1.00 MiB.*no room/);
    expect((await bridge.read(b, 0, 4)).length).toBe(4);
    expect(() => bridge.execute(Uint32Array.from(new Writer().fill(a, 0, REST, 1).words))).toThrow(/no memory/);
    bridge.free(a);
    const c = newHandle();
    bridge.alloc(c, 1 << 20); // not the buffer that failed
    expect((await bridge.read(c, 0, 4)).length).toBe(4);
  });
});
