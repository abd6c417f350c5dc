import { afterEach, describe, expect, it } from "vitest";
import { Bridge, INDEX_BITS } from "../../src/api/bridge";
import { type Note, type Spans, Watch } from "../../src/runtime/profile";
import { bits, gpu, Writer } from "../../test_support/gpu";
import type { RuntimeOptions } from "../../src/runtime/runtime";

const RELU =
  'fused:{"ndim":0,"inputs":[{"dtype":"float32","layout":"c"}],' +
  '"nodes":[{"in":0},{"op":"relu","args":[0],"dtype":"float32"}],' +
  '"outputs":[{"node":1,"dtype":"float32","layout":"c"}]}';

describe.skipIf(!gpu)("profile", () => {
  const bridges: Bridge[] = [];
  afterEach(() => bridges.splice(0).forEach((b) => b.close()));

  async function start(options: RuntimeOptions = {}): Promise<Bridge> {
    const bridge = new Bridge({ gpu: gpu as GPU, ...options });
    bridges.push(bridge);
    expect(await bridge.open()).toBe(true);
    return bridge;
  }

  /** Runs a plan of one kernel `times` times in a batch. */
  function run(bridge: Bridge, times = 1): void {
    const plan = bridge.plan(RELU);
    const [a, b] = [(1 << INDEX_BITS) | 1, (1 << INDEX_BITS) | 2];
    const writer = new Writer().alloc(a, 64).alloc(b, 64).fill(a, 0, 64, bits(-1));
    for (let i = 0; i < times; i++) writer.plan(plan, [a, b], [16, 0, 0]);
    bridge.execute(Uint32Array.from(writer.free(a).free(b).words));
  }
  const notes = (bridge: Bridge): Note[] => JSON.parse(bridge.notes()) as Note[];

  it("notes what is compiled and sent, once, while somebody watches", async () => {
    const bridge = await start();
    run(bridge);
    expect(notes(bridge)).toEqual([]);
    bridge.watch(Watch.KERNELS | Watch.WGSL);
    run(bridge, 2);
    const seen = notes(bridge).filter((n) => n.kernel.startsWith("fused"));
    expect(seen).toHaveLength(2); // compiled before
    expect(seen[0]).toMatchObject({ words: { n: 16, i0o: 0, q0o: 0 }, groups: [1, 1, 1] });
    expect(notes(bridge)).toEqual([]);
    await bridge.reset(); // everything is compiled again
    run(bridge);
    expect(notes(bridge).some((n) => "wgsl" in n && n.kernel.startsWith("fused") && n.wgsl.includes("@compute"))).toBe(
      true,
    );
    bridge.watch(0);
    run(bridge);
    expect(notes(bridge)).toEqual([]);
    await bridge.synchronize();
  });

  it("tells when each kernel ran, with a pass for each", async () => {
    const bridge = await start();
    if (!bridge.setTiming(true)) return;
    const before = bridge.watch(Watch.SPANS);
    run(bridge, 3);
    run(bridge);
    const spans = JSON.parse(await bridge.spans()) as Spans;
    const rows = spans.rows.filter(([k]) => spans.kernels[k]?.startsWith("fused"));
    expect(rows).toHaveLength(4);
    expect([spans.lost, spans.pending]).toEqual([0, 0]);
    for (const [i, [, begin, end, submitted]] of rows.entries()) {
      expect(end).toBeGreaterThanOrEqual(begin);
      expect(begin).toBeGreaterThanOrEqual(rows[i - 1]?.[2] ?? 0);
      expect(submitted).toBeGreaterThanOrEqual(before);
    }
    expect((JSON.parse(await bridge.spans()) as Spans).rows).toEqual([]);
    const times = JSON.parse(bridge.timesNow()) as { key: string; calls: number }[];
    expect(times.find((t) => t.key.startsWith("fused"))?.calls).toBe(4);
    bridge.watch(0);
    run(bridge);
    expect((JSON.parse(await bridge.spans()) as Spans).rows).toEqual([]);
    bridge.setTiming(false);
    run(bridge);
    await bridge.synchronize();
    expect(
      (JSON.parse(await bridge.times()) as { key: string; calls: number }[]).find((t) => t.key.startsWith("fused"))
        ?.calls,
    ).toBe(5);
  });

  it("says where there are no timestamps", async () => {
    const bridge = await start({ without: ["timestamp-query"] });
    expect(bridge.setTiming(true)).toBe(false);
    bridge.watch(Watch.SPANS);
    run(bridge);
    expect((JSON.parse(await bridge.spans()) as Spans).rows).toEqual([]);
  });
});
