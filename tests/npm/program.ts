// A program that uses the npm package; it is compiled, not run (tests/packaging/test_npm.py).
import { load, PythonError, type Tensor } from "torchlite";
const torch = await load({
  device: "cpu",
  onProgress: ({ stage, loaded, total }) => console.log(stage, loaded / total),
});
const { nn } = torch;
const x: Tensor = torch.randn(128),
  y = torch.randn(128, { dtype: torch.float64 });
const z: Tensor = x.add(y, { alpha: 2 }).mul(2).sum({ dim: 0, keepdim: true });
class Net extends torch.nn.Module {
  fc = nn.Linear(2, 3, { bias: false });
  conv = new nn.Conv2d(3, 16, 5, { stride: 1, padding: 2 });
  forward(input: Tensor): Tensor {
    return this.fc(input.view(input.size(0), -1));
  }
}
const model = new Net();
const out: Tensor = model(x);
const opt = new torch.optim.SGD(model.parameters(), { lr: 0.1 });
opt.zero_grad();
opt.step();
await model.load_state_dict("model.safetensors");
const n: number = x.size(0);
const shape: readonly number[] = x.shape;
const made: Tensor = torch.tensor(new Float32Array([1, 2]), { dtype: torch.float64 });
const { values, indices } = x.max({ dim: 0 });
const v2: Tensor = values;
const s: Tensor = torch.no_grad(() => x.mul(2));
const loss = nn.functional.cross_entropy(out, y, { reduction: "mean" });
loss.backward();
loss.backward({ retain_graph: true });
const parameter: Tensor = nn.Parameter(x);
for (const batch of torch.utils.data.DataLoader([x], { batch_size: 2 })) console.log(batch);
await model.load_state_dict(new Map([["a", x]]), { strict: false });
const norm: Tensor = x.norm(2, 1);
nn.functional.interpolate(x, { size: [2, 2] });
new torch.Generator().manual_seed(1);
torch.manual_seed(1n);
x.put([0], new Float32Array(2));
const version: string = torch.__version__;
torch.func.vmap(torch.add, { in_dims: torch.tuple(0, null) });
const layers: number = nn.ModuleList([nn.ReLU()]).length;
torch.keep(new Map([["a", x]]));
x.at(0, torch.slice(1, 2), "...", null).put([0], 3);
try {
  torch.cat([x, y], 0);
} catch (e) {
  if (e instanceof PythonError) console.log(e.traceback);
}
// @ts-expect-error a misspelt name
x.ad(y);
// @ts-expect-error a misspelt keyword
x.add(y, { alfa: 2 });
// @ts-expect-error another type
torch.randn("a");
// @ts-expect-error another type
torch.ramdn(3);
// @ts-expect-error another type
x.shape = [3];
// @ts-expect-error another type
nn.Linear("a", 3, { bias: 1 });
const remote = await load({ worker: true });
await remote.run("print(1)", { signal: AbortSignal.timeout(1000), stdout: (text: string) => console.log(text) });
remote.terminate();
// @ts-expect-error JavaScript has no operators for tensors
console.log(x * 2);
// @ts-expect-error JavaScript has no operators for tensors
console.log(x > 0);
// @ts-expect-error JavaScript has no operators for tensors
console.log(x + y);
// @ts-expect-error JavaScript has no indices for tensors
console.log(x[0]);
console.log(`${x}`, String(x));
// @ts-expect-error a device that there is not
await load({ device: "cuda" });
// @ts-expect-error a size that is no number
nn.Linear("4", 2);
export { parameter, norm, version, layers, made, indices, v2, s, n, shape, z };
