import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NodeWorker } from "../../tools/node_worker.mjs";
import { PageBridge, type PyBuffer } from "../../src/api/page_bridge";
import { bits, gpu, REST, Writer } from "../../test_support/gpu";
import { WorkerBridge, workerProblem } from "../../src/api/worker_bridge";
import type { Answer, CallName, PageOptions, Words } from "../../src/api/worker_calls";

const bridges: { close(): void }[] = [];
const workers: NodeWorker[] = [];
afterEach(() => bridges.splice(0).forEach((b) => b.close()));
afterAll(() => Promise.all(workers.map((w) => w.ended)));

/** Milliseconds after which a worker is asked again; longer where the tests are measured and slow. */
const TICK = Number(process.env["TORCHLITE_TICK"] ?? 20);
const seconds = (ticks: number): string => `${(ticks * TICK) / 1000} s`;
/** In place of Pyodide's heap; a stream lies at its beginning. */
const heap = { HEAPU8: new Uint8Array(16 << 20) };
const BYTES = 4 << 20;
const buffer = (data: Uint8Array<ArrayBuffer>): PyBuffer => ({ getBuffer: () => ({ data, release: () => undefined }) });
const writer = (): Writer => new Writer();
/** x * 2 of n floats. */
const DOUBLE = `fused:${JSON.stringify({
  ndim: 0,
  inputs: [{ dtype: "float32", layout: "c" }],
  nodes: [{ in: 0 }, { op: "add", args: [0, 0], dtype: "float32" }],
  outputs: [{ node: 1, dtype: "float32", layout: "c" }],
})}`;

function run(bridge: PageBridge | WorkerBridge, stream: Writer): void {
  const words = new Uint32Array(heap.HEAPU8.buffer, 0, stream.words.length);
  words.set(stream.words);
  try {
    bridge.run(0, words.length);
  } finally {
    expect(words[0]).toBe(0);
  }
}

function read(bridge: WorkerBridge, handle: number, offset: number, bytes: number): Uint8Array {
  bridge.readSyncInto(handle, offset, bytes, BYTES);
  return heap.HEAPU8.slice(BYTES, BYTES + bytes);
}

const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)];

async function problem(f: () => unknown): Promise<string> {
  try {
    await f();
    return "";
  } catch (e) {
    return e instanceof Error ? `${e.name}: ${e.message}` : String(e);
  }
}

it("says why there can be no GPU worker", () => {
  expect(workerProblem()).toBe("the page is not cross-origin isolated (COOP and COEP headers)");
  const scope = globalThis as { crossOriginIsolated?: boolean };
  try {
    scope.crossOriginIsolated = true;
    expect(workerProblem()).toBe("workers cannot start workers here");
  } finally {
    delete scope.crossOriginIsolated;
  }
});

describe.skipIf(!gpu)("GPU worker", () => {
  let source = "";
  const webgpu = import.meta.resolve("webgpu");
  beforeAll(async () => {
    const entry = fileURLToPath(new URL("../../src/api/page.ts", import.meta.url));
    const built = await build({ entryPoints: [entry], bundle: true, write: false, format: "iife", target: "es2022" });
    source = built.outputFiles[0]?.text ?? "";
  });

  function worker(script: string): NodeWorker {
    const made = new NodeWorker(script, webgpu);
    workers.push(made);
    return made;
  }

  async function start(options: PageOptions = {}, more = ""): Promise<WorkerBridge> {
    const bridge = new WorkerBridge(heap, { probe: false, ...options }, "it was not tried", () =>
      worker(`${source}\n${more}\ntorchlite_webgpu.serve(self);`),
    );
    bridges.push(bridge);
    expect([await bridge.open(), bridge.reason()]).toEqual([true, ""]);
    return bridge;
  }

  async function local(options: PageOptions = {}): Promise<PageBridge> {
    const bridge = new PageBridge(heap, { gpu: gpu as GPU, probe: false, ...options });
    bridges.push(bridge);
    expect(await bridge.open()).toBe(true);
    return bridge;
  }

  it("runs streams and answers at once, in the order of the calls", async () => {
    const bridge = await start();
    expect([bridge.state(), bridge.epoch(), bridge.backlogged(), bridge.readProblem(4), bridge.readProblem(2)]).toEqual(
      [1, 1, false, "", "it was not tried"],
    );
    expect(JSON.parse(bridge.info())).toHaveProperty("limits.maxBufferSize");
    expect(bridge.plan(DOUBLE)).toBe(bridge.plan(DOUBLE));
    bridge.claim(1, 16);
    bridge.upload(1, 0, buffer(new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer)));
    for (let i = 0; i < 200; i++)
      run(
        bridge,
        writer()
          .alloc(2, 16)
          .plan(bridge.plan(DOUBLE), [1, 2], [4, 0, 0])
          .copy(2, 0, 1, 0, 16)
          .free(2)
          .fill(1, 0, 4, bits(i)),
      );
    expect(floats(read(bridge, 1, 0, 4))).toEqual([199]);
    run(bridge, writer().fill(1, 0, REST, bits(3)));
    const before = bridge.read(1, 0, 16); // sees what is there now
    run(bridge, writer().fill(1, 0, REST, bits(5)));
    expect(floats(read(bridge, 1, 4, 8))).toEqual([5, 5]);
    expect(floats(await before)).toEqual([3, 3, 3, 3]);
    bridge.barrier();
    await bridge.synchronize();
    expect(JSON.parse(bridge.figures())).toMatchObject({ reads: 1, syncReads: 2, slots: 1 });
    expect(JSON.parse(await bridge.times())).toEqual([]);
    expect(bridge.emptyCache()).toBeGreaterThan(0);
  });

  it("reads more than the shared memory holds", async () => {
    const bridge = await start({ worker: { shared: 1000 } });
    const data = new Uint8Array(Uint32Array.from({ length: 5000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1)).buffer);
    bridge.claim(1, data.length);
    bridge.upload(1, 0, buffer(data));
    for (const [offset, bytes] of [
      [0, 20000],
      [4, 1000],
      [0, 2000],
      [8, 1004],
      [0, 0],
    ] as const) {
      expect(Buffer.compare(read(bridge, 1, offset, bytes), data.slice(offset, offset + bytes))).toBe(0);
    }
    expect(await problem(() => bridge.plan(`nonsense${"!".repeat(3000)}:{}`))).toMatch(
      /^UnsupportedKernelError: .*nonsense!{3000}/,
    );
  });

  it("tells errors as the bridge itself does, those of posted commands too", async () => {
    const reports = async (bridge: PageBridge | WorkerBridge): Promise<string[]> => {
      const all = [];
      all.push(await problem(() => bridge.plan("nonsense:{}")));
      all.push(await problem(() => bridge.claim(1, 2 ** 45)));
      bridge.claim(1, 16); // the number can be used again
      const late = async (stream: Writer): Promise<void> => {
        all.push(
          await problem(() => {
            run(bridge, stream);
            bridge.check(); // the bridge itself reports it already
          }),
        );
        expect(await problem(() => bridge.check())).toBe("");
      };
      await late(writer().fill(9, 0, REST, 0));
      await late(writer().alloc(2, 16).fill(9, 0, REST, 0).copy(9, 0, 2, 0, 16).fill(1, 0, REST, 7));
      all.push(await problem(() => bridge.read(2, 0, 16)));
      all.push(String(await bridge.read(1, 0, 4)));
      await late(writer().raw(77 | (9 << 8)));
      await late(writer().alloc(3, 4000000000));
      all.push(await problem(() => bridge.read(3, 0, 4)));
      all.push(
        await problem(() => {
          bridge.upload(1, 8, buffer(new Uint8Array(16)));
          bridge.check();
        }),
      );
      all.push(await problem(() => bridge.reset()));
      await late(writer().fill(1, 0, REST, 0));
      all.push(String(bridge.epoch()));
      return all;
    };
    const budget = 64 << 20;
    const [here, there] = [await reports(await local({ budget })), await reports(await start({ budget }))];
    expect(here.filter((text) => /Error: /.test(text)).length).toBeGreaterThan(8);
    expect(there).toEqual(here);
  });

  it("reports the failure of a posted stream in place of the next answer, and does nothing else", async () => {
    // it takes each message late, so that nothing is known yet when the caller has posted it
    const bridge = await start(
      {},
      `const { serve } = torchlite_webgpu;
      torchlite_webgpu.serve = (scope) => {
        serve(scope); const { onmessage } = scope; scope.onmessage = (e) => setTimeout(onmessage, 10, e);
      };`,
    );
    bridge.claim(1, 16);
    const fail = (): void => run(bridge, writer().fill(9, 0, REST, 0));
    fail();
    // after many streams it looks how far the GPU worker is
    expect(() => {
      for (let i = 0; i < 100; i++) run(bridge, writer().fill(1, 0, 4, i));
    }).toThrow(/slot 9/);
    fail();
    expect(() => bridge.claim(2, 16)).toThrow(/slot 9/);
    bridge.claim(2, 16); // it was not done
    fail();
    // these never fail
    expect([bridge.state(), bridge.reason(), JSON.parse(bridge.figures()).slots]).toEqual([1, "", 2]);
    expect(() => run(bridge, writer().fill(1, 0, 4, 1))).toThrow(/slot 9/); // it is known by now
    fail();
    await expect(bridge.read(1, 0, 4)).rejects.toThrow(/slot 9/);
    expect((await bridge.read(1, 0, 4)).length).toBe(4);
  });

  it("tells a lost device, and starts another one", async () => {
    const lose = `const { requestDevice } = GPUAdapter.prototype; let device;
      GPUAdapter.prototype.requestDevice = async function (...a) {
        return (device = await requestDevice.apply(this, a));
      };
      const { serve } = torchlite_webgpu;
      torchlite_webgpu.serve = (scope) => {
        serve(scope); const { onmessage } = scope;
        scope.onmessage = (e) => (e.data.lose ? device.destroy() : onmessage(e));
      };`;
    let port: NodeWorker | undefined;
    const bridge = new WorkerBridge(
      heap,
      { probe: false },
      "",
      () => (port = worker(`${source}\n${lose}\ntorchlite_webgpu.serve(self);`)),
    );
    bridges.push(bridge);
    expect(await bridge.open()).toBe(true);
    const double = bridge.plan(DOUBLE);
    bridge.claim(1, 1 << 20);
    const pending = bridge.read(1, 0, 1 << 20).then(
      () => "read",
      (e: Error) => e.name,
    );
    port?.postMessage({ lose: true }, []);
    expect(["read", "DeviceLostError"]).toContain(await pending);
    while (bridge.state() === 1);
    expect(bridge.state()).toBe(2);
    expect(bridge.reason()).not.toBe("");
    expect(await problem(() => read(bridge, 1, 0, 4))).toMatch(
      /^DeviceLostError: .*the device was lost .* its tensors are gone/,
    );
    expect(
      await problem(() => {
        for (let i = 0; i < 100; i++) run(bridge, writer().fill(1, 0, REST, 0));
      }),
    ).toMatch(/^DeviceLostError: /);
    expect(await bridge.reset()).toBe(true);
    expect([bridge.state(), bridge.epoch(), bridge.plan(DOUBLE)]).toEqual([1, 2, double]);
    bridge.claim(1, 16);
    expect(read(bridge, 1, 0, 4).length).toBe(4);
  });

  it("gives a silent GPU worker up, and starts another one with the same plans", async () => {
    const die = `const { serve } = torchlite_webgpu;
      torchlite_webgpu.serve = (scope) => { serve(scope); const { onmessage } = scope;
        scope.onmessage = (e) => {
          if (e.data.name === "resetPeaks") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
          // Dawn does not bear that a thread ends while it maps a buffer
          if (e.data.name !== "read" || e.data.ask) onmessage(e);
        }; };`;
    const bridge = await start({ worker: { tick: TICK, silent: 20 } }, die);
    const others = ["float16", "int32"].map((d) => bridge.plan(DOUBLE.replaceAll("float32", d)));
    const double = bridge.plan(DOUBLE);
    bridge.setBudget(32 << 20);
    bridge.claim(1, 16);
    bridge.barrier();
    const pending = problem(() => bridge.read(1, 0, 16));
    bridge.resetPeaks(); // never fails, though it was never answered
    expect(bridge.state()).toBe(2);
    const silence = `the GPU worker gave no sign of life for ${seconds(20)}`;
    expect(bridge.reason()).toBe(silence);
    const lost = new RegExp(
      `^DeviceLostError: \\[webgpu\\] the device was lost \\(${silence}\\); its tensors are gone`,
    );
    expect(await pending).toMatch(lost);
    expect(await problem(() => read(bridge, 1, 0, 4))).toMatch(lost);
    expect(await problem(() => run(bridge, writer().fill(1, 0, REST, 0)))).toMatch(lost);
    expect(await problem(() => bridge.synchronize())).toMatch(lost);
    expect([bridge.figures(), bridge.emptyCache(), bridge.readProblem(4)]).toEqual(["{}", 0, bridge.reason()]);
    expect(await bridge.reset()).toBe(true);
    expect([bridge.state(), bridge.epoch()]).toEqual([1, 2]);
    run(bridge, writer().alloc(1, 16).fill(1, 0, REST, bits(4)).alloc(2, 16).plan(double, [1, 2], [4, 0, 0]));
    expect(floats(read(bridge, 2, 0, 16))).toEqual([8, 8, 8, 8]);
    expect([bridge.plan(DOUBLE), ...others]).toEqual([double, ...others]);
    expect(await problem(() => bridge.claim(3, 64 << 20))).toMatch(/^OutOfMemoryError: .*32.00 MiB/);
    const waiting = problem(() => bridge.read(1, 0, 16));
    bridge.close();
    expect(await waiting).toMatch(/^DeviceLostError/);
    expect(bridge.state()).toBe(0);
  });

  it("does not wait for ever for an answer either, nor for promises of a worker that hangs", async () => {
    const never = `const { serve } = torchlite_webgpu;
      torchlite_webgpu.serve = (scope) => { serve(scope); const { onmessage } = scope;
        scope.onmessage = (e) => {
          if (e.data.name === "info" || e.data.name === "spans") return;
          if (e.data.name === "times") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); onmessage(e);
        }; };`;
    const patient = await start({ worker: { tick: TICK, patient: 10 } }, never);
    expect(await problem(() => patient.info())).toMatch(
      new RegExp(`^DeviceLostError: .*the GPU worker gave no answer for ${seconds(10)}`),
    );
    const awaiting = await start({ worker: { tick: TICK, patient: 10 } }, never);
    expect(await problem(() => awaiting.spans())).toMatch(
      new RegExp(`^DeviceLostError: .*the GPU worker gave no answer for ${seconds(10)}`),
    );
    const hanging = await start({ worker: { tick: TICK, silent: 15 } }, never);
    expect(await problem(() => hanging.times())).toMatch(
      new RegExp(`^DeviceLostError: .*no sign of life for ${seconds(15)}`),
    );
  });

  it("serves a caller without shared memory, by messages alone", async () => {
    const port = worker(`${source}\ntorchlite_webgpu.serve(self);`);
    bridges.push({ close: () => port.terminate() });
    const said: { failed: boolean; epoch: number; state: number; reason: string }[] = [];
    const open = new Map<number, (answer: Answer) => void>();
    port.onmessage = ({ data }: { data: Answer | Words }) =>
      "words" in data ? said.push(JSON.parse(data.words)) : open.get(data.promise)?.(data);
    let last = 0;
    const ask = (name: CallName, ...args: unknown[]): Promise<Answer> =>
      new Promise((answered) => {
        open.set(++last, answered);
        port.postMessage({ promise: last, name, args }, []);
      });
    const post = (stream: Writer): void => port.postMessage({ run: Uint32Array.from(stream.words) }, []);
    const failed = (): boolean => said.some((words) => words.failed);
    port.postMessage(
      { start: { memory: new ArrayBuffer(64), options: { probe: false }, plans: ["nonsense:{}"], beat: 20 } },
      [],
    );
    expect((await ask("open")).value).toBe(true);
    expect(said.at(-1)).toMatchObject({ failed: false, epoch: 1, state: 1, reason: "" });
    port.postMessage({ assume: DOUBLE, number: 1 }, []);
    expect([(await ask("plan", DOUBLE)).value, (await ask("plan", "nonsense:{}")).error?.name]).toEqual([
      1,
      "UnsupportedKernelError",
    ]);
    post(writer().alloc(1, 16).fill(1, 0, REST, bits(4)).alloc(2, 16).plan(1, [1, 2], [4, 0, 0]));
    expect(floats((await ask("read", 2, 0, 16)).value as Uint8Array)).toEqual([8, 8, 8, 8]);
    expect(failed()).toBe(false);
    // a number that was given to a key without kernels: what it should write is void, and says why
    post(writer().plan(0, [2], [1]));
    expect([(await ask("check")).error?.name, failed()]).toEqual(["UnsupportedKernelError", true]);
    expect((await ask("read", 2, 0, 16)).error?.message).toMatch(/nonsense/);
    port.postMessage({ assume: "other:{}", number: 7 }, []); // it has counted wrong
    expect((await ask("check")).error?.message).toMatch(/number 7 is not the next one \(2\)/);
    const heard = said.length;
    await expect.poll(() => said.length).toBeGreaterThan(heard + 3); // signs of life
  });

  it("says what a GPU worker died of", async () => {
    const failing = new WorkerBridge(heap, {}, "", () => worker("throw new Error('no such thing')"));
    expect(await problem(() => failing.open())).toMatch(/^DeviceLostError/);
    expect(failing.reason()).toMatch(/^the GPU worker failed: .*no such thing/);
  });
});
