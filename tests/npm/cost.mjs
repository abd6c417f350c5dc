// What a call costs in JavaScript, beside the same call in Python's own loop. In microseconds, the least of some runs.

const CALLS = 5000;
const RUNS = 7;
const PYTHON = `
import time, torch
x, y = torch.randn(128), torch.randn(128)
def cost(call):
    best = float("inf")
    for _ in range(${RUNS}):
        start = time.perf_counter()
        for _ in range(${CALLS}):
            call()
        best = min(best, time.perf_counter() - start)
    return best / ${CALLS} * 1e6
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(128, 1)
    def forward(self, x):
        return self.fc(x)
def costs():
    net = Net()
    nothing = cost(lambda: None)
    calls = [lambda: x.add(y), lambda: x.mul(2), lambda: x.sum(dim=0), lambda: torch.add(x, y), lambda: x.view([2, 64]),
             lambda: torch.cat([x, y], 0), lambda: x.shape, lambda: x.dtype, lambda: x.dim(),
             lambda: net.fc(x), lambda: net(x)]
    return [cost(call) - nothing for call in calls]
`;

/** [call, in JavaScript, in Python] for some calls. */
export async function costs(torch) {
  const python = (await torch.run(PYTHON)).costs();
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
