"""Training steps of small models, under whatever `torch` is: real PyTorch, or torchlite in its place. One thread.

    python tests/bench/step_workloads.py [--torchlite] [--seconds N]

Prints a line "name<TAB>microseconds" for each. steps.py runs it in several places and compares.
"""

import sys
import time

if "--torchlite" in sys.argv:
    import torchlite

    torchlite.install_as_torch()
import torch
from torch import nn

F = nn.functional


def best(step, seconds):
    """Microseconds of one call: the best of several."""
    for _ in range(3):
        step()
    out, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or out == float("inf"):
        start = time.perf_counter()
        step()
        out = min(out, time.perf_counter() - start)
    return out * 1e6


def recurrent(kind, width, layers=1, bidirectional=False):
    """32 sequences of 50 steps are put into four classes."""
    net = getattr(nn, kind)(width, width, layers, batch_first=True, bidirectional=bidirectional)
    head = nn.Linear(width * (1 + bidirectional), 4)
    parameters = [*net.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-3)
    x, y = torch.randn(32, 50, width), torch.randint(0, 4, (32,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(head(net(x)[0][:, -1]), y).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step


def cells(kind, width):
    """One sequence, a cell at a time, as in a loop over an environment."""
    cell = getattr(nn, kind)(width, width)
    optimizer = torch.optim.SGD(cell.parameters(), 0.01)
    x = torch.randn(20, 8, width)

    def step():
        optimizer.zero_grad()
        state = None
        for t in range(20):
            state = cell(x[t], state)
        (state if torch.is_tensor(state) else state[0]).square().mean().backward()
        optimizer.step()

    return step


def pinn():
    """The heat equation: u_t = u_xx, with the second derivative in the loss."""
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    points = torch.rand(256, 2)

    def step():
        optimizer.zero_grad()
        x = points.clone().requires_grad_()
        u = net(x)
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        u_xx = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)[0][:, 0]
        ((du[:, 1] - u_xx) ** 2).mean().backward()
        optimizer.step()

    return step


def dqn():
    """CartPole-sized: a batch from a buffer, targets of a second network, Huber's loss, and its slow update."""
    make = lambda: nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    policy, target = make(), make()
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-4, amsgrad=True)
    states, rewards = torch.randn(10001, 4), torch.randn(10000)
    actions, ends = torch.randint(0, 2, (10000, 1)), torch.rand(10000) < 0.05

    def step():
        with torch.no_grad():
            policy(states[:1]).argmax(1).item()
        at = torch.randint(0, 10000, (128,))
        now = policy(states[at]).gather(1, actions[at]).squeeze(1)
        with torch.no_grad():
            after = target(states[at + 1]).amax(1).masked_fill(ends[at], 0.0)
        loss = F.smooth_l1_loss(now, rewards[at] + 0.99 * after)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(target.parameters(), policy.parameters()):
                p.lerp_(q, 0.005)

    return step


def maml():
    """Four tasks of sines: an inner step with a graph of its own, and the gradient through it."""
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    x, phases = torch.rand(4, 20, 1) * 10 - 5, torch.rand(4, 1, 1) * 3
    y = torch.sin(x + phases)
    names = [name for name, _ in net.named_parameters()]

    def step():
        optimizer.zero_grad()
        loss = 0
        for task in range(4):
            weights = dict(net.named_parameters())
            inner = F.mse_loss(torch.func.functional_call(net, weights, (x[task, :10],)), y[task, :10])
            gradients = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            weights = {n: weights[n] - 0.01 * g for n, g in zip(names, gradients)}
            loss = loss + F.mse_loss(torch.func.functional_call(net, weights, (x[task, 10:],)), y[task, 10:])
        loss.backward()
        optimizer.step()

    return step


WORKLOADS = {
    "LSTM 64": lambda: recurrent("LSTM", 64),
    "LSTM 64, two layers": lambda: recurrent("LSTM", 64, 2),
    "LSTM 64, both directions": lambda: recurrent("LSTM", 64, 1, True),
    "LSTM 256": lambda: recurrent("LSTM", 256),
    "GRU 64": lambda: recurrent("GRU", 64),
    "GRU 256": lambda: recurrent("GRU", 256),
    "RNN 64": lambda: recurrent("RNN", 64),
    "LSTMCell 32, 20 steps": lambda: cells("LSTMCell", 32),
    "GRUCell 32, 20 steps": lambda: cells("GRUCell", 32),
    "PINN": pinn,
    "DQN": dqn,
    "MAML": maml,
}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 1.0
    for name, make in WORKLOADS.items():
        print(f"{name}\t{best(make(), seconds):.2f}", flush=True)


if __name__ == "__main__":
    main()
