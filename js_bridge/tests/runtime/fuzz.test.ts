import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Runtime } from "../../src/runtime/runtime";
import { AXPB, Writer, closeAll, gpu, open } from "../../test_support/gpu";

/** Random streams against a model: what is read back must be what the commands say, in their order. */
describe.skipIf(!gpu)("random streams", () => {
  let r: Runtime;
  let add: number;

  beforeAll(async () => {
    r = await open({ maxDispatches: 37 });
    add = r.pipelines.define("add", { ...AXPB, wgsl: AXPB.wgsl.replaceAll("f32", "u32") });
  });
  afterAll(closeAll);

  /** A slot of the model: a range of words that may be shared. */
  interface Model {
    data: Uint32Array;
    begin: number;
    count: number;
  }

  for (let seed = 1; seed <= 12; seed++) {
    it(`seed ${seed}`, async () => {
      let state = seed * 7919;
      const random = (n: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * n);
      };
      const live = new Map<number, Model>();
      const pick = (): [number, Model] =>
        [...live][random(live.size)] ?? [0, { data: new Uint32Array(0), begin: 0, count: 0 }];
      const reads: Promise<void>[] = [];
      let w = new Writer();
      const range = (m: Model): [number, number] => {
        const at = random(m.count);
        return [at, 1 + random(m.count - at)];
      };
      const add1 = (): void => {
        const slot = r.slots.reserve();
        const count = 1 + random(300);
        const data = Uint32Array.from({ length: count }, () => random(2 ** 32));
        w.alloc(slot, count * 4).write(slot, 0, data);
        live.set(slot, { data: data.slice(), begin: 0, count });
      };
      for (let i = 0; i < 400; i++) {
        if (live.size < 3) add1();
        const [slot, m] = pick();
        const [other, n] = pick();
        switch (random(8)) {
          case 0:
            add1();
            break;
          case 1:
            w.free(slot);
            live.delete(slot);
            break;
          case 2: {
            const [at, count] = range(m);
            const pattern = random(3) === 0 ? 0 : random(2 ** 32);
            w.fill(slot, at * 4, count * 4, pattern);
            m.data.fill(pattern, m.begin + at, m.begin + at + count);
            break;
          }
          case 3: {
            const [at, count] = range(m);
            const data = Uint32Array.from({ length: count }, () => random(2 ** 32));
            w.write(slot, at * 4, data);
            m.data.set(data, m.begin + at);
            break;
          }
          case 4: {
            const [from, a] = range(m);
            const to = random(n.count);
            const count = Math.min(a, n.count - to);
            w.copy(slot, from * 4, other, to * 4, count * 4);
            n.data.set(m.data.slice(m.begin + from, m.begin + from + count), n.begin + to);
            break;
          }
          case 5: {
            const [at, count] = range(m);
            const view = r.slots.reserve();
            w.view(view, slot, at * 4, count * 4);
            live.set(view, { data: m.data, begin: m.begin + at, count });
            break;
          }
          case 6: {
            w.swap(slot, other);
            if (slot !== other) {
              live.set(slot, n);
              live.set(other, m);
            }
            break;
          }
          default: {
            const [third, o] = pick();
            const count = 1 + random(Math.min(m.count, n.count, o.count));
            const at = [m, n, o].map((x) => random(x.count - count + 1));
            const [x = 0, y = 0, z = 0] = at;
            const sum = Uint32Array.from({ length: count }, (_, j) => {
              return Math.imul(m.data[m.begin + x + j] ?? 0, 3) + (n.data[n.begin + y + j] ?? 0);
            });
            w.ranges(
              add,
              [Math.ceil(count / 64), 1, 1],
              [
                [slot, x * 4, count * 4],
                [other, y * 4, count * 4],
                [third, z * 4, count * 4],
              ],
              [count, 3],
            );
            o.data.set(sum, o.begin + z);
          }
        }
        if (random(15) === 0) {
          w.run(r);
          w = new Writer();
          const [s, seen] = pick();
          if (s === 0) continue;
          const want = seen.data.slice(seen.begin, seen.begin + seen.count);
          reads.push(
            r.reader
              .read(s, 0, want.byteLength)
              .then((got) => expect(new Uint32Array(got.slice().buffer)).toEqual(want)),
          );
        }
      }
      w.run(r);
      await Promise.all(reads);
      for (const [s, m] of live) {
        const got = await r.reader.read(s, 0, m.count * 4);
        expect(new Uint32Array(got.slice().buffer)).toEqual(m.data.subarray(m.begin, m.begin + m.count));
        r.slots.free(s);
      }
      expect([r.slots.live, r.pool.stats.allocated]).toEqual([0, 0]);
    });
  }
});
