/** What browser.test.ts runs in a browser, in a window and in a worker. Not part of the bundle. */
import { Bridge, ReadModeBit } from "../src/api/bridge";
import type { KernelSource } from "../src/runtime/kernel";
import { Runtime } from "../src/runtime/runtime";
import { command, Op, REST } from "../src/runtime/stream";
import { planOfText, textKey } from "./text_plan";

export interface Outcome {
  readonly where: string;
  readonly failures: string[];
  readonly figures: Record<string, number | string>;
}

const INC: KernelSource = {
  access: "w",
  uniformWords: 1,
  wgsl: `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
struct P { by: u32 }
@group(1) @binding(0) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { x[id.x] += p.by; }
}`,
};

/** Adds a number to the words of a slot. */
const add = (plan: number, slot: number, by: number): number[] => command(Op.PLAN, plan, 1 | (2 << 8), slot, 1, by);
const word = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);

async function timed(times: number, run: () => unknown): Promise<number> {
  const begin = performance.now();
  for (let i = 0; i < times; i++) await run();
  return Math.round(((performance.now() - begin) / times) * 100) / 100;
}

async function check(where: string): Promise<Outcome> {
  const failures: string[] = [];
  const figures: Outcome["figures"] = {};
  const expect = (ok: boolean, what: string): void => {
    if (!ok) failures.push(what);
  };
  const bridge = new Bridge({ planOf: planOfText });
  const opening = performance.now();
  expect(await bridge.open(), `open: ${bridge.reason()}`);
  figures["open ms"] = Math.round(performance.now() - opening);
  if (bridge.state() !== 1) return { where, failures, figures };
  figures["adapter"] = (JSON.parse(bridge.info()) as { architecture: string }).architecture;
  const problem = bridge.readProblem(ReadModeBit.CANVAS);
  expect(problem === "", `canvas reads: ${problem}`);
  const inc = bridge.plan(textKey("inc", INC));

  // exact bytes, at sizes on both sides of canvas borders, at even and odd offsets
  const bytes = 3 << 20;
  const data = Uint32Array.from({ length: bytes / 4 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 0);
  data.set([0x7fc00001, 0xffc00000, 0x80000000, 0xffffffff, 0, 0x00ff00ff]);
  const raw = new Uint8Array(data.buffer);
  bridge.alloc(1, bytes);
  bridge.execute(Uint32Array.from(command(Op.UPLOAD, 1, 0, bytes, 0)), "all", data.buffer);
  const same = (got: Uint8Array, at: number, n: number): boolean =>
    got.length === n && got.every((b, i) => b === raw[at + i]);
  for (const [at, n] of [
    [0, 4],
    [4, 1],
    [7, 1000],
    [260, 768 * 64],
    [1024, 200_000],
    [0, bytes],
    [5, bytes - 6],
  ] as const) {
    expect(same(bridge.readSync(1, at, n), at, n), `readSync of ${n} bytes at ${at}`);
    expect(same(await bridge.read(1, at, n), at, n), `read of ${n} bytes at ${at}`);
  }

  // a change on the GPU before each read, all in one task: nothing may be stale
  bridge.alloc(2, 256);
  bridge.execute(Uint32Array.from(command(Op.FILL, 2, 0, REST, 0)));
  let stale = 0;
  for (let i = 1; i <= 300; i++) {
    bridge.execute(Uint32Array.from(add(inc, 2, 3)));
    if (word(bridge.readSync(2, 0, 4)) !== 3 * i) stale++;
  }
  expect(stale === 0, `${stale} of 300 synchronous reads were stale`);
  // a batch that the GPU refuses, at once or more than a thousand batches before: its result cannot be read, though the
  // browser had no occasion to tell of it; once it had, other reads go on
  for (const [slot, later] of [
    [3, 0],
    [4, 1500],
  ] as const) {
    const bad = bridge.plan(textKey(`bad${slot}`, { ...INC, wgsl: INC.wgsl.replace("+=", "+ nonsense =") }));
    bridge.alloc(slot, 256);
    bridge.execute(Uint32Array.from(add(bad, slot, 3)));
    for (let i = 0; i < later; i++) bridge.execute(Uint32Array.from(command(Op.FILL, 2, 0, REST, 7)));
    const refused = (which: number): string => {
      try {
        return String(bridge.readSync(which, 0, 4));
      } catch (e) {
        return e instanceof Error ? e.name : String(e);
      }
    };
    expect(refused(slot) === "ReadError", `a refused batch, read at once: ${refused(slot)}`);
    await bridge.read(2, 0, 4).catch(() => undefined);
    expect(refused(slot) === "KernelError", `a refused batch, read later: ${refused(slot)}`);
    bridge.alloc(slot + 2, 256);
    bridge.execute(Uint32Array.from(command(Op.FILL, slot + 2, 0, REST, 9)));
    expect(refused(slot + 2) === "9,0,0,0", `a read after a refused batch: ${refused(slot + 2)}`);
  }
  await bridge.synchronize().catch(() => undefined);
  bridge.alloc(7, 256);
  const step = Uint32Array.from(add(inc, 7, 3));
  figures["item, canvas ms"] = await timed(100, () => {
    bridge.execute(step);
    return bridge.readSync(7, 0, 4);
  });
  figures["item, map ms"] = await timed(100, () => {
    bridge.execute(step);
    return bridge.read(7, 0, 4);
  });
  figures["256 KiB, canvas ms"] = await timed(5, () => bridge.readSync(1, 0, 1 << 18));
  figures["256 KiB, map ms"] = await timed(5, () => bridge.read(1, 0, 1 << 18));
  const many = Uint32Array.from(Array.from({ length: 256 }, () => add(inc, 7, 1)).flat());
  const begin = performance.now();
  for (let i = 0; i < 20; i++) bridge.execute(many);
  figures["encode us/dispatch"] = Math.round(((performance.now() - begin) / 5120) * 100_000) / 100;
  await bridge.synchronize();
  bridge.close();

  // a device that goes away must not look like zeros
  const runtime = new Runtime({ probe: true });
  await runtime.open();
  runtime.slots.alloc(1, 64);
  runtime.reader.readSync(1, 0, 4);
  const device = runtime.holder.device;
  device.destroy();
  try {
    runtime.reader.readSync(1, 0, 4);
    failures.push("a synchronous read on a destroyed device gave bytes");
  } catch (e) {
    expect(e instanceof Error && /ReadError|DeviceLostError/.test(e.name), `destroyed device: ${String(e)}`);
  }
  await device.lost;
  expect(runtime.holder.state === "lost", `state after loss: ${runtime.holder.state}`);
  expect(await runtime.reset(), "reset after loss");
  runtime.slots.alloc(1, 64);
  expect(runtime.reader.readSync(1, 0, 8).length === 8, "read after reset");
  runtime.close();
  return { where, failures, figures };
}

async function outcome(where: string): Promise<Outcome> {
  try {
    return await check(where);
  } catch (e) {
    return {
      where,
      failures: [e instanceof Error ? `${e.name}: ${e.message}\n${e.stack ?? ""}` : String(e)],
      figures: {},
    };
  }
}

if (typeof document === "undefined") {
  void outcome("worker").then((o) => postMessage(o));
} else {
  const all = [await outcome("window")];
  all.push(
    await new Promise<Outcome>((resolve) => {
      const worker = new Worker(import.meta.url, { type: "module" });
      worker.onmessage = (event: MessageEvent<Outcome>) => resolve(event.data);
      worker.onerror = (event) => resolve({ where: "worker", failures: [event.message], figures: {} });
    }),
  );
  await fetch("/result", { method: "POST", body: JSON.stringify(all) });
}
