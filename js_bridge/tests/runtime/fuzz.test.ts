import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KernelSource } from "../../src/runtime/kernel";
import type { Runtime } from "../../src/runtime/runtime";
import { Writer, closeAll, gpu, open, define, newHandle } from "../../test_support/gpu";

/** o[z + i] = 3 a[x + i] + b[y + i], for n words. */
const ADD: KernelSource = {
  access: "rrw",
  uniformWords: 4,
  wgsl: `struct P { n: u32, x: u32, y: u32, z: u32 }
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> o: array<u32>;
@group(1) @binding(0) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x < p.n) { o[p.z + g.x] = a[p.x + g.x] * 3u + b[p.y + g.x]; }
}`,
};

/** Random streams against a model: what is read back must be what the commands say, in their order. */
describe.skipIf(!gpu)("random streams", () => {
  let r: Runtime;
  let add: number;

  beforeAll(async () => {
    r = await open({ maxDispatches: 37 });
    add = define(r, "add", ADD);
  });
  afterAll(closeAll);

  /** A slot of the model. */
  interface Model {
    readonly data: Uint32Array;
    readonly count: number;
  }

  for (let seed = 1; seed <= 12; seed++) {
    it(`seed ${seed}`, async () => {
      let state = seed * 7919;
      const random = (n: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * n);
      };
      const live = new Map<number, Model>();
      const pick = (): [number, Model] => [...live][random(live.size)] ?? [0, { data: new Uint32Array(0), count: 0 }];
      const reads: Promise<void>[] = [];
      let w = new Writer();
      const range = (m: Model): [number, number] => {
        const at = random(m.count);
        return [at, 1 + random(m.count - at)];
      };
      const add1 = (): void => {
        const slot = newHandle();
        const count = 1 + random(300);
        const data = Uint32Array.from({ length: count }, () => random(2 ** 32));
        w.alloc(slot, count * 4).write(slot, 0, data);
        live.set(slot, { data: data.slice(), count });
      };
      for (let i = 0; i < 400; i++) {
        if (live.size < 3) add1();
        const [slot, m] = pick();
        const [other, n] = pick();
        switch (random(6)) {
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
            m.data.fill(pattern, at, at + count);
            break;
          }
          case 3: {
            const [at, count] = range(m);
            const data = Uint32Array.from({ length: count }, () => random(2 ** 32));
            w.write(slot, at * 4, data);
            m.data.set(data, at);
            break;
          }
          case 4: {
            const [from, a] = range(m);
            const to = random(n.count);
            const count = Math.min(a, n.count - to);
            w.copy(slot, from * 4, other, to * 4, count * 4);
            n.data.set(m.data.slice(from, from + count), to);
            break;
          }
          default: {
            const [third, o] = pick();
            const count = 1 + random(Math.min(m.count, n.count, o.count));
            const at = [m, n, o].map((x) => random(x.count - count + 1));
            const [x = 0, y = 0, z = 0] = at;
            const sum = Uint32Array.from({ length: count }, (_, j) => {
              return Math.imul(m.data[x + j] ?? 0, 3) + (n.data[y + j] ?? 0);
            });
            w.dispatch(add, Math.ceil(count / 64), [slot, other, third], [count, ...at]);
            o.data.set(sum, z);
          }
        }
        if (random(15) === 0) {
          w.run(r);
          w = new Writer();
          const [s, seen] = pick();
          if (s === 0) continue;
          const want = seen.data.slice();
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
        expect(new Uint32Array(got.slice().buffer)).toEqual(m.data);
        r.slots.free(s);
      }
      expect([r.slots.live, r.pool.stats.allocated]).toEqual([0, 0]);
    });
  }
});
