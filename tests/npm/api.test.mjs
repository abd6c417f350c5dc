// The npm package in node. PACKAGE: its folder; PYODIDE: Pyodide's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { formatWithOptions, inspect } from "node:util";

const { load, PythonError } = await import(pathToFileURL(join(process.env.PACKAGE, "index.js")));
let torch, nn;
const stages = [];

before(async () => {
  const onProgress = ({ stage, loaded, total }) => stages.push([stage, loaded / total]);
  torch = await load({
    indexURL: pathToFileURL(process.env.PYODIDE),
    onProgress,
  });
  nn = torch.nn;
});

const close = (actual, expected, tolerance = 1e-5) => {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < actual.length; i++) assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `${actual}`);
};

/** The proposal's network. */
const network = () => {
  class Net extends nn.Module {
    constructor() {
      super();
      this.convs = nn.Sequential(
        nn.Conv2d(3, 16, 5, { stride: 1, padding: 2 }),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 5, { stride: 1, padding: 2 }),
        nn.MaxPool2d(2),
        nn.ReLU(),
      );
      this.mlp = nn.Linear(32 * 4, 10);
    }
    forward(input) {
      let x = input;
      x = this.convs(x);
      x = x.view([x.size(0), -1]);
      return this.mlp(x);
    }
  }
  return Net;
};

describe("load", () => {
  test("tells its stages in order and the wheel's bytes", () => {
    assert.deepEqual(stages[0], ["pyodide", 0]);
    assert.ok(stages.some(([stage, part]) => stage === "wheel" && part === 1));
    assert.deepEqual(stages.at(-1), ["import", 1]);
  });
  test("leaves no globals", async () => {
    assert.equal(globalThis.torch, undefined);
    assert.equal(globalThis.pyodide, undefined);
  });
  test("ends at its signal", async () => {
    await assert.rejects(load({ signal: AbortSignal.abort() }), {
      name: "AbortError",
    });
  });
  test("a GPU that is not there is an error that says why", async () => {
    if (!globalThis.navigator?.gpu) await assert.rejects(async () => torch.ones(2).to("webgpu"), /webgpu/);
  });
});

describe("the proposal's program", () => {
  test("tensors", async () => {
    torch.manual_seed(0);
    const x = torch.randn(128);
    const y = torch.ones(128);
    const z = x.add(y).mul(2).sum();
    const data = await x.data();
    assert.ok(data instanceof Float32Array);
    assert.ok(Math.abs(z.item() - 2 * data.reduce((a, b) => a + b + 1, 0)) < 1e-3);
    close(data.slice(0, 3), [-1.1258398, -1.1523602, -0.2505786], 1e-6); // PyTorch's for this seed
    assert.deepEqual(x.shape, [128]);
    assert.equal(x.dtype, torch.float32);
    assert.equal(String(x.dtype), "torch.float32");
    assert.equal(String(x.device), "cpu");
  });
  test("a network, its parameters, and the weights of a file by address", async () => {
    const Net = network();
    const [model, copy] = [new Net(), new Net()];
    assert.equal([...model.parameters()].length, 6);
    assert.deepEqual([...model.named_parameters()].at(-1)[0], "mlp.bias");
    const x = torch.randn(2, 3, 8, 8);
    const out = model(x);
    assert.deepEqual(out.shape, [2, 10]);
    const state = model.state_dict();
    const file = torch.save(state);
    const safe = await torch.run("from torch.utils.safetensors import save\ndef bytes_of(d): return save(d)");
    const server = createServer((request, answer) => {
      answer.end(request.url.endsWith(".pt") ? file : Buffer.from(safe.bytes_of(state)));
    }).listen(0);
    await new Promise((resolve) => server.once("listening", resolve));
    const base = `http://localhost:${server.address().port}`;
    for (const name of ["model.pt", "model.safetensors"]) {
      torch.no_grad(() => copy.mlp.weight.zero_());
      await copy.load_state_dict(`${base}/${name}`);
      assert.ok(torch.equal(copy(x), out), name);
    }
    server.close();
  });
  test("training lowers the loss", () => {
    torch.manual_seed(1);
    const x = torch.linspace(-3, 3, 64).unsqueeze(1);
    const y = torch.sin(x);
    const model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1));
    const optimizer = new torch.optim.Adam(model.parameters(), { lr: 0.02 });
    let first, loss;
    for (let step = 0; step < 100; step++) {
      loss = torch.scope(() => {
        const loss = nn.functional.mse_loss(model(x), y);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        return loss.item();
      });
      first ??= loss;
    }
    assert.ok(loss < first / 5, `${first} ${loss}`);
  });
});

describe("values", () => {
  test("typed arrays come and go in their types", async () => {
    const kinds = [
      [new Float32Array([1, 2]), "float32"],
      [new Float64Array([1, 2]), "float64"],
      [new Int32Array([1, 2]), "int32"],
      [new Uint8Array([1, 2]), "uint8"],
      [new BigInt64Array([1n, 2n]), "int64"],
    ];
    for (const [array, dtype] of kinds) {
      const tensor = torch.tensor(array);
      assert.equal(tensor.dtype, torch[dtype]);
      assert.deepEqual(await tensor.data(), array);
    }
    assert.deepEqual(await torch.tensor([true, false]).data(), new Uint8Array([1, 0]));
    assert.deepEqual(await torch.ones(2, { dtype: torch.bfloat16 }).data(), new Float32Array([1, 1]));
    assert.deepEqual(await torch.tensor([1.5]).to(torch.complex64).data(), new Float32Array([1.5, 0]));
    assert.deepEqual(await torch.arange(6).view(2, 3).t().data(), new BigInt64Array([0n, 3n, 1n, 4n, 2n, 5n]));
  });
  test("nested arrays, also long ones and of other than finite numbers", () => {
    assert.deepEqual(torch.tensor([[1.5, 2], [3, 4]]).tolist(), [[1.5, 2], [3, 4]]); // prettier-ignore
    const long = Array.from({ length: 50 }, (_, i) => i);
    assert.deepEqual(torch.tensor(long).tolist(), long);
    assert.equal(JSON.stringify({ x: torch.arange(4).view(2, 2) }), '{"x":[[0,1],[2,3]]}');
    const odd = [NaN, Infinity, -Infinity, -0, ...long];
    assert.deepEqual(torch.tensor(odd).tolist(), odd);
    assert.equal(Object.is(torch.tensor([-0]).item(), -0), true);
  });
  test("large integers are BigInts", () => {
    assert.equal(torch.tensor(2n ** 60n).item(), 2n ** 60n);
    assert.equal(torch.tensor(7).item(), 7);
  });
  test("named results, tuples and sizes", () => {
    const { values, indices } = torch.tensor([[1, 5], [7, 2]]).max({ dim: 1 }); // prettier-ignore
    assert.deepEqual([values.tolist(), indices.tolist()], [[5, 7], [1, 0]]); // prettier-ignore
    assert.deepEqual(
      torch.arange(5).split(2).map((part) => part.tolist()), // prettier-ignore
      [[0, 1], [2, 3], [4]],
    );
  });
  test("dicts are Maps, both ways", async () => {
    const python = await torch.run("def count(d): return {k: len(v) for k, v in d.items()}");
    assert.deepEqual(python.count(new Map([["a", [1, 2]]])), new Map([["a", 2]]));
    class Net extends nn.Module {
      forward(x) {
        return { logits: x, size: 3 };
      }
    }
    const { logits, size } = new Net()(torch.ones(2));
    assert.deepEqual([logits.tolist(), size], [[1, 1], 2]); // a Map's own size
    // the last plain object gives keywords, any other is a dict
    assert.deepEqual(python.count({ b: [] }, {}), new Map([["b", 0]]));
  });
  test("indices", () => {
    const x = torch.arange(24).view(2, 3, 4);
    assert.deepEqual(x.at(1, torch.slice(0, 2), -1).tolist(), [15, 19]);
    assert.deepEqual(x.at("...", null, 0).shape, [2, 3, 1]);
    assert.deepEqual(x.at(torch.tensor([0, 0])).shape, [2, 3, 4]);
    x.put([0, torch.slice(null, null, 2)], 0);
    assert.deepEqual(x.at(0, 2).tolist(), [0, 0, 0, 0]);
    assert.deepEqual([...x.at(0, 1)].map(Number.call.bind((item) => item.item(), null)).length, 4); // prettier-ignore
  });
  test("operators of JavaScript's are errors that name the methods", () => {
    const [x, y] = [torch.tensor(3), torch.ones(2)];
    const wrong = [() => x * 2, () => 2 - x, () => x > 0, () => x + y, () => "x = " + x, () => -x, () => x == 3];
    for (const work of [...wrong, () => Number(x), () => nn.Parameter(y) * 2]) {
      assert.throws(work, { name: "TypeError", message: /x\.add\(y\), x\.mul\(2\), x\.gt\(0\)/ });
    }
    assert.deepEqual([`${x}`, String(x), [x, 1].join()], ["tensor(3)", "tensor(3)", "tensor(3),1"]);
    assert.deepEqual([x == null, x == y, !x, { [x]: 1 }["tensor(3)"]], [false, false, false, 1]);
  });
  test("indices of JavaScript's are errors that name at() and put()", () => {
    const x = torch.ones(2, 3);
    assert.throws(() => x[0], { name: "TypeError", message: /write x\.at\(0\)$/ });
    assert.throws(() => x[-1], { name: "TypeError", message: /write x\.at\(-1\)$/ });
    assert.throws(() => (x[1] = 0), { name: "TypeError", message: /write x\.put\(1, value\)$/ });
    assert.equal(x.sum().item(), 6);
  });
  test("what JavaScript and its tools ask of a tensor has an answer", async () => {
    const x = torch.ones(2);
    const text = "tensor([1., 1.])";
    assert.deepEqual([inspect(x), formatWithOptions({}, "%s %o", x, x)], [text, `${text} ${text}`]);
    assert.deepEqual([JSON.stringify(x), [...x].length, Array.from(x).length], ["[1,1]", 2, 2]);
    assert.equal(await x, x);
    const asked = ["then", "$$typeof", "asymmetricMatch", "nodeType", "length", Symbol.toStringTag, Symbol.species];
    for (const name of asked) assert.equal(x[name], undefined);
    assert.deepEqual([Array.isArray(x), [].concat(x).length, "0" in x], [false, 1, false]);
    assert.ok(x instanceof torch.Tensor && x instanceof Object && x.hasOwnProperty("handle"));
    assert.notDeepEqual(x, torch.ones(2)); // as before: they are two tensors
    assert.deepEqual(new Set([x, x]).size, 1);
    x.note = "mine";
    assert.deepEqual([x.note, torch.ones(2).note, Object.hasOwn(x, "note")], ["mine", undefined, true]);
    x.free();
    assert.equal(inspect(x), "Tensor (freed)");
  });
  test("an object is the same one each time, an in-place method's result its tensor", () => {
    const model = nn.Linear(2, 2);
    assert.equal(nn.Sequential(model).at, undefined);
    assert.equal([...nn.Sequential(model).children()][0], model);
    assert.equal(model.train(), model);
    const x = torch.zeros(2);
    assert.equal(x.add_(1), x);
  });
  test("attributes can be set", () => {
    const x = torch.ones(2);
    x.requires_grad = true;
    x.mul(3).sum().backward();
    assert.deepEqual(x.grad.tolist(), [3, 3]);
    x.grad = null;
    assert.equal(x.grad, null);
    const optimizer = new torch.optim.SGD([x], { lr: 0.1 });
    optimizer.param_groups[0].lr = 0.5;
    assert.equal(optimizer.param_groups[0].lr, 0.5);
    assert.equal(optimizer.param_groups.length, 1);
  });
  test("a parameter is one object", () => {
    const model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2));
    assert.equal(model[0].weight, model[0].weight);
    const frozen = new Set(model[0].parameters());
    assert.equal([...model.parameters()].filter((p) => !frozen.has(p)).length, 2);
    torch.scope(() => model[1].weight);
    assert.deepEqual(model[1].weight.shape, [2, 2]);
  });
  test("what lists of Python's hold is Python's, and they have the functions of arrays", () => {
    const optimizer = new torch.optim.SGD(nn.Linear(2, 2).parameters(), {
      lr: 0.1,
    });
    for (const group of optimizer.param_groups) group.lr = 0.5;
    assert.equal(optimizer.param_groups[0].lr, 0.5);
    optimizer.param_groups.forEach((group) => (group.lr *= 2));
    assert.deepEqual(
      optimizer.param_groups.map((group) => group.lr),
      [1],
    );
    assert.equal(nn.ModuleList([nn.ReLU(), nn.Tanh()]).length, 2);
    assert.equal(nn.Linear(2, 2).length, undefined);
    assert.equal(torch.utils.data.DataLoader([1, 2, 3]).length, 3);
  });
  test("holes and undefined are nothing, -0 as an argument is 0", async () => {
    assert.throws(() => torch.tensor([1, , 3]), { name: "RuntimeError", message: /NoneType/ }); // prettier-ignore
    const python = await torch.run("def f(x, k=5, *rest): return [x, k, *rest]\ndef kinds(*a): return str(a)");
    assert.deepEqual(python.f(1, undefined), [1, 5]);
    assert.deepEqual(python.f(1, undefined, 2), [1, null, 2]);
    const i = 0;
    assert.deepEqual(torch.arange(3).roll(-i).tolist(), [0, 1, 2]);
    assert.equal(torch.arange(3).at(-i).item(), 0);
    assert.throws(() => python.f({ "a b": 1 }), /"a b"/);
    // the same, whether an array is long or short
    for (const count of [2, 20]) {
      assert.equal(python.kinds(Array(count).fill(1e20)).includes("1e+20"), true);
      assert.equal(python.kinds(Array(count).fill(2 ** 60)).includes("e+18"), true);
    }
    assert.equal(torch.tensor(Array(200000).fill(NaN)).shape[0], 200000);
    assert.equal(torch.tensor(Array(200000).fill(true)).dtype, torch.bool);
    assert.equal(
      torch
        .tensor(Array(200000).fill(2n ** 60n))
        .at(5)
        .item(),
      2n ** 60n,
    );
  });
  test("tuples, complex numbers, Buffers and generators reach Python", async () => {
    const f = (x, y) => x.mul(y);
    const [x, y] = [torch.tensor([1, 2]).float(), torch.tensor([3, 4]).float()];
    assert.deepEqual(torch.func.vmap(f, { in_dims: torch.tuple(0, null) })(x, y).shape, [2, 2]);
    const [value, tangent] = torch.func.jvp((v) => v.pow(2), torch.tuple(x), torch.tuple(y));
    assert.deepEqual([value.tolist(), tangent.tolist()], [[1, 4], [6, 16]]); // prettier-ignore
    const z = torch.complex(x, y);
    assert.ok(torch.allclose(z.mul(z.at(0).item()), z.mul(z.at(0))));
    assert.deepEqual(torch.tensor(Buffer.from([1, 2])).tolist(), [1, 2]);
    const rows = torch.tensor([new Float32Array([1, 2]), new Float32Array([3, 4])]);
    assert.deepEqual([rows.dtype, rows.tolist()], [torch.float32, [[1, 2], [3, 4]]]); // prettier-ignore
    class Count extends torch.utils.data.IterableDataset {
      upTo = [0, 1, 2];
      *__iter__() {
        yield* this.upTo.map((i) => torch.tensor(i));
      }
    }
    assert.deepEqual(
      [...torch.utils.data.DataLoader(new Count(), { batch_size: 2 })].map((b) => b.tolist()),
      [[0, 1], [2]],
    );
  });
  test("a tensor of another load is an error", async () => {
    const other = await load({ indexURL: pathToFileURL(process.env.PYODIDE) });
    const [mine, others] = [torch.ones(2), other.zeros(2)];
    assert.throws(() => other.zeros(2).add(mine), /another load/);
    assert.throws(() => mine.add(others), /another load/);
    assert.deepEqual(others.add(1).tolist(), [1, 1]);
  });
  test("what has no counterpart is an error", () => {
    assert.throws(() => torch.ones(2).add(Promise.resolve(1)), /await it first/);
    assert.throws(() => torch.ones(2).add(new Date()), {
      name: "TypeError",
      message: /class Date/,
    });
  });
});

describe("functions and classes", () => {
  test("JavaScript functions are called by Python", () => {
    const seen = [];
    const layer = nn.Linear(2, 2);
    layer.register_forward_hook((module, [input], output) => {
      seen.push(module === layer, input.shape, output.shape);
    });
    layer(torch.ones(3, 2));
    assert.deepEqual(seen, [true, [3, 2], [3, 2]]);
    const gradient = torch.func.grad((x) => x.pow(2).sum())(torch.tensor([3.0, 0.5]));
    assert.deepEqual(gradient.tolist(), [6, 1]);
  });
  test("fields and methods of a class, with and without a constructor", () => {
    class Scaled extends nn.Module {
      scale = nn.Parameter(torch.tensor([2.5]));
      inner = nn.Linear(2, 2);
      times = 3;
      forward(x, { twice = false } = {}) {
        return this.inner(x)
          .mul(this.scale)
          .mul(twice ? 2 : 1);
      }
      get doubled() {
        return this.times * 2;
      }
    }
    const model = nn.Sequential(new Scaled());
    assert.deepEqual([...model.state_dict().keys()], ["0.scale", "0.inner.weight", "0.inner.bias"]);
    const [inside] = model;
    assert.ok(inside instanceof Scaled && inside instanceof nn.Module && !(inside instanceof nn.Linear));
    assert.deepEqual([inside.times, inside.doubled], [3, 6]);
    const x = torch.ones(1, 2);
    assert.ok(torch.allclose(inside(x, { twice: true }), model(x).mul(2)));
    assert.match(String(model), /\(0\): Scaled\(/);
    model.to(torch.float64);
    assert.equal(inside.scale.dtype, torch.float64);
  });
  test("super reaches Python's method", () => {
    class Loud extends nn.Module {
      train(mode = true) {
        this.told = mode;
        return super.train(mode);
      }
    }
    const model = new Loud();
    assert.equal(model.eval(), model);
    assert.deepEqual([model.told, model.training], [false, false]);
  });
  test("super reaches the methods of every class", () => {
    class Quiet extends nn.Linear {
      reset_parameters() {
        super.reset_parameters();
        torch.no_grad(() => this.weight.mul_(0));
      }
    }
    assert.equal(new Quiet(2, 2).weight.abs().sum().item(), 0);
    class Steps extends torch.optim.SGD {
      taken = 0;
      step() {
        this.taken++;
        return super.step();
      }
    }
    const weight = torch.ones(1, { requires_grad: true });
    const optimizer = new Steps([weight], { lr: 0.5 });
    weight.sum().backward();
    optimizer.step();
    assert.deepEqual([optimizer.taken, weight.item()], [1, 0.5]);
  });
  test("a copy has its own layers and values, and a replaced layer is gone", async () => {
    class Net extends nn.Module {
      fc = nn.Linear(1, 1, { bias: false });
      counter = { of: [1] };
      forward(x) {
        return this.fc(x);
      }
    }
    const copy = await torch.run("import copy");
    const [model, x] = [new Net(), torch.ones(1, 1)];
    torch.no_grad(() => model.fc.weight.fill_(1));
    const twin = copy.copy.deepcopy(model);
    torch.no_grad(() => model.fc.weight.fill_(9));
    assert.deepEqual([model(x).item(), twin(x).item()], [9, 1]);
    twin(x).backward();
    assert.equal(model.fc.weight.grad, null);
    twin.counter.of.push(2);
    assert.deepEqual(model.counter.of, [1]);
    assert.ok(twin instanceof Net);
    model.set_submodule("fc", nn.Linear(1, 5));
    assert.deepEqual(model(x).shape, [1, 5]);
    delete model.fc;
    assert.equal(model.state_dict().size, 0);
    assert.equal(model.fc, undefined);
  });
  test("a name that a method has can be a value", () => {
    class Net extends nn.Module {
      type = "encoder";
    }
    assert.equal(new Net().type, "encoder");
  });
  test("a parametrized module stays JavaScript's", () => {
    class Net extends nn.Module {
      w = nn.Parameter(torch.ones(2));
      forward(x) {
        return x.mul(this.w);
      }
    }
    class Double extends nn.Module {
      forward(w) {
        return w.mul(2);
      }
    }
    const holder = nn.Sequential(new Net());
    nn.utils.parametrize.register_parametrization(holder[0], "w", new Double());
    globalThis.gc?.();
    assert.deepEqual(holder(torch.ones(2)).tolist(), [2, 2]);
  });
  test("a script's names are what they are now", async () => {
    const script = await torch.run("m = object\ndef change():\n    global m\n    m = dict");
    assert.match(String(script.m), /object/);
    script.change();
    assert.match(String(script.m), /dict/);
  });
  test("what Python awaits is a promise", async () => {
    const python = await torch.run(`import asyncio
async def later(x):
    await asyncio.sleep(0)
    return x.add(1)`);
    const promise = python.later(torch.ones(2));
    assert.ok(promise instanceof Promise);
    assert.deepEqual((await promise).tolist(), [2, 2]);
    await assert.rejects(python.later(3), { name: "AttributeError" });
    assert.equal(await torch.tensor(5).item_async(), 5);
  });
  test("a dataset of JavaScript's", () => {
    class Squares extends torch.utils.data.Dataset {
      __len__() {
        return 5;
      }
      __getitem__(i) {
        return torch.tensor(i * i);
      }
    }
    const batches = [...torch.utils.data.DataLoader(new Squares(), { batch_size: 2 })];
    assert.deepEqual(
      batches.map((batch) => batch.tolist()),
      [[0, 1], [4, 9], [16]],
    );
  });
  test("a method that is misspelt is no function", () => {
    assert.throws(() => torch.ones(2).ad(1), /ad is not a function/);
    assert.equal(torch.ramdn, undefined);
    assert.equal("randn" in torch, true);
  });
});

describe("errors", () => {
  test("are PyTorch's, with Python's traceback", () => {
    const check = (error) => {
      assert.ok(error instanceof PythonError && error instanceof Error);
      assert.equal(error.name, "RuntimeError");
      assert.equal(error.message, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
      assert.match(error.traceback, /^RuntimeError: mat1/m);
      return true;
    };
    assert.throws(() => torch.ones(2, 3).matmul(torch.ones(2, 3)), check);
    assert.throws(() => torch.ones(2).sum({ dim: 3 }), { name: "IndexError" });
    assert.throws(() => torch.ones(2).add(1, { beta: 2 }), {
      name: "TypeError",
    });
  });
  test("of JavaScript go through Python as they are", () => {
    class Broken extends nn.Module {
      forward() {
        throw new RangeError("not today");
      }
    }
    assert.throws(() => nn.Sequential(new Broken())(torch.ones(1)), {
      name: "RangeError",
      message: "not today",
    });
  });
  test("of Python go through JavaScript as they are", async () => {
    const python = await torch.run(
      "def kind(f):\n    try:\n        f()\n    except Exception as e:\n        return type(e).__name__\n",
    );
    assert.equal(python.kind(() => torch.ones(2).view(3)), "RuntimeError"); // prettier-ignore
    const view = (n) => torch.ones(2).view(n); // prettier-ignore
    const first = python.kind(() => {
      try {
        view(77);
      } catch (error) {
        assert.throws(() => view(88));
        throw error;
      }
    });
    assert.equal(first, "RuntimeError");
    for (const wrong of [() => (nn.Linear(2, 2).weight = torch.ones(1)), () => new (class extends nn.Linear {})("a")]) {
      assert.throws(wrong, (error) => error instanceof PythonError && !error.message.includes("Traceback"));
    }
    await assert.rejects(torch.run("x = 1\nraise KeyError('k')\n"), (error) => {
      assert.equal(error.message, "k");
      assert.match(error.traceback, /script.py", line 2/);
      return true;
    });
  });
});

describe("memory", () => {
  test("a scope frees what is not returned or kept", () => {
    const before = torch.memory();
    let inner, outer;
    const { list } = torch.scope(() => {
      inner = torch.ones(1000);
      outer = torch.keep(torch.ones(1000));
      return { list: [inner.add(1)] };
    });
    assert.equal(list[0].sum().item(), 2000);
    assert.equal(outer.sum().item(), 1000);
    assert.throws(() => inner.add(1), /freed when its torch.scope\(\) ended/);
    for (const tensor of [list[0], outer]) tensor.free();
    assert.ok(torch.memory().bytes <= before.bytes + 100);
  });
  test("no_grad ends where its function throws, and holds over awaits", async () => {
    assert.throws(() => torch.no_grad(() => torch.ones(2).view(3)), {
      name: "RuntimeError",
    });
    assert.equal(torch.is_grad_enabled(), true);
    const x = torch.ones(2, { requires_grad: true });
    const y = await torch.no_grad(async () => (await x.data(), x.mul(2)));
    assert.equal(y.requires_grad, false);
    assert.equal(torch.is_grad_enabled(), true);
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const collect = async () => (await wait(5), globalThis.gc?.(), globalThis.Bun?.gc(true), wait(5));
    await torch.no_grad(collect);
    assert.equal(torch.is_grad_enabled(), true);
    await Promise.all([torch.no_grad(() => wait(5)), torch.no_grad(() => wait(15)), torch.no_grad(() => wait(10))]);
    assert.equal(torch.is_grad_enabled(), true);
  });
  test("what is kept in a Map is kept", () => {
    const model = nn.Linear(2, 2);
    const state = torch.scope(() => (torch.keep(model.state_dict()), torch.keep([torch.ones(2)])));
    assert.deepEqual(state[0].tolist(), [1, 1]);
  });
  test("what JavaScript forgets is freed without a scope", async () => {
    const steps = Number(process.env.STEPS ?? 400);
    const x = torch.randn(64, 256);
    const model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1));
    const optimizer = new torch.optim.SGD(model.parameters(), { lr: 1e-3 });
    let most = 0;
    for (let step = 0; step < steps; step++) {
      const loss = model(x).pow(2).mean();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      await loss.data();
      most = Math.max(most, torch.memory().bytes);
    }
    // each step makes 0.3 MB that lives as long as its loss
    assert.ok(most < 100e6, `${most} bytes after ${steps} steps`);
  });
});

describe("demos/docs/javascript.md", () => {
  const page = readFileSync(new URL("../../demos/docs/javascript.md", import.meta.url), "utf8");
  const AsyncFunction = (async () => {}).constructor;
  // "js page" needs a page
  for (const [, code] of page.matchAll(/^```js\n(.*?)^```/gms)) {
    test(
      code.split("\n").find((line) => line && !line.startsWith("import")),
      async () => {
        const said = [...code.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
        const printed = [];
        const log = (...values) => printed.push(formatWithOptions({ colors: false }, ...values));
        await new AsyncFunction("torch", "console", code)(torch, { log });
        if (said.length) assert.deepEqual(printed.slice(-said.length), said);
      },
    );
  }
});
