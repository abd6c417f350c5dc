"""Bodies of ops that move, select, join, pad, pool and reduce beside their kernels: values, dtypes, shapes, strides."""

import warnings

import pytest
import torchlite as torch
from declared import Maker, ident, load_all, tensors
from torchlite.ops import specs

from torchlite import _C

load_all()
SPECS = {ident(s): s for s in specs}
DTYPES = [torch.float64, torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex128]


def i(*values):
    return torch.tensor(values, dtype=torch.int64)


def b(*values):
    return torch.tensor(values, dtype=torch.bool)


def nans(t):
    """Three rows, with NaN in two of them where the dtype has it."""
    x = t(3, 4)
    if x.dtype.is_floating_point:
        x[0, 1] = x[0, 3] = x[2, 0] = float("nan")
    return x


def distinct(t):
    """Numbers of which no two are the same, where the dtype has as many."""
    return torch.arange(12).mul(5).remainder(12).reshape(3, 4).to(t.dtype)


def is_inexact(dtype):
    return dtype.is_floating_point or dtype.is_complex


def matrix(t, *shape):
    """Square matrices that can be inverted."""
    return t(*shape, shape[-1]) + 4 * torch.eye(shape[-1], dtype=t.dtype)


def ordered(t):
    """Rows and the order that sorts them."""
    x = t(3, 4)
    return x, x.real.sort()[1]


SIZE = (5, 7, 6)


def holes(t, *shape):
    """With NaN and infinities where the dtype has them."""
    x = t(*shape)
    if x.dtype.is_floating_point:
        flat = x.view(-1)
        flat[::7], flat[3::11], flat[5::6] = float("-inf"), float("nan"), float("inf")
        flat[1::17] = flat[2::17] = float("nan")
    return x


inf = float("inf")
FLAGS = [(False, False), (True, False), (False, True), (True, True)]

# op -> the arguments of calls, as the body gets them; t(*shape) makes a tensor of the dtype at hand
CASES = {
    # views
    "transpose.int": lambda t: [(t(2, 3, 4), 0, -1), (t(0, 3), 0, 1), (t(), 0, -1)],
    "permute": lambda t: [(t(2, 3, 4), (2, -3, 1)), (t(2, 0), (1, 0)), (t(), ())],
    "expand": lambda t: [
        (t(3, 1), (2, 3, 4), False),
        (t(3), (1, 5, -1), False),
        (t(), (2, 1), False),
        (t(1, 0), (4, 0), False),
        (t(2, 1)[1:], (1, 1, 3), False),
    ],
    "squeeze": lambda t: [(t(1, 3, 1),), (t(),), (t(1, 0),), (t(4, 1, 3)[1:, :, 1:],)],
    "squeeze.dim": lambda t: [(t(1, 3, 1), 0), (t(1, 3, 1), (0, -1)), (t(2, 3), 1), (t(), 0), (t(1, 0), (0, 1))],
    "unsqueeze": lambda t: [(t(2, 3), 1), (t(2, 3), -1), (t(), 0), (t(2, 0), 0), (t(4, 6)[1::2, ::3], 2)],
    "select.int": lambda t: [(t(2, 3), 1, -1), (t(4, 3)[1:], -2, 2), (t(2, 0), 0, 1)],
    "slice.Tensor": lambda t: [
        (t(5, 3), 0, 1, 4, 2),
        (t(5, 3), -1, -2, None, 1),
        (t(5, 3), 0, 4, 2, 1),
        (t(5, 3), 0, None, -9, 3),
        (t(5, 3), 0, 7, 9, 1),
        (t(6)[1:], 0, 1, 100, 2),
    ],
    "unfold": lambda t: [(t(7, 2), 0, 3, 2), (t(2, 7)[:, 1:], -1, 6, 1), (t(), 0, 1, 1), (t(3), 0, 0, 1)],
    "diagonal": lambda t: [
        (t(3, 4), 1, 0, 1),
        (t(2, 3, 4), -1, 2, 0),
        (t(3, 4)[1:], 0, -1, -2),
        (t(3, 4), 7, 0, 1),
        (t(0, 4), 0, 0, 1),
    ],
    "alias": lambda t: [(t(3, 4)[1:].t(),), (t(),)],
    # creation
    "zeros": lambda t: [((2, 0), t.dtype, None, None, None, False), ((), None, None, None, None, False)],
    "ones": lambda t: [((2, 3), t.dtype, None, None, None, False), ((), None, None, None, None, False)],
    "arange": lambda t: [
        (5, t.dtype, None, None, None, False),
        (2.5, None, None, None, None, False),
        (0,) + (None,) * 5,
    ],
    "arange.start": lambda t: [(2, 5, t.dtype, None, None, None, False), (-1, 1.5, None, None, None, None, False)],
    "eye": lambda t: [(3, t.dtype, None, None, None, False), (0, None, None, None, None, False)],
    "eye.m": lambda t: [(3, 2, t.dtype, None, None, None, False), (2, 0, None, None, None, None, False)],
    "_tri_indices_lower": lambda t: [(3, 4, 0), (4, 3, -2), (3, 3, 9), (0, 3, 0), (1, 1, 0), (3, 3, -5)],
    "_tri_indices_upper": lambda t: [(3, 4, 0), (4, 3, 2), (3, 3, -9), (0, 3, 0), (1, 1, 0), (3, 3, 5)],
    # joining
    "stack": lambda t: [
        ([t(2, 3), t(2, 3)], 1),
        ([t(2)], -1),
        ([t(), t()], 0),
        ([t(0), t(0)], 0),
        ([t(2), i(1, 2)], 0),
    ],
    "flip": lambda t: [(t(2, 3), (0, 1)), (t(2, 3), ()), (t(2, 0), (1,)), (t(), ()), (t(2, 3, 2), (-1,)), (t(), (0,))],
    "roll": lambda t: [
        (t(2, 3), 1, ()),
        (t(2, 3), (1, -4), (0, 1)),
        (t(2, 0), (2,), (1,)),
        (t(2, 3), (1, 1), (1, 1)),
        (t(), (1,), ()),
    ],
    "repeat": lambda t: [(t(2, 3), (2, 1)), (t(3), (2, 2)), (t(), (2,)), (t(2), (0,)), (t(2, 0), (2, 2)), (t(), ())],
    "repeat_interleave.Tensor": lambda t: [
        (i(2, 0, 3), None),
        (i(1, 1), 2),
        (i(), None),
        (torch.tensor([1, 2], dtype=torch.int32), None),
    ],
    "tril": lambda t: [(t(3, 4), 0), (t(2, 3, 3), -1), (t(0, 3), 0), (t(3, 2), 5), (t(3, 2), -5)],
    "triu": lambda t: [(t(3, 4), 0), (t(2, 3, 3), 1), (t(0, 3), 0), (t(3, 2), 5), (t(3, 2), -5)],
    "diag_embed": lambda t: [
        (t(2, 3), 0, -2, -1),
        (t(3), -1, 0, 1),
        (t(2, 3), 2, 0, 2),
        (t(0), 1, 0, 1),
        (t(2, 2), 0, 1, 0),
    ],
    # products
    "mm": lambda t: [(t(3, 4), t(4, 2)), (t(0, 4), t(4, 2)), (t(3, 0), t(0, 2)), (t(4, 3).t(), t(2, 4).t())],
    "mv": lambda t: [(t(3, 4), t(4)), (t(3, 0), t(0)), (t(4, 3).t(), t(4))],
    "dot": lambda t: [(t(5), t(5)), (t(0), t(0))],
    "vdot": lambda t: [(t(5), t(5)), (t(0), t(0))],
    "matmul": lambda t: [
        (t(3, 4), t(4, 5)),
        (t(4), t(4)),
        (t(2, 3, 4), t(4)),
        (t(4), t(2, 4, 3)),
        (t(4), t(4, 3)),
        (t(2, 1, 3, 4), t(5, 4, 2)),
        (t(2, 3, 4), t(4, 5)),
        (t(2, 3, 0), t(0, 5)),
        (t(0, 3, 4), t(4, 5)),
    ],
    "addmm": lambda t: [
        (t(3, 5), t(3, 4), t(4, 5), 1, 1),
        (t(5), t(3, 4), t(4, 5), 3, 2),
        (t(1), t(3, 0), t(0, 2), 0, 2),
    ],
    "addmv": lambda t: [(t(3), t(3, 4), t(4), 1, 1), (t(3), t(3, 4), t(4), 2, 3), (t(), t(3, 0), t(0), 2, 1)],
    "baddbmm": lambda t: [
        (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5), 1, 1),
        (t(3, 5), t(2, 3, 4), t(2, 4, 5), 2, 3),
        (t(1), t(2, 3, 0), t(2, 0, 2), 0, 1),
    ],
    "linear": lambda t: [
        (t(3, 4), t(5, 4), t(5)),
        (t(2, 3, 4), t(5, 4), None),
        (t(4), t(5, 4), t(5)),
        (t(0, 4), t(5, 4), None),
    ],
    # reductions
    "any": lambda t: [(t(3, 4),), (t(0),), (t(),), (nans(t),)],
    "any.dim": lambda t: [(t(3, 4), 0, False), (t(3, 4), -1, True), (t(0, 3), 0, False), (t(), 0, False)],
    "all": lambda t: [(t(3, 4),), (t(0),), (t(),), (nans(t),)],
    "all.dim": lambda t: [(t(3, 4), 0, False), (t(3, 4), -1, True), (t(0, 3), 0, False), (t(), 0, False)],
    "max": lambda t: [(t(3, 4),), (t(),), (nans(t),)],
    "min": lambda t: [(t(3, 4),), (t(),), (nans(t),)],
    "max.dim": lambda t: [
        (t(3, 4), 0, False),
        (nans(t), -1, True),
        (t(), 0, False),
        (t(0, 3), 1, False),
        (t(2, 9), 1, False),
    ],
    "min.dim": lambda t: [
        (t(3, 4), 0, False),
        (nans(t), -1, True),
        (t(), 0, True),
        (t(0, 3), 1, False),
        (t(2, 9), 1, False),
    ],
    "amin": lambda t: [
        (t(3, 4), (), False),
        (t(3, 4, 2), (0, 2), True),
        (nans(t), (1,), False),
        (t(0, 3), (1,), False),
    ],
    "aminmax": lambda t: [(t(3, 4), None, False), (nans(t), 0, False), (t(3, 4), 1, True), (t(), None, False)],
    "argmax": lambda t: [
        (t(3, 4), None, False),
        (nans(t), 1, True),
        (t(), None, False),
        (t(2, 9), 1, False),
        (nans(t), None, True),
    ],
    "argmin": lambda t: [
        (t(3, 4), None, False),
        (nans(t), 1, True),
        (t(), 0, False),
        (t(2, 9), 1, False),
        (nans(t), None, True),
    ],
    # rows
    "embedding": lambda t: [(t(5, 3), i(0, 4, 4), -1, False, False), (t(5, 3), i().reshape(2, 0), -1, False, False)],
    "embedding_dense_backward": lambda t: [
        (t(4, 3), i(0, 2, 2, 1), 5, -1, False),
        (t(2, 2, 3), i(0, 2, 2, 1).reshape(2, 2), 4, 2, True),
        (t(0, 3), i(), 4, -1, False),
    ],
    "one_hot": lambda t: [(i(0, 2, 1), -1), (i(0, 2, 1).reshape(3, 1), 5), (i(), 3)],
    # indices
    "scatter.src": lambda t: [
        (t(3, 4), 0, i(0, 1, 2, 0).reshape(1, 4), t(2, 4)),
        (t(3), -1, i(1, 0), t(2)),
        (t(), 0, i(0), t(1)),
        (t(2, 3), 1, i().reshape(2, 0), t(2, 3)),
    ],
    "scatter.value": lambda t: [(t(3, 4), 1, i(0, 2).reshape(2, 1), 1), (t(), 0, i(0).reshape(()), 1)],
    "scatter.reduce": lambda t: [
        (t(3, 4), 0, i(0, 1, 1, 0, 1, 0, 1, 0).reshape(2, 4), t(2, 4), "add"),
        (t(3, 4), 0, i(0, 1, 1, 0, 0, 0, 1, 0).reshape(2, 4), t(2, 4), "multiply"),
        (t(3), 0, i(1, 1), 1, "add"),
        (t(3), 0, i(1, 1, 2), 2, "multiply"),
    ],
    "scatter_add": lambda t: [(t(3, 4), 0, i(0, 1, 2, 0, 0, 1, 1, 0).reshape(2, 4), t(2, 4)), (t(), 0, i(0), t(1))],
    "index_select": lambda t: [
        (t(3, 4), 0, i(2, 0, 2)),
        (t(3, 4), -1, i(1)),
        (t(3, 4), 0, i()),
        (t(), 0, i(0)),
        (t(3, 4), 1, i(2).reshape(())),
        (t(0, 3), 1, torch.tensor([1, 1], dtype=torch.int32)),
    ],
    "index_copy": lambda t: [(t(3, 4), 0, i(2, 0), t(2, 4)), (t(3, 4), -1, i(), t(3, 0)), (t(), 0, i(0), t())],
    "index_fill.int_Scalar": lambda t: [
        (t(3, 4), 0, i(2, 0), 1),
        (t(3, 4), 1, i(-1), t()),
        (t(), 0, i(0), 1),
        (t(3), 0, i(), 1),
    ],
    "index_reduce": lambda t: [
        (t(3, 4), 0, i(2, 0, 2), t(3, 4), r, include)
        for r in ("prod", "mean", "amax", "amin")
        for include in (True, False)
    ],
    "masked_fill.Scalar": lambda t: [
        (t(3, 4), b(True, False, True, False), 1),
        (t(3, 1), b(True, False), t()),
        (t(2, 2), b(True, False, False, True).reshape(2, 2), t()),
        (t(), b(True).reshape(()), 1),
        (t(0, 3), b(True, True, False), 1),
    ],
    "masked_select": lambda t: [
        (t(3, 4), b(True, False, True, False)),
        (t(3, 1), b(True, False)),
        (t(), b(True).reshape(())),
        (t(0, 3), b(True, True, False)),
    ],
    "masked_scatter": lambda t: [
        (t(3, 4), b(True, False, True, False), t(12)),
        (t(3), b(False, False, False), t(0)),
        (t(2, 3), b(True, True, False, False, True, True).reshape(2, 3), t(2, 2)),
    ],
    "nonzero_numpy": lambda t: [(t(3, 4),), (t(),), (t(0, 3),), (b(True, False, True),)],
    "take": lambda t: [(t(3, 4), i(0, 11, -1, 3).reshape(2, 2)), (t(3), i()), (t(3, 2).t(), i(1).reshape(()))],
    "put": lambda t: [
        (t(3, 4), i(0, 11, -2), t(3), False),
        (t(3, 4), i(1, 1), t(2), True),
        (t(), i(0), t(1), False),
        (t(3), i(), t(0), False),
    ],
    # padding
    "constant_pad_nd": lambda t: [
        (t(2, 3), (1, 2), 1),
        (t(2, 3), (-1, 1, 0, 2), 0),
        (t(0, 3), (1, 1, 2, 0), 1),
        (t(2, 5), (-2, -3), 1),
        (t(2, 3, 4), (), 0),
    ],
    "_pad_reflect": lambda t: [(t(2, 3, 4), (3, 2)), (t(2, 3, 4), (-1, 2, 1, 0)), (t(0, 3, 4), (1, 2))],
    "_pad_replicate": lambda t: [(t(2, 3, 4), (5, 2)), (t(2, 3, 4), (-1, 2, 1, 0)), (t(0, 3, 4), (1, 2))],
    "_pad_wrap": lambda t: [(t(2, 3, 4), (4, 2)), (t(2, 3, 4), (-1, 2, 1, 0)), (t(0, 3, 4), (1, 2))],
    "_pad_reflect_backward": lambda t: [
        (t(2, 3, 9), (3, 2), (2, 3, 4), False),
        (t(1, 2, 4, 5), (-1, 2, 1, 0), (1, 2, 3, 4), True),
    ],
    "_pad_replicate_backward": lambda t: [
        (t(2, 3, 9), (3, 2), (2, 3, 4), False),
        (t(1, 2, 4, 5), (-1, 2, 1, 0), (1, 2, 3, 4), True),
    ],
    "_pad_wrap_backward": lambda t: [
        (t(2, 3, 9), (3, 2), (2, 3, 4), False),
        (t(1, 2, 4, 5), (-1, 2, 1, 0), (1, 2, 3, 4), True),
    ],
    # order
    "median": lambda t: [(t(3, 4),), (t(5),), (t(0),), (t(),), (nans(t),), (nans(t)[1],)],
    "nanmedian": lambda t: [(t(3, 4),), (t(0),), (nans(t),), (nans(t)[0, 1::2],)],
    "median.dim": lambda t: [
        (t(3, 4), 0, False),
        (nans(t), 1, True),
        (nans(t), 0, False),
        (t(), 0, False),
        (t(2, 19), -1, False),
    ],
    "nanmedian.dim": lambda t: [
        (t(3, 4), 0, False),
        (nans(t), 1, True),
        (nans(t), 0, False),
        (t(), 0, True),
        (nans(t)[:, 1:2], 1, False),
    ],
    "linalg_vector_norm": lambda t: [
        *((nans(t), p, 0, False, None) for p in (0, 1, 2, 3, -2, 0.5, inf, -inf)),
        *((t(2, 3, 4), p, (0, 2), True, None) for p in (0, 2, inf)),
        (t(0, 3), 2, None, False, None),
        (t(3, 4), 1.5, None, True, torch.float64),
        (t(), 2, None, False, None),
    ],
    "_unique2": lambda t: [
        (a(t), True, *flags) for flags in FLAGS for a in (nans, lambda t: t(2, 9), lambda t: t(0), lambda t: t())
    ],
    "_unique_consecutive": lambda t: [
        *((a(t), *flags, None) for flags in FLAGS for a in (nans, lambda t: t(2, 9), lambda t: t(0), lambda t: t())),
        (t(9, 1), True, True, 0),
        (torch.stack([t(3, 2)] * 2, 2), True, True, -1),
        (t(0, 3), True, True, 0),
    ],
    "bucketize.Tensor": lambda t: [
        (t(3, 4), i(-1, 0, 0, 1), False, False),
        (t(3, 4), i(-1, 0, 0, 1), True, True),
        (t(0), t(0), False, False),
    ],
    "histc": lambda t: [
        (t(3, 4), 5, 0, 0),
        (t(3, 4), 7, -1, 1),
        (t(0), 3, 0, 0),
        (t(1), 3, 0, 0),
        (t(60), 9, 0, 2.5),
        (t(50), 4, 2, 2),
    ],
    "bincount": lambda t: [
        (i(1, 5, 1), None, 0),
        (i(1, 5, 1).to(torch.uint8), t(3), 9),
        (i(), None, 4),
        (i(), t(0), 4),
    ],
    # pooling
    **{
        f"max_pool{n}d_with_indices": lambda t, n=n: [
            (holes(t, 2, 3, *SIZE[-n:]), (2,), (), (0,), (1,), False),
            (holes(t, 3, *SIZE[-n:]), (3,), (2,), (1,), (1,), True),
            (t(1, 1, *SIZE[-n:]), (2,), (3,), (1,), (2,), True),
            (t(0, 2, *SIZE[-n:]), (2,), (1,), (0,), (1,), False),
        ]
        for n in (1, 2, 3)
    },
    **{
        f"avg_pool{n}d": lambda t, n=n: [
            (holes(t, 2, 3, *SIZE[-n:]), (2,), (), (0,), False, True, *[None] * (n > 1)),
            (t(3, *SIZE[-n:]), (3,), (2,), (1,), True, False, *[None] * (n > 1)),
            (t(3, *SIZE[-n:]), (3,), (2,), (1,), True, True, *[7] * (n > 1)),
            (t(0, 2, *SIZE[-n:]), (2,), (1,), (0,), False, True, *[None] * (n > 1)),
        ]
        for n in (1, 2, 3)
    },
    **{
        f"_adaptive_{kind}_pool{n}d": lambda t, n=n: [
            (holes(t, 2, 3, *SIZE[-n:]), (3, 4, 2)[:n]),
            (t(3, *SIZE[-n:]), (1, 9, 5)[:n]),
            (t(0, 2, *SIZE[-n:]), (2,) * n),
        ]
        for n in (1, 2, 3)
        for kind in ("avg", "max")
    },
    "_max_pool_backward": lambda t: [
        (t(2, 3, 2), i(*[0, 5, 5, 1, 6, 6] * 2).reshape(2, 3, 2), (2, 3, 7), 1, None, False),
        (t(1, 2, 2, 2), i(*[0, 5, 5, 1, 6, 6, 2, 0]).reshape(1, 2, 2, 2), (1, 2, 3, 4), 2, (), True),
    ],
    "_avg_pool_backward": lambda t: [
        (t(2, 3, 3), (2, 3, 7), (3,), (2,), (0,), False, True, None, False),
        (t(1, 2, 4, 3), (1, 2, 7, 5), (2, 3), (2, 2), (1, 1), True, False, None, True),
        (t(1, 2, 4, 3), (1, 2, 7, 5), (2, 3), (2, 2), (1, 1), True, True, 5, False),
    ],
    "_adaptive_avg_pool_backward": lambda t: [
        (t(2, 3, 3), (2, 3, 7), 1, False),
        (t(1, 2, 4, 3), (1, 2, 7, 5), 2, True),
        (t(2, 2, 1, 4), (2, 2, 3, 2), 3, False),
    ],
    # one slice after the other
    "sum": lambda t: [(t(3, 4), None), (t(0, 3), None), (t(), None), (t(2, 3), torch.float64)],
    "sum.dim_IntList": lambda t: [
        (t(3, 4), (0,), False, None),
        (t(2, 3, 4), (0, -1), True, None),
        (t(0, 3), (0,), False, None),
        (t(2, 3), None, True, None),
        (t(), (0,), False, None),
    ],
    "prod": lambda t: [(t(3, 4), None), (t(0, 3), None), (t(), None)],
    "prod.dim_int": lambda t: [(t(3, 4), 0, False, None), (t(3, 4), -1, True, None), (t(0, 3), 0, False, None)],
    "amax": lambda t: [
        (t(3, 4), (), False),
        (t(3, 4, 2), (0, 2), True),
        (nans(t), (1,), False),
        (t(0, 3), (1,), False),
    ],
    **{
        name: lambda t: [(t(3, 4), 0, None), (t(3, 4), -1, None), (t(), 0, None), (t(0, 3), 1, None)]
        for name in ("cumsum", "cumprod")
    },
    **{
        name: lambda t: [(t(2, 9), 1), (nans(t), 1), (nans(t), 0), (t(), 0), (t(0, 3), 1)]
        for name in ("cummax", "cummin")
    },
    "sort": lambda t: [
        (a, dim, down) for down in (False, True) for a, dim in ((t(2, 9), -1), (nans(t), 0), (t(), 0), (t(0, 3), 1))
    ],
    "kthvalue": lambda t: [(distinct(t), 2, 1, False), (distinct(t), 3, 0, True), (t(), 1, 0, False)],
    "topk": lambda t: [(distinct(t), 2, 0, True, True), (distinct(t), 3, -1, False, True), (t(), 1, 0, True, True)],
    "mode": lambda t: [(t(2, 9), 1, False), (t(3, 4), 1, True), (t(3, 4), 0, False), (t(), 0, False)],
    "searchsorted.Tensor": lambda t: [
        *((x, t(3, 2), True, True, None, sorter) for x, sorter in [ordered(t)]),
        *((x.gather(1, sorter), t(3, 2), False, False, None, None) for x, sorter in [ordered(t)]),
        *((x[1].gather(0, sorter[1]), holes(t, 2, 9), False, False, "right", None) for x, sorter in [ordered(t)]),
        (t(0), t(2), False, False, None, None),
    ],
    "unique_dim": lambda t: [
        (torch.stack([t(3, 2)] * 2, 1), dim, True, *flags) for flags in FLAGS for dim in (0, 1, -1)
    ],
    "nonzero": lambda t: [(t(3, 4),), (t(2, 3, 2),), (t(),), (t(0, 3),), (b(True, False, True),)],
    "cat": lambda t: [
        ([t(2, 3), t(1, 3)], 0),
        ([t(2, 3), t(2, 1), t(2, 0)], -1),
        ([t(0), t(2, 3)], 0),
        ([t(2), i(1, 2)], 0),
        ([t(1, 2, 3, 3), t(1, 1, 3, 3)], 1),
    ],
    "gather": lambda t: [
        (t(3, 4), 0, i(2, 0, 2, 1).reshape(1, 4), False),
        (t(3, 4), -1, i(3, 0, 2).reshape(3, 1), False),
        (t(3), 0, i(), False),
        (t(), 0, i(0), False),
        (t(3), 0, i(1).reshape(()), False),
    ],
    "scatter_reduce.two": lambda t: [
        (t(3, 4), 0, i(0, 1, 1, 0, 1, 0, 1, 0).reshape(2, 4), t(2, 4), r, include)
        for r in ("sum", "prod", "mean", "amax", "amin")
        for include in (True, False)
    ],
    "bmm": lambda t: [(t(2, 3, 4), t(2, 4, 5)), (t(2, 3, 0), t(2, 0, 5)), (t(0, 3, 4), t(0, 4, 5))],
    "full": lambda t: [
        ((2, 3), 1, t.dtype, None, None, None, False),
        *((shape, v) + (None,) * 4 + (False,) for shape, v in (((), True), ((2, 0), 2), ((2,), 1.5), ((2,), 1j))),
    ],
    "arange.start_step": lambda t: [
        (1, 9, 3, t.dtype, None, None, None, False),
        *(v + (None,) * 4 + (False,) for v in ((5, -2, -2), (0.5, 2, 0.25), (3, 3, 1))),
    ],
    "view_as_real": lambda t: [(t(3, 4),), (t(4, 6)[1::2, ::3],), (t(),), (t(0, 2),)],
    "view_as_complex": lambda t: [(t(3, 2),), (t(4, 6)[1::2, 2:4],), (t(2),), (t(0, 2),)],
    # matrices
    "_linalg_trsm": lambda t: (
        [(matrix(t, 3), t(3, 2), upper, unit) for upper, unit in FLAGS if is_inexact(t.dtype)]
        + [(matrix(t, 2, 2), t(2, 2, 3), True, False) for _ in range(is_inexact(t.dtype))]
    ),
    "_linalg_cholesky_lower": lambda t: [
        (a @ a.mH,) for shape in ((3,), (2, 3), (2, 0, 3)) for a in [matrix(t, *shape)] if is_inexact(t.dtype)
    ],
    "_linalg_householder": lambda t: [(t(4, 3), t(3)), (t(2, 3, 3), t(2, 2))] if is_inexact(t.dtype) else [],
    # random numbers
    "bernoulli_.Tensor": lambda t: [(t(5, 20), 0.3, None), (t(40), torch.linspace(0, 1, 40), None)],
    "exponential_": lambda t: [(t(5, 20), 1.5, None)],
    "geometric_": lambda t: [(t(5, 20), 0.3, None)],
    "cauchy_": lambda t: [(t(5, 20), 0.5, 2, None)],
    "rand": lambda t: [((3, 4), None, t.dtype, None, None, None, False)],
    "randn": lambda t: [((3, 9), None, t.dtype, None, None, None, False)],
    "random_.to": lambda t: [(t(5, 20), 100, None)],
    "randperm": lambda t: [(n, None, t.dtype, None, None, None, False) for n in (0, 1, 30)],
    "_rrelu_noise": lambda t: [(t(5, 20), 0.1, 0.4, None)] if t.dtype.is_floating_point else [],
}


def spec_of(name):
    found = [
        s
        for n, s in SPECS.items()
        if n.rpartition(" ")[2].rpartition("aten.")[2] == name or s.schemas[0].partition("(")[0] == name
    ]
    return next(s for s in found if s.kernel)


def turned(x):
    """The tensor with its memory in another order, at an offset."""
    if not isinstance(x, torch.Tensor) or not x.dim() or not x.numel():
        return x
    return torch.stack([x.transpose(0, -1)] * 2, 0)[1].transpose(0, -1)


def last(x):
    """Images and volumes with their channels last in memory."""
    if not isinstance(x, torch.Tensor) or x.dim() not in (4, 5):
        return x
    return x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def volume(x):
    """As last, for a volume without a batch."""
    return last(x.unsqueeze(0)).squeeze(0) if isinstance(x, torch.Tensor) and x.dim() == 4 else x


def layout(x):
    return [s for n, s in zip(x.shape, x.stride()) if n != 1] if x.numel() else []


def compare(spec, args, tol):
    """Whether the kernel takes the arguments; then the body gives the same, of the same random numbers."""
    changed = "(a!)" in spec.schemas[0]
    given = [a.clone() if changed and isinstance(a, torch.Tensor) else a for a in args]
    torch.manual_seed(5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = _C.call_inplace_below_autograd if changed else _C.call_below_autograd
            want = run(spec.overloads[0], tuple(given))
    except (RuntimeError, NotImplementedError, IndexError, TypeError):
        return False
    torch.manual_seed(5)
    got = spec.body(*args)
    assert type(want) is type(got) or isinstance(want, tuple), (type(want), type(got))
    assert len(tensors(got)) == len(tensors(want))
    for x, y in zip(tensors(got), tensors(want)):
        assert (x.dtype, x.shape, layout(x)) == (y.dtype, y.shape, layout(y)), args
        assert (
            torch.allclose(x, y, *tol, equal_nan=True)
            if x.dtype.is_floating_point or x.is_complex()
            else torch.equal(x, y)
        ), (args, x, y)
        if spec.view:
            assert x._is_view() or spec.name == "view_as_real"  # by view(dtype), which has no base
            assert x.untyped_storage().data_ptr() == args[0].untyped_storage().data_ptr()
            assert not y.numel() or x.storage_offset() == y.storage_offset()
    return True


@pytest.mark.parametrize("name", CASES)
def test_body(name):
    spec, taken = spec_of(name), 0
    for dtype in DTYPES:
        tol = (1e-5, 1e-6) if dtype is torch.float32 else (1e-12, 1e-12)
        for args in CASES[name](Maker(dtype)):
            taken += compare(spec, args, tol)
            for laid_out in (turned, last, volume):
                compare(spec, [laid_out(a) for a in args], tol)
    assert taken > 1
