"""Programs whose results could depend on the order in which parallel work is done; each gives a list of tensors."""

from __future__ import annotations

import torchlite as torch
import torchlite.nn.functional as F
from torchlite import nn


def numbers(*shape):
    """Values of very different sizes, so that the order of a sum shows."""
    return torch.randn(shape) * 10 ** (torch.rand(shape) * 8 - 4)


def collide(n, places):
    """Indices of which many are equal."""
    return torch.randint(0, places, (n,))


def zeros(n):
    """0 and -0: which of them is the larger one, an order of work may decide."""
    return (torch.randint(0, 2, (n,)) * 2 - 1).float() * 0


def assign(x, at, value):
    x[at] = value
    return x


def gradient(f):
    """f on a leaf, and the gradient of a weighted sum."""

    def run(device, *shape_and_args):
        x, *args = shape_and_args
        x = x.to(device).requires_grad_()
        y = f(x, *(a.to(device) for a in args))
        w = numbers(*y.shape).to(device)
        return [y.detach(), torch.autograd.grad((y * w).sum(), x)[0]]

    return run


def plain(f):
    return lambda device, *args: [f(*(a.to(device) for a in args))]


N = 3000
OPS = {
    "scatter_add": (plain(lambda x, i, s: x.scatter_add(0, i, s)), lambda: (numbers(7), collide(N, 7), numbers(N))),
    "index_add": (plain(lambda x, i, s: x.index_add(0, i, s)), lambda: (numbers(7, 5), collide(N, 7), numbers(N, 5))),
    "index_put accumulate": (
        plain(lambda x, i, j, s: x.index_put((i, j), s, accumulate=True)),
        lambda: (numbers(5, 4), collide(N, 5), collide(N, 4), numbers(N)),
    ),
    "index_put": (plain(lambda x, i, s: x.index_put((i,), s)), lambda: (numbers(7), collide(N, 7), numbers(N))),
    "index_put of halves": (
        plain(lambda x, i, s: x.index_put((i,), s)),
        lambda: (numbers(7).half(), collide(N, 7), torch.randn(N).half()),
    ),
    "scatter": (plain(lambda x, i, s: x.scatter(0, i, s)), lambda: (numbers(9), collide(N, 9), numbers(N))),
    "scatter of int64": (
        plain(lambda x, i, s: x.scatter(0, i, s)),
        lambda: (torch.zeros(9, dtype=torch.long), collide(N, 9), torch.arange(N)),
    ),
    "scatter of bfloat16": (
        plain(lambda x, i, s: x.scatter(0, i, s)),
        lambda: (torch.randn(9).bfloat16(), collide(N, 9), torch.randn(N).bfloat16()),
    ),
    "scatter of uint8": (
        plain(lambda x, i, s: x.scatter(0, i, s)),
        lambda: (torch.zeros(9, dtype=torch.uint8), collide(N, 9), torch.randint(0, 255, (N,)).to(torch.uint8)),
    ),
    "scatter of bool": (
        plain(lambda x, i, s: x.scatter(0, i, s)),
        lambda: (torch.zeros(9) > 0, collide(N, 9), torch.randn(N) > 0),
    ),
    "scatter of complex": (
        plain(lambda x, i, s: x.scatter(0, i, s)),
        lambda: (torch.zeros(9, dtype=torch.complex64), collide(N, 9), torch.complex(numbers(N), numbers(N))),
    ),
    "assignment": (
        plain(lambda x, i, s: assign(x.clone(), (slice(None), i), s)),
        lambda: (numbers(3, 7), collide(N, 7), numbers(3, N)),
    ),
    "max_unpool2d": (
        plain(lambda x, i: F.max_unpool2d(x, i, 2)),
        lambda: (numbers(1, 2, 30, 30), torch.randint(0, 100, (1, 2, 30, 30))),
    ),
    "put accumulate": (
        plain(lambda x, i, s: x.put(i, s, accumulate=True)),
        lambda: (numbers(3, 3), collide(N, 9), numbers(N)),
    ),
    "scatter_add of halves": (
        plain(lambda x, i, s: x.scatter_add(0, i, s)),
        lambda: (torch.randn(9).half(), collide(N, 9), torch.randn(N).half()),
    ),
    "scatter_add of complex": (
        plain(lambda x, i, s: x.scatter_add(0, i, s)),
        lambda: (torch.zeros(9, dtype=torch.complex64), collide(N, 9), torch.complex(numbers(N), numbers(N))),
    ),
    "scatter_reduce amax of zeros": (
        plain(lambda x, i, s: x.scatter_reduce(0, i, s, "amax")),
        lambda: (torch.full((7,), -1.0), collide(N, 7), zeros(N)),
    ),
    "scatter_reduce amin of zeros": (
        plain(lambda x, i, s: x.scatter_reduce(0, i, s, "amin")),
        lambda: (torch.ones(7), collide(N, 7), zeros(N)),
    ),
    "scatter_reduce amax": (
        gradient(lambda x, i, s: x.scatter_reduce(0, i, s, "amax")),
        lambda: (torch.zeros(7), collide(N, 7), torch.randint(0, 3, (N,)).float()),
    ),
    "embedding by frequency": (
        gradient(lambda w, i: F.embedding(i, w, scale_grad_by_freq=True, padding_idx=1)),
        lambda: (numbers(6, 4), collide(N, 6)),
    ),
    "fold": (gradient(lambda x: F.fold(x, (8, 8), 3)), lambda: (numbers(2, 18, 36),)),
    "windows": (gradient(lambda x: x.unfold(0, 5, 1)), lambda: (numbers(200),)),
    "as_strided": (gradient(lambda x: x.as_strided((100, 5), (1, 1))), lambda: (numbers(200),)),
    "index_copy": (plain(lambda x, i, s: x.index_copy(0, i, s)), lambda: (numbers(7, 3), collide(N, 7), numbers(N, 3))),
    "put": (plain(lambda x, i, s: x.put(i, s)), lambda: (numbers(3, 3), collide(N, 9), numbers(N))),
    "scatter_reduce mean": (
        plain(lambda x, i, s: x.scatter_reduce(0, i, s, "mean")),
        lambda: (numbers(7), collide(N, 7), numbers(N)),
    ),
    "scatter_reduce prod": (
        plain(lambda x, i, s: x.scatter_reduce(0, i, s, "prod")),
        lambda: (numbers(7), collide(N, 7), 1 + torch.randn(N) / 50),
    ),
    "embedding": (gradient(lambda w, i: F.embedding(i, w)), lambda: (numbers(6, 4), collide(N, 6))),
    "embedding_bag": (
        gradient(lambda w, i: F.embedding_bag(i.view(-1, 10), w, mode="sum")),
        lambda: (numbers(6, 4), collide(N, 6)),
    ),
    "gather": (gradient(lambda x, i: x.gather(0, i)), lambda: (numbers(6), collide(N, 6))),
    "index": (gradient(lambda x, i: x[i]), lambda: (numbers(6, 3), collide(N, 6))),
    "index_select": (gradient(lambda x, i: x.index_select(0, i)), lambda: (numbers(6, 3), collide(N, 6))),
    "take_along_dim": (gradient(lambda x, i: x.take_along_dim(i, 0)), lambda: (numbers(6), collide(N, 6))),
    "interpolate": (
        gradient(lambda x: F.interpolate(x, scale_factor=3.3, mode="bilinear")),
        lambda: (numbers(1, 2, 7, 9),),
    ),
    "interpolate bicubic": (
        gradient(lambda x: F.interpolate(x, size=(20, 30), mode="bicubic")),
        lambda: (numbers(1, 1, 7, 9),),
    ),
    "interpolate nearest": (gradient(lambda x: F.interpolate(x, size=(20, 30))), lambda: (numbers(1, 2, 7, 9),)),
    "grid_sample": (
        gradient(lambda x, g: F.grid_sample(x, g, align_corners=False)),
        lambda: (numbers(1, 2, 6, 6), torch.rand(1, 20, 20, 2) * 2 - 1),
    ),
    "pad reflect": (gradient(lambda x: F.pad(x, (4, 4, 4, 4), mode="reflect")), lambda: (numbers(1, 2, 7, 9),)),
    "pad replicate": (gradient(lambda x: F.pad(x, (9, 9, 9, 9), mode="replicate")), lambda: (numbers(1, 2, 7, 9),)),
    "max_pool2d": (gradient(lambda x: F.max_pool2d(x, 3, 1)), lambda: (torch.randint(0, 3, (1, 2, 12, 12)).float(),)),
    "adaptive_avg_pool2d": (gradient(lambda x: F.adaptive_avg_pool2d(x, 5)), lambda: (numbers(1, 2, 12, 13),)),
    "adaptive_max_pool2d": (gradient(lambda x: F.adaptive_max_pool2d(x, 5)), lambda: (numbers(1, 2, 12, 13),)),
    "conv2d": (gradient(lambda x, w: F.conv2d(x, w)), lambda: (numbers(2, 3, 9, 9), numbers(4, 3, 3, 3))),
    "cumsum": (plain(lambda x: x.cumsum(0)), lambda: (numbers(N),)),
    "cumprod": (plain(lambda x: x.cumprod(0)), lambda: (1 + torch.randn(N) / 50,)),
    "logcumsumexp": (plain(lambda x: x.logcumsumexp(0)), lambda: (torch.randn(N),)),
    "bincount": (plain(lambda i, w: torch.bincount(i, w)), lambda: (collide(N, 7), numbers(N))),
    "histc": (plain(lambda x: torch.histc(x, 9, -3, 3)), lambda: (torch.randn(N),)),
    "sum": (plain(lambda x: x.sum()), lambda: (numbers(N, 9),)),
    "matmul": (gradient(lambda x, y: x @ y), lambda: (numbers(5, 900), numbers(900, 7))),
    "sort of equals": (plain(lambda x: x.sort()[1]), lambda: (torch.randint(0, 4, (N,)),)),
    "kthvalue": (plain(lambda x: torch.stack(x.kthvalue(900))), lambda: (torch.randint(0, 4, (N,)),)),
    "median": (plain(lambda x: x.median(0)[1]), lambda: (torch.randint(0, 4, (N,)),)),
    "ctc_loss": (
        gradient(lambda x, y: F.ctc_loss(x.log_softmax(2), y, torch.tensor([30, 30]), torch.tensor([5, 5]))),
        lambda: (torch.randn(30, 2, 6), torch.randint(1, 6, (2, 5))),
    ),
    "nll_loss2d": (
        gradient(lambda x, y: F.nll_loss(x.log_softmax(1), y)),
        lambda: (torch.randn(2, 4, 20, 20), torch.randint(0, 4, (2, 20, 20))),
    ),
    "cdist": (gradient(lambda x, y: torch.cdist(x, y)), lambda: (torch.randn(40, 5), torch.randn(30, 5))),
}


def run(name, device="cpu"):
    """The bytes of an op's results."""
    f, make = OPS[name]
    torch.manual_seed(0)
    args = make()
    return [bits(t) for t in f(device, *args)]


def bits(t):
    return t.cpu().contiguous().flatten().view(torch.uint8).tolist()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.conv, self.norm = nn.Embedding(9, 16), nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.attend, self.drop, self.out = (
            nn.MultiheadAttention(16, 2, batch_first=True),
            nn.Dropout(0.2),
            nn.Linear(16, 5),
        )

    def forward(self, i):
        x = self.words(i)
        x = F.max_pool2d(
            F.interpolate(self.norm(self.conv(x[:, None])), scale_factor=(2, 1), mode="nearest"), (2, 1)
        ).mean(1)
        return self.out(self.drop(self.attend(x, x, x)[0]).mean(1))


def train(device="cpu", steps=8):
    """Bits of the losses and of the trained parameters."""
    torch.manual_seed(3)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    data, target = torch.randint(0, 9, (6, 12)).to(device), (torch.arange(6) % 5).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    return losses, [bits(t) for t in model.state_dict().values()]
