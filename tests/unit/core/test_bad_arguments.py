"""Kernels look at everything that they index with:
nearly right calls of every op give an answer or an exception, by whichever way they come in.

The cases are made from the samples of the declarations and from those of tests/fuzz_calls;
tests/fuzz_ops.py makes many more of them.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import torchlite as torch
from torchlite import _C

ROOT = pathlib.Path(__file__).resolve().parents[3]
ON_WASM = sys.platform == "emscripten"
F, I = torch.float32, torch.int64


def ones(*shape, dtype=F):
    return torch.ones(shape, dtype=dtype)


def index(*shape):
    return torch.zeros(shape, dtype=I)


def hidden(name):
    from torchlite.ops import load_all, namespace

    load_all()
    return namespace("_hidden")[name]


# call, part of the message
WRONG = [
    (
        lambda: torch.ops.aten.embedding_dense_backward(ones(2, 3), index(500, 8), 5, 1, True),
        "shape '[4000, 3]' is invalid for input of size 6",
    ),
    (lambda: torch.ops.aten.embedding_dense_backward(ones(2, 0), index(3), 5, 1, False), None),
    (
        lambda: torch.ops.aten.embedding_dense_backward(ones(), index(1), 5, 1, True),
        "Dimension specified as -1 but tensor has no dimensions",
    ),
    (
        lambda: torch.ops.aten.embedding_dense_backward(ones(1, 3), index(1), -5, 1, True),
        "zeros: Dimension size must be non-negative.",
    ),
    (lambda: torch.embedding_renorm_(ones(6), index(2), 1.0, 2.0), "self of 2 dimensions"),
    (
        lambda: torch.ops.aten.nll_loss_backward(ones(2, 6), ones(3, 4), index(3), None, 0, -100, ones()),
        "Expected a tensor of dimension 1 and tensor.size[0] == 3",
    ),
    (
        lambda: torch.ops.aten.nll_loss_backward(ones(2, 6), ones(3, 4), index(3), None, 1, -100, ones()),
        "Expected a single element grad_output tensor, but got: [2, 6]",
    ),
    (
        lambda: torch.ops.aten.nll_loss_backward(ones(), ones(3, 4), index(3), None, 1, -100, ones(2)),
        "expected total_weight to be a  single element tensor, got: [2] (2 elements)",
    ),
    (
        lambda: torch.ops.aten.nll_loss_backward(ones(3), ones(3, 4, 2), index(3, 2), None, 0, -100, ones()),
        "expected grad_output of shape [3, 2], got [3]",
    ),
    (lambda: torch.repeat_interleave(torch.tensor([2**62] * 4)), "overflowed"),
    (lambda: torch.zeros([1] * 64)[torch.zeros([1] * 64, dtype=I)], "only tensors with up to 64 dims are supported"),
    (
        lambda: ones(2, 2, 2)[index(2**22, 1, 1).expand(2**22, 1, 1), index(1, 2**22, 1), index(1, 1, 2**22)],
        "overflowed",
    ),
    (lambda: torch.nn.functional.conv2d(ones(1, 1, 2, 2), ones(1, 1, 1, 1), stride=2**32, padding=2**32), "overflowed"),
    (
        lambda: torch.ops.aten.convolution_backward(
            ones(1, 1, 2), ones(1, 1, 2), ones(1), None, [1], [0], [1], False, [0], 1, [True] * 3
        ),
        "3, 4 or 5 dimensions",
    ),
    (lambda: torch.zeros(3, dtype=torch.uint8).random_(256, None), "from is out of bounds for unsigned char"),
    (
        lambda: torch.zeros(3).random_(2**24, None),
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
        "but got from=16777216 > to_inc=16777216",
    ),
    (lambda: torch.nn.functional.one_hot(torch.tensor([2**63 - 1])), "Class values must be smaller than num_classes."),
    (lambda: torch.combinations(ones(5), 10**6, True), "no memory"),
    (lambda: torch.combinations(ones(5), 2**62, True), "no memory"),
    (lambda: torch.stack([ones(1).as_strided((0, 2**62), (1, 1))] * 2, 1), "overflowed"),
    (
        lambda: hidden("_max_pool_backward")(ones(1, 1, 2), index(1, 1, 3), [1, 1, 4], 1),
        "_max_pool_backward(): expected indices of shape [1, 1, 2], got [1, 1, 3]",
    ),
    (
        lambda: hidden("_max_pool_backward")(ones(1, 1, 2), index(1, 1, 2), [1, 1, 4], -1),
        "expected dims of at least 1, got -1",
    ),
    (
        lambda: hidden("_avg_pool_backward")(ones(1, 1, 2), [1, 1, 4], [1] * 6, [1] * 6, [0] * 6, False, True, None),
        "one to three sizes of a kernel",
    ),
    (
        lambda: hidden("_avg_pool_backward")(ones(1, 1, 2), [1, 1, 4], [2], [1], [0], False, True, None),
        "expected grad_output of shape [1, 1, 3], got [1, 1, 2]",
    ),
    (lambda: hidden("_adaptive_avg_pool_backward")(ones(1, 1, 2), [1, 1, 4], 40), "expected dims of at most 3, got 40"),
    (lambda: hidden("_adaptive_avg_pool_backward")(ones(1, 1, 2, dtype=I), [1, 1, 0], 1), "not implemented for 'Long'"),
    (
        lambda: torch.nn.functional.adaptive_avg_pool3d(ones(1, 1, 2, 2, 2), [2**62, 3, -(2**63)]),
        "must be greater than or equal to 0",
    ),
    (
        lambda: hidden("_adaptive_max_pool2d")(ones(2, 0).reshape(1, 2, 1, 0).expand(1, 2, 2**40, 0), [3, 3]),
        "non-zero size for non-batch dimensions",
    ),
    (
        lambda: hidden("_adaptive_avg_pool3d")(ones(2, 0).reshape(1, 2, 1, 1, 0).expand(1, 2, 2**40, 2, 0), [3, 3, 3]),
        "non-zero size for non-batch dim",
    ),
    (
        lambda: torch.ops.functions._cross_entropy_backward(
            ones(4), ones(4, 0), index(4), None, ones(4), ones(), 0, -100, 0.5
        ),
        None,
    ),
    (
        lambda: hidden("_im2col")(ones(1, 1, 4, 4), [2, 2], [1, 1], [0, 0], [0, 1]),
        "expected stride of at least 1, got 0",
    ),
    (lambda: hidden("_im2col")(ones(1, 1, 4, 4), [2**31 - 1] * 2, [2**31 - 1] * 2, [2**31 - 1] * 2, [1, 1]), None),
    (
        lambda: hidden("_col2im")(ones(1, 4, 9), [5, 5], [2, 2], [1, 1], [0, 0], [1, 1]),
        "expected self of shape [1, 4, 16], got [1, 4, 9]",
    ),
    (lambda: hidden("_upsample")(ones(1, 1, 3, 3), 7, [5, 5], False, False, None), "expected mode of at most 4, got 7"),
    (lambda: hidden("_upsample")(ones(1, 1, 3, 3), 2, [5] * 60, False, False, [1.0] * 60), "more spatial dims"),
    (
        lambda: hidden("_upsample_backward")(ones(1, 1, 3, 3), 0, [5, -1], False, True, None),
        "expected size of at least 0, got -1",
    ),
    (
        lambda: torch.ops.aten._fft_c2r(ones(3, dtype=torch.complex64), [0], 0, 100),
        "expected at least 51 values along the last dim, got 3",
    ),
    (lambda: torch.ops.aten._fft_r2c(ones(0), [0], 0, True), "expected at least 1 values"),
    (
        lambda: torch.ops.aten._fft_c2c(ones(3, dtype=torch.complex64), [0], 9, True),
        "expected normalization of at most 2, got 9",
    ),
    (
        lambda: hidden("_linalg_solve")(ones(2, 3, 3), ones(2, 1)),
        "expected B of 3 dimensions that begin with [2, 3], got shape [2, 1]",
    ),
    (
        lambda: hidden("_linalg_trsm")(ones(3, 3), ones(2, 2), True, False),
        "expected B of 2 dimensions that begin with [3], got shape [2, 2]",
    ),
    (lambda: hidden("_linalg_householder")(ones(3, 2), ones(3)), "no more factors than columns"),
    (
        lambda: hidden("_linalg_ldl_solve")(ones(3, 3), index(2), ones(3, 1), False),
        "expected pivots of shape [3], got [2]",
    ),
    (lambda: hidden("_matrix_svd")(ones(3), True), "expected matrices of 2 to 64 dimensions, got shape [3]"),
    (lambda: hidden("_matrix_eigh")(ones(3, 2)), "must be batches of square matrices"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_does_not_fit_is_said(case):
    call, text = WRONG[case]
    if text is None:
        try:
            call()
        except RuntimeError:
            pass
        return
    with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as error:
        call()
    assert text in str(error.value)


# extreme numbers that have an answer
def test_numbers_without_a_place():
    assert torch.histc(torch.tensor([3e38, 0.0]), 4, -3.4e38, 3.4e38).sum() == 2
    assert torch.binomial(torch.tensor(float("nan")), torch.tensor(0.3)).isnan()
    assert torch._standard_gamma(torch.tensor([float("nan"), -1.0])).isnan().all()
    assert torch.zeros(3).random_(2**24 + 1, 2**24 + 2).tolist() == [2.0**24] * 3
    smallest = torch.full((1, 1, 2), -(2**63), dtype=I)
    assert torch.ops.aten.avg_pool2d(smallest[None], [1, 1], divisor_override=-1).dtype == I
    assert torch.nn.functional.conv_transpose2d(ones(1, 1, 1, 1), ones(1, 1, 2, 2), stride=2**40).shape == (1, 1, 2, 2)
    image = torch.arange(9.0).reshape(1, 1, 3, 3)
    for scale in (float("nan"), float("inf"), 1e-300, -1.0, 1e300, 0.0):
        for name in (
            "upsample_nearest2d",
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ):
            args = () if "nearest" in name else (False,)
            assert getattr(torch.ops.aten, name)(image, [4, 4], *args, scale, scale).shape == (1, 1, 4, 4)
        assert torch.ops.aten.upsample_bicubic2d(image.to(torch.uint8), [4, 4], False, scale, scale).shape == (
            1,
            1,
            4,
            4,
        )


@pytest.mark.skipif(ON_WASM, reason="sizes beyond 32 bits")
def test_nothing_in_many_places():
    """Sizes of 2**40 in tensors without elements: no walk over them."""
    wide = torch.zeros(2**40, 0)
    wide.fill_diagonal_(1.0, wrap=True)
    assert wide.sort(dim=1).values.shape == wide.topk(0, dim=1).indices.shape == (2**40, 0)
    assert torch.zeros(0, 2**40, 2**20)[:, 3].numel() == torch.zeros(2**40, 0, 2**40)[:, index(0)].numel() == 0


def test_a_mask_without_dims():
    for t in (torch.tensor(3.0), ones(2)):
        for call in (torch.ops.aten.index, _C.kernels["index"]):
            with pytest.raises(IndexError):
                call(t, [torch.tensor(True)])
        assert t[torch.tensor(True)].shape == (1, *t.shape) and t[torch.tensor(False)].shape == (0, *t.shape)


def test_a_view_without_elements_starts_in_its_memory():
    x = torch.empty_strided((0, 5), (1, 2**61)).select(1, 4)
    assert x.storage_offset() >= 0
    assert x.resize_(4).fill_(1.0).tolist() == [1.0] * 4


class Evil:
    """An index that changes things when it is read."""

    def __init__(self, value, change):
        self.value, self.change = value, change

    def __index__(self):
        self.change()
        return self.value


@pytest.mark.parametrize("change", ["set", "transpose", "resize", "data"])
def test_an_index_that_changes_its_tensor(change):
    x = torch.arange(200.0).reshape(2, 100)
    steps = {
        "set": lambda: x.set_(torch.zeros(2)),
        "transpose": lambda: x.transpose_(0, 1),
        "resize": lambda: x.untyped_storage().resize_(0) and x.resize_(0),
        "data": lambda: setattr(x, "data", torch.zeros(1)),
    }
    try:
        part = x[0:2, Evil(1, steps[change]) :]
        assert part.numel() <= 200 and all(v < 1000 for row in part.tolist() for v in row)
    except (RuntimeError, IndexError):
        pass
    y = torch.zeros([1] * 10)
    assert y.size(Evil(0, lambda: y.resize_(3))) == 3


def test_a_list_that_changes_while_the_call_is_read():
    parts = [ones(3), ones(3)]
    assert torch.cat(parts, dim=Evil(0, parts.clear)).shape == (6,)
    assert parts == []


# ---- the core's entrances: anything may come there -------------------------------------------------------------------
RAW = [
    lambda: _C.copy(1, ones(2)),
    lambda: _C.copy(ones(2), None),
    lambda: _C.cast(3, F),
    lambda: _C.alias("x"),
    lambda: _C.fill(None, 1),
    lambda: _C.resize(7, (1,)),
    lambda: _C.resize(ones(2), None),
    lambda: _C.empty(None),
    lambda: _C.empty_strided(None, None),
    lambda: _C.zeros(None),
    lambda: _C.empty_like(1),
    lambda: _C.empty_like(ones(2), None, 9),
    lambda: _C.empty_on(-1, (2,), None, F),
    lambda: _C.empty_on(300, (2,), None, F),
    lambda: _C.empty_on(1, None, None, F),
    lambda: _C.device_tensor(0, None, 8, F, (2,)),
    lambda: _C.device_tensor(1, None, 8, F, (3,)),
    lambda: _C.device_tensor(1, None, -8, F, (2,)),
    lambda: _C.device_tensor(1, None, 8, F, (2,), (1, 1)),
    lambda: _C.basic_index(1, 2),
    lambda: _C.signature(3),
    lambda: _C.geometry(3),
    lambda: _C.tensor_from_storage(ones(2)._storage, F, 1, (2,), (1,)),
    lambda: _C.tensor_from_storage(ones(2)._storage, F, 0, (2,), (-1,)),
    lambda: _C.call_below_autograd(),
    lambda: _C.call_below_autograd(1, 2),
    lambda: _C.call_overload(torch.add.overloads[0], [ones(1), ones(1), 1]),
    lambda: _C.call_overload(torch.add.overloads[0], (ones(1),)),
    lambda: _C.call_below_autograd(torch.add.overloads[0], (1, 2, 3)),
    lambda: _C.call_below_autograd(torch.cat.overloads[0], ([1, 2], 0)),
    lambda: _C.call_inplace_below_autograd(torch.cat.overloads[0], ([ones(1)], 0)),
    lambda: _C.call_inplace_below_autograd(torch.add.overloads[0], (ones(1), ones(1), 1)),
    lambda: _C.kernels["mm"](),
    lambda: _C.kernels["mm"](1, 2),
    lambda: _C.kernels["mm"](ones(2, 2)),
    lambda: _C.kernels["mm"](ones(2, 2), ones(2, 2), other=1),
    lambda: _C.kernels["add"](ones(2), ones(2), 1, out=3),
    lambda: _C.kernels["add"](ones(2), ones(2), 1, out=ones(1)),
    lambda: _C.kernels["cat"]([ones(1), None], 0),
    lambda: _C.kernels["try_view"](1, 2),
    lambda: _C.kernels["try_view"](ones(2), None),
    lambda: _C.kernels["_optim_steps"](1),
    lambda: _C.kernels["set_default_generator"](1),
    lambda: setattr(ones(1), "_base", 5),
    lambda: setattr(ones(1), "data", 5),
    lambda: _C.TensorBase(3),
    lambda: _C.StorageBase(-1),
    lambda: _C.StorageBase(2**62),
]


@pytest.mark.parametrize("case", range(len(RAW)))
def test_the_cores_entrances(case):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        RAW[case]()


def test_every_kernel_by_name_refuses_what_is_no_argument():
    from torchlite.ops import load_all

    load_all()
    for name, run in _C.kernels.items():
        if name == "generator_type":
            continue
        for args in ((None,) * 20, (object(),), (1, 2, 3), ("x", [])):
            for out in ({}, {"out": args[0]}):
                try:
                    run(*args, **out)
                except (TypeError, RuntimeError, ValueError, NotImplementedError):
                    pass


def test_kernels_write_into_no_number():
    """Of the kernels that can write into their first argument some take a number there;
    a tensor of one element is one too."""
    from torchlite.ops import load_all, specs

    load_all()
    seen = 0
    for ov in (ov for spec in specs for ov in spec.overloads if ov.kernel and _C.kernels[ov.kernel].in_place):
        kinds = [a.split()[0] for a in ov.schema[ov.schema.index("(") + 1 : ov.schema.index(") ->")].split(", ")]
        if kinds[0] == "Scalar" and "Tensor" in kinds:
            for number in (0.5, torch.tensor(0.5)):
                args = [ones(5) if kind == "Tensor" else 1 for kind in kinds]
                args[0] = number
                with pytest.raises((TypeError, RuntimeError)):
                    _C.kernels[ov.kernel](*args, out=number)
                seen += 1
    assert seen


def test_a_flag_of_an_op_asks_for_a_truth_value():
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch.ops.functions.add.in_python = ones(2)


def test_differences_of_a_long_empty_tensor():
    x = torch.empty_strided((1 << 40, 0), (0, 1))
    assert x.diff((1 << 40) - 1, 0).shape == (1, 0)
    assert x.diff(1 << 62, 0).shape == (0, 0)


# ---- every op, nearly right ------------------------------------------------------------------------------------------
@pytest.mark.skipif(
    ON_WASM or "sanitized" in os.environ.get("TORCHLITE_NATIVE", ""),
    reason="a child process; the sanitize layer makes more such calls",
)
def test_nearly_right_calls():
    """Eight wrong calls of every overload, kernel and function of the core, in a process of their own: it must live."""
    run = [sys.executable, str(ROOT / "tests" / "fuzz_ops.py"), "--calls", "8", "--seed", "100"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
