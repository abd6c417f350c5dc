"""Calls that are right, as a start for wrong ones:
the samples of the declarations, and those of the ops that have none.

An op's own checks are only reached by arguments that nearly fit; random ones fall at the first check.
"""

from __future__ import annotations

import random

T, F = True, False


class Maker:
    """t(*shape, lo=-2, hi=2, dtype=None): what the samples of declarations take."""

    def __init__(self, torch, dtype, seed=0):
        self._torch, self._dtype, self._rng = torch, dtype, random.Random(seed)

    def __getattr__(self, name):
        return getattr(self._torch, name)

    def __call__(self, *shape, lo=-2, hi=2, dtype=None, requires_grad=False, **_):
        torch, rng = self._torch, self._rng
        dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype or self._dtype
        n = 1
        for s in shape:
            n *= s
        if dtype.is_floating_point or dtype.is_complex:
            values = [rng.uniform(lo, hi) for _ in range(n)]
        else:
            values = [rng.randint(max(0, int(lo)), max(0, int(hi))) for _ in range(n)]
        return torch.tensor(values, dtype=dtype).reshape(shape)


def _i(t, *shape, hi=2, dtype="int64"):
    return t(*shape, lo=0, hi=hi, dtype=dtype)


# name, or name and kernel: arguments in the order of the schema
SAMPLES = {
    "_softshrink": lambda t: [(t(3), 0.5)],
    "embedding_dense_backward": lambda t: [(t(2, 3, 4), _i(t, 2, 3), 5, -1, T), (t(3), _i(t), 5, 1, F)],
    "embedding_renorm": lambda t: [(t(5, 4), _i(t, 3), 1.0, 2.0)],
    "embedding_bag": lambda t: [
        (t(5, 4), _i(t, 6), _i(t, 2, hi=0), F, 1),
        (t(5, 4), _i(t, 4), t.tensor([0, 2]), F, 0, F, t(4), F, -1),
        (t(5, 4), _i(t, 4), t.tensor([0, 2, 4]), F, 2, F, None, T, 1),
    ],
    "one_hot": lambda t: [(_i(t, 3), 4)],
    "scatter": lambda t: [(t(3, 4), 1, _i(t, 2, 3), t(3, 3))],
    "nonzero": lambda t: [(t(3, 4),)],
    "nonzero_numpy": lambda t: [(t(3, 4),)],
    "nonzero_static": lambda t: [(t(3, 4),)],
    "isin": lambda t: [(t(3, 4), t(5))],
    "unravel_index": lambda t: [(_i(t, 3), (2, 3))],
    "repeat_interleave": lambda t: [(_i(t, 3),)],
    "nll_loss_forward": lambda t: [(t(4, 3), _i(t, 4), t(3), 1, -100), (t(3), _i(t), None, 0, 1)],
    "nll_loss_backward": lambda t: [
        (t(), t(4, 3), _i(t, 4), t(3), 1, -100, t()),
        (t(4), t(4, 3), _i(t, 4), None, 0, -100, t()),
    ],
    "nll_loss": lambda t: [(t(4, 3), _i(t, 4), t(3), 1, -100)],
    "nll_loss2d_forward": lambda t: [(t(2, 3, 2, 2), _i(t, 2, 2, 2), t(3), 1, -100)],
    "nll_loss2d_backward": lambda t: [(t(), t(2, 3, 2, 2), _i(t, 2, 2, 2), t(3), 1, -100, t())],
    "nll_loss_nd": lambda t: [(t(4, 3, 2), _i(t, 4, 2), t(3), 1, -100)],
    "_cross_entropy": lambda t: [(t(4, 3), _i(t, 4), t(3), 1, -100, 0.1)],
    "_cross_entropy_backward": lambda t: [
        (t(), t(4, 3), _i(t, 4), t(3), t(4), t(), 1, -100, 0.1),
        (t(4), t(4, 3), _i(t, 4), None, t(4), t(), 0, -100, 0.0),
    ],
    "cross_entropy_loss": lambda t: [(t(4, 3), _i(t, 4), t(3), 1, -100, 0.1), (t(4, 3), t(4, 3))],
    "multi_margin_loss": lambda t: [(t(4, 3), _i(t, 4), 1, 1, t(3), 1)],
    "multilabel_margin_loss": lambda t: [(t(4, 3), _i(t, 4, 3), 1)],
    "ctc_loss": lambda t: [
        (t(6, 2, 4), _i(t, 2, 3) + 1, [6, 5], [3, 2], 0, 1, T),
        (t(6, 2, 4), _i(t, 5) + 1, t.tensor([6, 5]), t.tensor([3, 2]), 0, 1, F),
    ],
    "tensordot": lambda t: [(t(2, 3), t(3, 4), [1], [0])],
    "_attention": lambda t: [
        (t(2, 3, 4), t(2, 5, 4), t(2, 5, 6), t(3, 5), F, 0.5),
        (t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), None, T, 0.5),
    ],
    "_softmax": lambda t: [(t(2, 3), 1, F)],
    "_log_softmax": lambda t: [(t(2, 3), 1, F)],
    "native_layer_norm_backward": lambda t: [(t(4, 3), t(4, 3), [3], t(4, 1), t(4, 1), t(3), t(3), [T, T, T])],
    "_fused_rms_norm_backward": lambda t: [(t(4, 3), t(4, 3), [3], t(4, 1), t(3), [T, T])],
    "native_batch_norm_backward": lambda t: [
        (t(4, 3, 2), t(4, 3, 2), t(3), t(3), t(3), t(3), t(3), T, 1e-5, [T, T, T]),
        (t(4, 3), t(4, 3), None, t(3), t(3), None, None, F, 1e-5, [T, T, F]),
    ],
    "_native_batch_norm_legit": lambda t: [
        (t(4, 3, 2), t(3), t(3), t(3), t(3), T, 0.1, 1e-5),
        (t(4, 3), t(3), None, T, 0.1, 1e-5),
    ],
    "native_group_norm_backward": lambda t: [(t(2, 4, 3), t(2, 4, 3), t(2, 2), t(2, 2), t(4), 2, 4, 3, 2, [T, T, T])],
    "_pad_reflect": lambda t: [(t(2, 4, 4), [1, 2, 1, 0])],
    "_pad_replicate": lambda t: [(t(2, 4, 4), [1, 2, 1, 0])],
    "_pad_wrap": lambda t: [(t(2, 4, 4), [1, 2])],
    "_pad_reflect_backward": lambda t: [(t(2, 5, 7), [1, 2, 1, 0], [2, 4, 4])],
    "_pad_replicate_backward": lambda t: [(t(2, 5, 7), [1, 2, 1, 0], [2, 4, 4])],
    "_pad_wrap_backward": lambda t: [(t(2, 4, 7), [1, 2], [2, 4, 4])],
    "_max_pool_backward": lambda t: [
        (t(2, 3, 2, 2), _i(t, 2, 3, 2, 2, hi=15), [2, 3, 4, 4], 2),
        (t(2, 3, 2), _i(t, 2, 3, 2), [2, 3, 4], 1),
    ],
    "_avg_pool_backward": lambda t: [
        (t(2, 3, 2, 2), [2, 3, 4, 4], [2, 2], [2, 2], [0, 0], F, T, None),
        (t(2, 3, 2), [2, 3, 4], [2], [2], [0], T, F, 3),
    ],
    "_adaptive_avg_pool_backward": lambda t: [(t(2, 3, 2, 2), [2, 3, 5, 4], 2), (t(3, 2), [3, 5], 1)],
    "max_unpool2d": lambda t: [(t(1, 2, 2, 2), _i(t, 1, 2, 2, 2, hi=15), [4, 4])],
    "max_unpool3d": lambda t: [(t(1, 1, 2, 2, 2), _i(t, 1, 1, 2, 2, 2, hi=63), [4, 4, 4], [2, 2, 2], [0, 0, 0])],
    "fractional_max_pool2d": lambda t: [(t(1, 2, 5, 5), [2, 2], [3, 3], t(1, 2, 2, lo=0, hi=1))],
    "fractional_max_pool3d": lambda t: [(t(1, 2, 5, 5, 5), [2, 2, 2], [3, 3, 3], t(1, 2, 3, lo=0, hi=1))],
    "multinomial": lambda t: [(t(2, 4, lo=0.1), 3, T), (t(4, lo=0.1), 2, F)],
    "binomial": lambda t: [(t(3, lo=1, hi=5), t(3, lo=0.1, hi=0.9))],
    "_standard_gamma_grad": lambda t: [(t(3, lo=0.1), t(3, lo=0.1))],
    "_unique2": lambda t: [(_i(t, 3, 4), T, T, T)],
    "unique_dim": lambda t: [(_i(t, 3, 4), 1, T, T, T)],
    "_unique_consecutive": lambda t: [(_i(t, 3, 4), T, T, 0)],
    "bincount": lambda t: [(_i(t, 6), t(6), 4)],
    "histogram": lambda t: [(t(6), 4), (t(6), t.tensor([-1.0, 0.0, 1.0], dtype=t._dtype))],
    "view": lambda t: [(t(3, 4), t.int32), (t(3, 4), t.uint8)],
    "_t2": lambda t: [(t(2, 3),)],
    "select_backward": lambda t: [(t(3), [2, 3], 0, 1)],
    "slice_backward": lambda t: [(t(1, 3), [2, 3], 0, 0, 1, 1)],
    "unfold_backward": lambda t: [(t(2, 3), [4], 0, 3, 1)],
    "diagonal_backward": lambda t: [(t(3), [3, 3], 0, 0, 1)],
    "as_strided_": lambda t: [(t(3, 4), [2, 2], [1, 2], 1)],
    "as_strided_backward": lambda t: [(t(2, 2), [3, 4], [2, 2], [1, 2], 1)],
    "_upsample_backward": lambda t: [
        (t(1, 2, 6, 6), m, [3, 3], F, aa, None) for m, aa in ((0, F), (1, F), (2, F), (2, T), (3, F), (3, T), (4, T))
    ],
    "_im2col": lambda t: [(t(2, 3, 5, 5), [2, 2], [1, 1], [0, 0], [1, 1])],
    "_col2im": lambda t: [(t(2, 12, 16), [5, 5], [2, 2], [1, 1], [0, 0], [1, 1])],
    "_linalg_solve": lambda t: [(t(2, 3, 3), t(2, 3, 2))],
    "_linalg_lu_square": lambda t: [(t(2, 3, 3), T)],
    "_linalg_lu_any": lambda t: [(t(2, 3, 4), T)],
    "linalg_lu_factor_ex": lambda t: [(t(2, 3, 3),)],
    "linalg_lu_factor": lambda t: [(t(2, 3, 3),)],
    "lu_unpack": lambda t: [(t(3, 4), _i(t, 3, dtype="int32") + 1)],
    "linalg_lu_solve": lambda t: [(t(3, 3), _i(t, 3, dtype="int32") + 1, t(3, 2))],
    "lu_solve": lambda t: [(t(3, 2), t(3, 3), _i(t, 3, dtype="int32") + 1)],
    "_linalg_trsm": lambda t: [(t(2, 3, 3), t(2, 3, 2), T, F)],
    "triangular_solve": lambda t: [(t(3, 2), t(3, 3))],
    "_linalg_cholesky_lower": lambda t: [(t(3, 3),)],
    "_linalg_cholesky": lambda t: [(t.eye(3, dtype=t._dtype), F)],
    "linalg_cholesky_ex": lambda t: [(t(2, 3, 3),)],
    "_cholesky_solve": lambda t: [(t(3, 2), t(3, 3), F)],
    "cholesky_solve": lambda t: [(t(3, 2), t(3, 3))],
    "_linalg_ldl": lambda t: [(t(3, 3), F)],
    "_linalg_ldl_solve": lambda t: [
        (t(3, 3), _i(t, 3, dtype="int32") + 1, t(3, 2), F),
        (t(3, 3), -_i(t, 3, dtype="int32") - 1, t(3, 2), T),
    ],
    "linalg_ldl_solve": lambda t: [
        (t(3, 3), _i(t, 3, dtype="int32") + 1, t(3, 2)),
        (t(3, 3), -_i(t, 3, dtype="int32") - 1, t(3, 2)),
    ],
    "_linalg_qr": lambda t: [(t(4, 3),)],
    "_linalg_geqrf": lambda t: [(t(4, 3),)],
    "_linalg_householder": lambda t: [(t(4, 3), t(3))],
    "linalg_householder_product": lambda t: [(t(4, 3), t(2))],
    "orgqr": lambda t: [(t(4, 3), t(2))],
    "ormqr": lambda t: [(t(4, 3), t(3), t(4, 2))],
    "_matrix_eigh": lambda t: [(t(3, 3),)],
    "_linalg_eig": lambda t: [(t(3, 3),)],
    "_matrix_svd": lambda t: [(t(4, 3), T), (t(3, 4), F)],
    "_matrix_det": lambda t: [(t(3, 3),)],
    "_matrix_slogdet": lambda t: [(t(3, 3),)],
    "_linalg_pinv": lambda t: [(t(4, 3), None, 1e-3, F)],
    "linalg_tensorsolve": lambda t: [(t(2, 3, 6), t(2, 3))],
    "linalg_tensorinv": lambda t: [(t(6, 2, 3), 1)],
    "linalg_lstsq": lambda t: [(t(4, 3), t(4, 2))],
    "matrix_power": lambda t: [(t(3, 3), 3)],
    "linspace": lambda t: [(0.0, 1.0, 5)],
    "logspace": lambda t: [(0.0, 1.0, 5, 2.0)],
    "arange": lambda t: [(0, 5), (0, 5, 2)],
    "eye": lambda t: [(3,), (3, 4)],
    "_tri_indices_lower": lambda t: [(3, 4, 0)],
    "_tri_indices_upper": lambda t: [(3, 4, 0)],
    "tensor_split": lambda t: [(t(6), [2, 3]), (t(6), t.tensor([1, 3]))],
    "randperm": lambda t: [(5,)],
}
# kernels that no declaration names
KERNELS = {
    "div_trunc": lambda t: [(t(3), t(3))],
    "try_view": lambda t: [(t(3, 4), [4, 3])],
    "_fused_sgd_": lambda t: [([t(3)], [t(3)], [t(3)], 0.1, 0.1, 0.1, 0.1, T, F, T)],
    "_fused_adam_": lambda t: [([t(3)], [t(3)], [t(3)], [t(3)], [t(3)], [t()], 0.1, 0.9, 0.99, 0.1, 1e-8, F, F, T)],
    "_optim_owners": lambda t: [([t(3)],)],
    "_optim_sizes": lambda t: [([t(3)],)],
    "_optim_changed": lambda t: [([t(3)],)],
    "_optim_steps": lambda t: [([t()],)],
}
for _n, _nd in (("1d", 1), ("2d", 2), ("3d", 3)):
    for _kind in ("upsample_nearest", "_upsample_nearest_exact"):
        SAMPLES[_kind + _n] = lambda t, nd=_nd: [
            (t(*[1, 2, 3, 3, 3][: nd + 2]), [5] * nd, *[None] * nd),
            (t(*[1, 2, 3, 3, 3][: nd + 2]), [5] * nd, *[1.6] * nd),
        ]
for _name, _nd in (
    ("upsample_linear1d", 1),
    ("upsample_bilinear2d", 2),
    ("upsample_trilinear3d", 3),
    ("upsample_bicubic2d", 2),
    ("_upsample_bilinear2d_aa", 2),
    ("_upsample_bicubic2d_aa", 2),
    ("_upsample_lanczos2d_aa", 2),
):
    SAMPLES[_name] = lambda t, nd=_nd: [
        (t(*[1, 2, 3, 3, 3][: nd + 2]), [5] * nd, F, *[None] * nd),
        (t(*[1, 2, 3, 3, 3][: nd + 2]), [5] * nd, F, *[1.6] * nd),
    ]


def calls(torch, spec, dtype, seed):
    """(args, kwargs) that fit the declaration; none where nothing is known."""
    make = SAMPLES.get(spec.name) or spec.samples
    out = []
    for args in make(Maker(torch, dtype, seed)) if make else ():
        kwargs = {}
        if args and isinstance(args[-1], dict):
            args, kwargs = args[:-1], args[-1]
        out.append((list(args), dict(kwargs)))
    return out
