"""Strides of results and of gradients: recorded from PyTorch, and beside it where it is installed."""

import pytest

import torchlite

LAYOUTS = {  # shape, strides
    "contiguous": ((2, 3, 4, 5), (60, 20, 5, 1)),
    "channels_last": ((2, 3, 4, 5), (60, 1, 15, 3)),
    "permuted": ((2, 3, 4, 5), (5, 40, 10, 1)),
    "transposed": ((2, 3, 4, 5), (60, 20, 1, 4)),
    "sliced": ((2, 3, 4, 5), (120, 40, 10, 2)),
    "part of channels_last": ((2, 3, 4, 5), (120, 1, 30, 6)),
    "expanded": ((2, 3, 4, 5), (15, 5, 0, 1)),
    "one channel": ((2, 1, 4, 5), (20, 1, 5, 1)),
    "one pixel": ((2, 3, 1, 1), (3, 1, 3, 3)),
    "empty": ((0, 3, 4, 5), (60, 1, 15, 3)),
}
MATRICES = {
    "contiguous": ((4, 4), (4, 1)),
    "by columns": ((4, 4), (1, 4)),
    "sliced": ((4, 4), (16, 2)),
    "batch": ((2, 4, 4), (16, 4, 1)),
    "batch by columns": ((2, 4, 4), (16, 1, 4)),
    "one row": ((1, 1), (1, 1)),
    "empty": ((0, 4, 4), (16, 4, 1)),
}


def make(lib, shape, strides, grad=True):
    n = 1 + sum((s - 1) * t for s, t in zip(shape, strides) if s)
    x = (lib.arange(n, dtype=lib.float64) * 0.37 % 1.0 + 0.3).as_strided(shape, strides)
    return x.detach().requires_grad_(grad)


def nn(lib):
    return lib.nn.functional


def definite(lib, x):
    return x + x.mT + 8 * lib.eye(x.shape[-1], dtype=x.dtype)


OPS = {
    "neg": lambda lib, x: -x,
    "add number": lambda lib, x: x + 1,
    "rsub": lambda lib, x: 1 - x,
    "pow": lambda lib, x: x**3,
    "2 **": lambda lib, x: 2**x,
    "clamp": lambda lib, x: x.clamp(0.5, 0.9),
    "compare": lambda lib, x: x > 0.5,
    "to": lambda lib, x: x.to(lib.float32),
    "clone": lambda lib, x: x.clone(),
    "contiguous": lambda lib, x: x.contiguous(),
    "like": lambda lib, x: lib.zeros_like(x),
    "add contiguous": lambda lib, x: x + x.detach().contiguous(),
    "contiguous add": lambda lib, x: x.detach().contiguous() + x,
    "broadcast": lambda lib, x: x * lib.ones(2, 1, 1, 1, 1, dtype=x.dtype),
    "0-dim": lambda lib, x: x + lib.tensor(1.0),
    "lerp": lambda lib, x: lib.lerp(x, x.detach().contiguous(), 0.3),
    "where": lambda lib, x: lib.where(x > 0.5, x, 0.0),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0.5, 0.0),
    "erf": lambda lib, x: lib.erf(x),
    "relu": lambda lib, x: lib.relu(x),
    "leaky_relu": lambda lib, x: nn(lib).leaky_relu(x),
    "gelu": lambda lib, x: nn(lib).gelu(x),
    "logsigmoid": lambda lib, x: nn(lib).logsigmoid(x),
    "rrelu": lambda lib, x: nn(lib).rrelu(x),
    "complex": lambda lib, x: lib.complex(x, x).abs(),
    "polar": lambda lib, x: lib.polar(x, x.detach()),
    "cat": lambda lib, x: lib.cat([x, x], 1),
    "cat mixed": lambda lib, x: lib.cat([x, x.detach().contiguous()], 2),
    "stack": lambda lib, x: lib.stack([x, x], 1),
    "stack last": lambda lib, x: lib.stack([x, x], -1),
    "flip": lambda lib, x: x.flip(1, 3),
    "roll": lambda lib, x: x.roll(1, 2),
    "roll all": lambda lib, x: x.roll(2),
    "rot90": lambda lib, x: lib.rot90(x, 1, (2, 3)),
    "tile": lambda lib, x: x.tile(2),
    "repeat": lambda lib, x: x.repeat(2, 1, 3, 1),
    "sum": lambda lib, x: x.sum(1),
    "mean": lambda lib, x: x.mean((2, 3), keepdim=True),
    "amax": lambda lib, x: x.amax(2),
    "max": lambda lib, x: x.max(3),
    "max of all": lambda lib, x: x.sum(0).max(),
    "var": lambda lib, x: x.var((1, 2)),
    "norm": lambda lib, x: lib.linalg.vector_norm(x, 2, 2),
    "logsumexp": lambda lib, x: x.logsumexp(1),
    "softmax": lambda lib, x: x.softmax(1),
    "cumsum": lambda lib, x: x.cumsum(2),
    "sort": lambda lib, x: x.sort(2),
    "topk": lambda lib, x: x.topk(1, 3),
    "argsort": lambda lib, x: x.argsort(1),
    "renorm": lambda lib, x: x.renorm(2, 1, 1.0),
    "index": lambda lib, x: x[:, lib.tensor([0, 0])],
    "index two": lambda lib, x: x[:, lib.tensor([0, 0]), :, lib.tensor([0, 0])],
    "mask": lambda lib, x: x[x > 0.5],
    "index_select": lambda lib, x: x.index_select(3, lib.tensor([0])),
    "gather": lambda lib, x: x.gather(1, (x.detach() * 0).long()),
    "take": lambda lib, x: x.reshape(-1)[:0] if not x.numel() else x.take(lib.tensor([0, 1])),
    "masked_select": lambda lib, x: x.masked_select(x > 0.5),
    "scatter": lambda lib, x: x.scatter(1, (x.detach() * 0).long(), 0.0),
    "index_fill": lambda lib, x: x.index_fill(1, lib.tensor([0]), 2.0),
    "index_add": lambda lib, x: x.index_add(1, lib.tensor([0]), x.detach()[:, :1]),
    "nonzero": lambda lib, x: x.nonzero(),
    "unique": lambda lib, x: lib.unique(x.detach(), dim=2) if x.numel() else x * 1,
    "select_scatter": lambda lib, x: lib.select_scatter(x, x.detach()[:, 0], 1, 0),
    "unfold": lambda lib, x: x.unfold(3, 1, 1) * 2,
    "ravel": lambda lib, x: x.ravel(),
    "pixel_shuffle": lambda lib, x: nn(lib).pixel_shuffle(x, 1),
    "mse": lambda lib, x: nn(lib).mse_loss(x, x.detach() * 2, reduction="none"),
    "mse mean": lambda lib, x: nn(lib).mse_loss(x, x.detach() * 2),
    "l1": lambda lib, x: nn(lib).l1_loss(x, x.detach() * 2, reduction="none"),
    "bce": lambda lib, x: nn(lib).binary_cross_entropy(x.sigmoid(), x.detach().sigmoid(), reduction="none"),
    "fft": lambda lib, x: lib.fft.fft(x, dim=1) if x.numel() else x * 1,
    "out": lambda lib, x: lib.exp(x.detach(), out=lib.empty(0, dtype=x.dtype)),
    "out of cat": lambda lib, x: lib.cat([x.detach(), x.detach()], out=lib.empty(0, dtype=x.dtype)),
    "out of stack": lambda lib, x: lib.stack([x.detach(), x.detach()], out=lib.empty(0, dtype=x.dtype)),
    "out of the right shape": lambda lib, x: lib.exp(x.detach(), out=lib.zeros(x.shape, dtype=x.dtype)),
}
MATRIX_OPS = {
    "mm": lambda lib, x: x.reshape(-1, x.shape[-1]).mm(x.detach().reshape(-1, x.shape[-1]).t()),
    "bmm": lambda lib, x: x @ x.detach(),
    "inv": lambda lib, x: lib.linalg.inv(definite(lib, x)),
    "solve": lambda lib, x: lib.linalg.solve(definite(lib, x.detach()), x),
    "solve from the right": lambda lib, x: lib.linalg.solve(definite(lib, x.detach()), x, left=False),
    "solve vectors": lambda lib, x: lib.linalg.solve(definite(lib, x.detach()), x[..., 0]),
    "solve_ex": lambda lib, x: lib.linalg.solve_ex(definite(lib, x.detach()), x)[0],
    "cholesky": lambda lib, x: lib.linalg.cholesky(definite(lib, x)),
    "upper cholesky": lambda lib, x: lib.linalg.cholesky(definite(lib, x), upper=True),
    "cholesky_solve": lambda lib, x: lib.cholesky_solve(x.detach(), definite(lib, x.detach())),
    "cholesky_inverse": lambda lib, x: lib.cholesky_inverse(definite(lib, x.detach())),
    "qr": lambda lib, x: lib.linalg.qr(definite(lib, x)),
    "complete qr": lambda lib, x: lib.linalg.qr(definite(lib, x.detach())[..., :2].contiguous(), "complete"),
    "svd": lambda lib, x: lib.linalg.svd(definite(lib, x.detach())),
    "reduced svd": lambda lib, x: lib.linalg.svd(definite(lib, x.detach())[..., :2], full_matrices=False),
    "torch.svd": lambda lib, x: lib.svd(definite(lib, x.detach())),
    "eigh": lambda lib, x: lib.linalg.eigh(definite(lib, x.detach())),
    "eig": lambda lib, x: lib.linalg.eig(definite(lib, x.detach())),
    "lu": lambda lib, x: lib.linalg.lu(definite(lib, x.detach())),
    "lu_factor": lambda lib, x: lib.linalg.lu_factor(definite(lib, x)),
    "lu_solve": lambda lib, x: lib.linalg.lu_solve(
        *lib.linalg.lu_factor(definite(lib, x.detach())), x.detach(), adjoint=True
    ),
    "ldl": lambda lib, x: lib.linalg.ldl_factor(definite(lib, x.detach())),
    "lstsq": lambda lib, x: lib.linalg.lstsq(definite(lib, x.detach())[..., :2].contiguous(), x.detach())[0],
    "solve_triangular": lambda lib, x: lib.linalg.solve_triangular(definite(lib, x.detach()), x, upper=True),
    "triangular_solve": lambda lib, x: lib.triangular_solve(x.detach(), definite(lib, x.detach())),
    "geqrf": lambda lib, x: lib.geqrf(definite(lib, x.detach())),
    "householder": lambda lib, x: lib.linalg.householder_product(
        definite(lib, x.detach()), x.detach()[..., 0].contiguous()
    ),
    "ormqr": lambda lib, x: lib.ormqr(definite(lib, x.detach()), x.detach()[..., 0].contiguous(), x.detach()),
    "matrix_exp": lambda lib, x: lib.linalg.matrix_exp(x),
    "matrix_power": lambda lib, x: lib.linalg.matrix_power(x, 1),
    "out of inv": lambda lib, x: lib.linalg.inv(definite(lib, x.detach()), out=lib.empty(0, dtype=x.dtype)),
}
# recorded from PyTorch 2.13: op, layout: strides of the results, then of the gradients for three cotangents
RECORDED = {
    ("neg", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("neg", "one channel"): [(20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("add number", "transposed"): [(60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("add number", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("add number", "one channel"): [(20, 1, 5, 1), (20, 1, 5, 1), (20, 20, 5, 1), (0, 0, 0, 0)],
    ("rsub", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("pow", "part of channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 1, 15, 3)],
    ("2 **", "permuted"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("clamp", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("compare", "transposed"): [(60, 20, 1, 4)],
    ("to", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("clone", "part of channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("clone", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("clone", "one channel"): [(20, 1, 5, 1), (20, 1, 5, 1), (20, 20, 5, 1), (0, 0, 0, 0)],
    ("contiguous", "permuted"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("like", "channels_last"): [(60, 1, 15, 3)],
    ("add contiguous", "transposed"): [(60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("contiguous add", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("broadcast", "part of channels_last"): [(120, 60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("0-dim", "permuted"): [(5, 40, 10, 1), (5, 40, 10, 1), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("lerp", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("where", "transposed"): [(60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 1, 4)],
    ("masked_fill", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("erf", "part of channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("relu", "permuted"): [(5, 40, 10, 1), (5, 40, 10, 1), (5, 40, 10, 1), (5, 40, 10, 1)],
    ("relu", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("relu", "one channel"): [(20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("leaky_relu", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("gelu", "transposed"): [(60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 5, 1), (60, 20, 1, 4)],
    ("logsigmoid", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("rrelu", "part of channels_last"): [(60, 20, 5, 1), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("polar", "channels_last"): [(60, 1, 15, 3), (120, 2, 30, 6), (120, 40, 10, 2), (120, 40, 10, 2)],
    ("cat", "transposed"): [(120, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("cat", "channels_last"): [(120, 1, 30, 6), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("cat", "one channel"): [(40, 1, 10, 2), (20, 1, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("cat mixed", "sliced"): [(120, 40, 5, 1), (120, 40, 5, 1), (120, 40, 5, 1), (0, 0, 0, 0)],
    ("stack", "part of channels_last"): [(120, 3, 1, 30, 6), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("stack", "channels_last"): [(120, 3, 1, 30, 6), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("stack", "one channel"): [(40, 1, 40, 10, 2), (20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("stack last", "permuted"): [(120, 40, 10, 2, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("flip", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("flip", "one channel"): [(20, 1, 5, 1), (20, 1, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("roll", "transposed"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("roll", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("roll", "one channel"): [(20, 1, 5, 1), (20, 1, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("roll all", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("rot90", "part of channels_last"): [(60, 1, 3, 15), (60, 1, 15, 3), (60, 20, 1, 4), (60, 20, 1, 4)],
    ("tile", "permuted"): [(120, 40, 10, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("repeat", "channels_last"): [(180, 60, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("sum", "transposed"): [(20, 5, 1), (20, 0, 5, 1), (20, 0, 5, 1), (0, 0, 0, 0)],
    ("sum", "channels_last"): [(20, 5, 1), (20, 0, 5, 1), (20, 0, 5, 1), (0, 0, 0, 0)],
    ("sum", "one channel"): [(20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (0, 0, 0, 0)],
    ("mean", "sliced"): [(3, 1, 1, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("amax", "part of channels_last"): [(15, 5, 1), (60, 5, 15, 1), (60, 5, 15, 1), (60, 5, 15, 1)],
    ("max", "permuted"): [(12, 4, 1), (12, 4, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("max of all", "channels_last"): [(), (0, 20, 5, 1), (0, 20, 5, 1), (0, 20, 5, 1)],
    ("var", "transposed"): [(5, 1), (60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 1, 4)],
    ("norm", "sliced"): [(15, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("logsumexp", "part of channels_last"): [(20, 5, 1), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("softmax", "permuted"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("cumsum", "channels_last"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("sort", "transposed"): [(60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("sort", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("sort", "one channel"): [(20, 1, 5, 1), (20, 1, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("topk", "sliced"): [(12, 4, 1, 1), (12, 4, 1, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("argsort", "part of channels_last"): [(60, 1, 15, 3)],
    ("index", "channels_last"): [(40, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("index", "one channel"): [(40, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1), (20, 20, 5, 1)],
    ("index two", "transposed"): [(8, 4, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("mask", "sliced"): [(1,), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("index_select", "part of channels_last"): [(12, 4, 1, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("gather", "permuted"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("take", "channels_last"): [(1,), (60, 1, 15, 3), (60, 1, 15, 3), (60, 1, 15, 3)],
    ("masked_select", "transposed"): [(1,), (60, 20, 1, 4), (60, 20, 1, 4), (60, 20, 1, 4)],
    ("scatter", "sliced"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("index_fill", "part of channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("index_add", "permuted"): [(60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("nonzero", "channels_last"): [(1, 120)],
    ("unique", "transposed"): [(15, 5, 30, 1)],
    ("select_scatter", "sliced"): [(120, 40, 10, 2), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("unfold", "part of channels_last"): [(60, 1, 15, 3, 3), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("ravel", "permuted"): [(1,), (60, 20, 5, 1), (60, 20, 5, 1), (0, 0, 0, 0)],
    ("pixel_shuffle", "channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("mse", "transposed"): [(60, 20, 1, 4), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("mse mean", "sliced"): [(), (60, 20, 5, 1), (60, 20, 5, 1), (60, 20, 5, 1)],
    ("l1", "part of channels_last"): [(60, 1, 15, 3), (60, 1, 15, 3), (60, 20, 5, 1), (60, 1, 15, 3)],
    ("bce", "permuted"): [(5, 40, 10, 1), (5, 40, 10, 1), (5, 40, 10, 1), (5, 40, 10, 1)],
    ("out", "transposed"): [(60, 20, 1, 4)],
    ("out", "channels_last"): [(60, 1, 15, 3)],
    ("out", "one channel"): [(20, 20, 5, 1)],
    ("out of cat", "sliced"): [(60, 20, 5, 1)],
    ("out of stack", "part of channels_last"): [(120, 60, 20, 5, 1)],
    ("out of the right shape", "permuted"): [(60, 20, 5, 1)],
    ("mm", "contiguous"): [(4, 1), (4, 1), (4, 1), (4, 1)],
    ("bmm", "batch"): [(16, 4, 1), (16, 4, 1), (16, 4, 1), (16, 4, 1)],
    ("inv", "contiguous"): [(1, 4), (4, 1), (4, 1), (4, 1)],
    ("solve", "batch by columns"): [(16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4)],
    ("solve from the right", "contiguous"): [(4, 1), (4, 1), (4, 1), (4, 1)],
    ("solve vectors", "batch"): [(1, 2), (16, 4, 1), (16, 4, 1), (16, 4, 1)],
    ("solve_ex", "batch"): [(16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4)],
    ("cholesky", "batch"): [(16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4)],
    ("upper cholesky", "contiguous"): [(1, 4), (1, 4), (1, 4), (1, 4)],
    ("cholesky_solve", "by columns"): [(1, 4)],
    ("cholesky_inverse", "contiguous"): [(1, 4)],
    ("qr", "batch"): [(16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4)],
    ("complete qr", "contiguous"): [(1, 4), (1, 4)],
    ("svd", "batch"): [(16, 1, 4), (4, 1), (16, 1, 4)],
    ("reduced svd", "contiguous"): [(1, 4), (1,), (1, 2)],
    ("torch.svd", "batch by columns"): [(16, 1, 4), (4, 1), (16, 4, 1)],
    ("eigh", "contiguous"): [(1,), (1, 4)],
    ("eig", "batch"): [(4, 1), (16, 1, 4)],
    ("lu", "batch"): [(16, 4, 1), (16, 4, 1), (16, 4, 1)],
    ("lu_factor", "batch"): [(16, 1, 4), (4, 1), (16, 4, 1), (16, 4, 1), (16, 4, 1)],
    ("lu_solve", "contiguous"): [(1, 4)],
    ("ldl", "by columns"): [(1, 4), (1,)],
    ("lstsq", "contiguous"): [(1, 4)],
    ("solve_triangular", "batch"): [(16, 1, 4), (16, 1, 4), (16, 1, 4), (16, 1, 4)],
    ("triangular_solve", "contiguous"): [(1, 4), (1, 4)],
    ("geqrf", "batch"): [(16, 1, 4), (4, 1)],
    ("householder", "contiguous"): [(1, 4)],
    ("ormqr", "batch by columns"): [(16, 1, 4)],
    ("matrix_power", "batch"): [(16, 4, 1), (16, 4, 1), (16, 4, 1), (0, 0, 0)],
    ("out of inv", "batch"): [(16, 1, 4)],
}


# gradients whose layout differs: for an expanded cotangent, of parts of complex numbers,
# of empty tensors and dims of one element, and of 2-d matmul,
# which keeps no strides of an operand whose values it does not need
RESULTS_ONLY = {
    ("complex", None),
    ("renorm", None),
    ("fft", None),
    ("matrix_exp", None),
    ("logsigmoid", "empty"),
    ("amax", "one channel"),
    ("amax", "empty"),
    ("cumsum", "one pixel"),
    ("cumsum", "empty"),
    ("pixel_shuffle", "empty"),
    ("bmm", "by columns"),
}


def strides(lib, call, shape, step, gradient=True):
    """Strides of all results, and of x's gradient for a cotangent like the result, contiguous, and expanded."""
    x = make(lib, shape, step, gradient)
    out = call(lib, x)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    got = [tuple(o.stride()) for o in outs]
    tracked = [o for o in outs if o.requires_grad]
    cotangents = (
        lib.ones_like,
        lambda o: lib.ones(o.shape, dtype=o.dtype),
        lambda o: lib.ones((), dtype=o.dtype).expand(o.shape),
    )
    for cotangent in cotangents if tracked else ():
        (g,) = lib.autograd.grad(tracked, x, [cotangent(o) for o in tracked], retain_graph=True, allow_unused=True)
        got.append(g if g is None else tuple(g.stride()))
    return got


@pytest.mark.parametrize("op, layout", sorted(RECORDED))
def test_as_recorded(op, layout):
    call, where = (OPS[op], LAYOUTS) if op in OPS else (MATRIX_OPS[op], MATRICES)
    assert strides(torchlite, call, *where[layout]) == RECORDED[op, layout]


@pytest.mark.parametrize("op", [*OPS, *MATRIX_OPS])
def test_as_pytorch(op):
    torch = pytest.importorskip("torch")
    if torch is torchlite:
        pytest.skip("PyTorch is not installed")
    call, where = (OPS[op], LAYOUTS) if op in OPS else (MATRIX_OPS[op], MATRICES)
    for name, (shape, step) in where.items():
        gradient = not {(op, None), (op, name)} & RESULTS_ONLY
        want = strides(torch, call, shape, step, gradient)
        assert strides(torchlite, call, shape, step, gradient) == want, name
