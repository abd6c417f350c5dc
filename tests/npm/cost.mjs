// What a call costs in JavaScript, beside the same call in Python's own loop. In microseconds, the least of some runs.

const CALLS = 5000;
const RUNS = 7;

/** [call, in JavaScript, in Python] for some calls. */
export async function costs(torch) {
  const python = (await torch.run(new URL("cost.py", import.meta.url))).costs(RUNS, CALLS);
  const [x, y] = [torch.randn(128), torch.randn(128)];
  class Net extends torch.nn.Module {
    fc = torch.nn.Linear(128, 1);
    forward(x) {
      return this.fc(x);
    }
  }
  const net = new Net();
  const calls = {
    "x.add(y)": () => x.add(y),
    "x.mul(2)": () => x.mul(2),
    "x.sum({ dim: 0 })": () => x.sum({ dim: 0 }),
    "torch.add(x, y)": () => torch.add(x, y),
    "x.view([2, 64])": () => x.view([2, 64]),
    "torch.cat([x, y], 0)": () => torch.cat([x, y], 0),
    "x.shape": () => x.shape,
    "x.dtype": () => x.dtype,
    "x.dim()": () => x.dim(),
    "net.fc(x), a Linear": () => net.fc(x),
    "net(x), forward in JavaScript": () => net(x),
  };
  return Object.entries(calls).map(([name, call], at) => [name, cost(torch, call), python[at]]);
}

function cost(torch, call) {
  let best = Infinity;
  for (let run = 0; run < RUNS; run++) {
    torch.scope(() => {
      const start = performance.now();
      for (let i = 0; i < CALLS; i++) call();
      best = Math.min(best, performance.now() - start);
    });
  }
  return (best / CALLS) * 1000;
}
