"""What the calls of cost.mjs cost in Python's own loop; runs in Pyodide."""

import time

import torch

x, y = torch.randn(128), torch.randn(128)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(128, 1)

    def forward(self, x):
        return self.fc(x)


def costs(runs, calls):
    """Microseconds of each call, without those of the loop."""
    net = Net()

    def cost(call):
        best = float("inf")
        for _ in range(runs):
            start = time.perf_counter()
            for _ in range(calls):
                call()
            best = min(best, time.perf_counter() - start)
        return best / calls * 1e6

    nothing = cost(lambda: None)
    measured = [
        lambda: x.add(y),
        lambda: x.mul(2),
        lambda: x.sum(dim=0),
        lambda: torch.add(x, y),
        lambda: x.view([2, 64]),
        lambda: torch.cat([x, y], 0),
        lambda: x.shape,
        lambda: x.dtype,
        lambda: x.dim(),
        lambda: net.fc(x),
        lambda: net(x),
    ]
    return [cost(call) - nothing for call in measured]
