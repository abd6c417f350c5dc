// A worker that measures TensorFlow.js with the work of speed.py, in the same way. build.py --tfjs bundles it.
// The page sends {device: "cpu" | "webgpu"} and gets {name, ms} for each work, then {version} or {error}.

import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import "@tensorflow/tfjs-backend-webgpu";

const ROUNDS = 7;
const ROUND = 50; // ms
const WARM = 200; // ms

// One thread, by the one file of the three that the site has.
const BINARIES = ["tfjs-backend-wasm.wasm", "tfjs-backend-wasm-simd.wasm", "tfjs-backend-wasm-threaded-simd.wasm"];
tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
setWasmPaths(Object.fromEntries(BINARIES.map((name) => [name, new URL(BINARIES[1], location).href])));

const random = (...shape) => tf.randomNormal(shape);
const linear = (from, to) => [tf.variable(random(from, to).mul(1 / Math.sqrt(from))), tf.variable(tf.zeros([to]))];
const apply = ([weight, bias], x) => tf.fused.matMul({ a: x, b: weight, bias });
const applyRelu = ([weight, bias], x) => tf.fused.matMul({ a: x, b: weight, bias, activation: "relu" });

function network() {
  const layers = [linear(784, 512), linear(512, 256), linear(256, 10)];
  const plain = ([weight, bias], x) => x.matMul(weight).add(bias);
  return {
    layers,
    see: (x) => apply(layers[2], applyRelu(layers[1], applyRelu(layers[0], x))),
    // the fused operations have gradients as well, but no backend of the three computes all of them
    train: (x) => plain(layers[2], plain(layers[1], plain(layers[0], x).relu()).relu()),
  };
}

function smallCnn() {
  const kernels = [random(3, 3, 3, 32), random(3, 3, 32, 64)].map((kernel) => kernel.mul(0.1));
  const biases = [tf.zeros([32]), tf.zeros([64])];
  const last = linear(64 * 16 * 16, 10);
  const part = (x, i) =>
    tf.fused
      .conv2d({ x, filter: kernels[i], strides: 1, pad: "same", bias: biases[i], activation: "relu" })
      .maxPool(2, 2, "valid");
  return (x) => apply(last, part(part(x, 0), 1).reshape([x.shape[0], -1]));
}

function block(width = 384, heads = 6) {
  const norms = [0, 1].map(() => [tf.ones([width]), tf.zeros([width])]);
  const [qkv, out] = [linear(width, 3 * width), linear(width, width)];
  const [up, down] = [linear(width, 4 * width), linear(4 * width, width)];
  const norm = ([weight, bias], x) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(weight).add(bias);
  };
  return (x) => {
    const tokens = x.shape[0];
    const split = apply(qkv, norm(norms[0], x)).reshape([tokens, 3, heads, width / heads]);
    const [q, k, v] = split.transpose([1, 2, 0, 3]).unstack();
    const shares = q
      .matMul(k, false, true)
      .mul(1 / Math.sqrt(width / heads))
      .softmax();
    const seen = shares.matMul(v).transpose([1, 0, 2]).reshape([tokens, width]);
    const y = x.add(apply(out, seen));
    return y.add(apply(down, applyRelu(up, norm(norms[1], y))));
  };
}

function work() {
  const [a, b] = [random(512, 512), random(512, 512)];
  const [x, y, z] = [0, 1, 2].map(() => random(1_000_000));
  const rows = random(1000, 1000);
  const [pictures, digits, tokens] = [random(8, 64, 64, 3), random(64, 784), random(128, 384)];
  const labels = tf.oneHot(tf.randomUniformInt([64], 0, 10), 10);
  const [cnn, mlp, layer, pupil] = [smallCnn(), network(), block(), network()];
  const optimizer = tf.train.sgd(0.01);
  return {
    "Matrices, 512 x 512": () => a.matMul(b),
    "relu(x * y + z), a million": () => x.mul(y).add(z).relu(),
    "Softmax of 1000 rows": () => rows.softmax(),
    "Small CNN, 8 pictures": () => cnn(pictures),
    "Three linear layers, 64 rows": () => mlp.see(digits),
    "A step of training them": () =>
      optimizer.minimize(() => tf.losses.softmaxCrossEntropy(labels, pupil.train(digits)), true, pupil.layers.flat()),
    "Transformer block, 128 tokens": () => layer(tokens),
  };
}

/** Reads one number of a result: then it, and all that was asked for before, is there. */
async function waitFor(result) {
  const one = tf.tidy(() => result.reshape([-1]).slice(0, 1));
  await one.data();
  tf.dispose([one, result]);
}

async function milliseconds(run) {
  const call = () => tf.tidy(run);
  const start = performance.now();
  for (let calls = 0; calls < 3 || performance.now() - start < WARM; calls++) await waitFor(call());
  let began = performance.now();
  await waitFor(call());
  const calls = Math.max(1, Math.min(1000, Math.round(ROUND / Math.max(performance.now() - began, 1e-3))));
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    began = performance.now();
    for (let i = 1; i < calls; i++) tf.dispose(call());
    await waitFor(call());
    best = Math.min(best, (performance.now() - began) / calls);
  }
  return best;
}

self.onmessage = async ({ data: { device } }) => {
  try {
    const backend = device === "cpu" ? "wasm" : device;
    if (!(await tf.setBackend(backend))) throw new Error(`TensorFlow.js could not open its ${backend} backend`);
    await tf.ready();
    for (const [name, run] of Object.entries(work())) {
      let answer;
      try {
        answer = { ms: await milliseconds(run) };
      } catch (error) {
        answer = { problem: String(error.message ?? error) };
      }
      self.postMessage({ name, ...answer });
    }
    self.postMessage({ version: tf.version_core });
  } catch (error) {
    self.postMessage({ error: String(error.message ?? error) });
  }
};
