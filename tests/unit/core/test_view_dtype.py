"""view(dtype) beside PyTorch: the same memory and version, but no view that autograd follows."""

import pytest

import torchlite

torch = pytest.importorskip("torch")
DTYPES = ("float32", "int64", "float64", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("of", ["leaf", "result", "detached"])
def test_no_history_and_no_base(dtype, of):
    def run(lib):
        x = lib.arange(16.0, dtype=lib.float64).reshape(4, 4).requires_grad_()
        y = {"leaf": x, "result": x * 2, "detached": x.detach()}[of]
        v = y.view(getattr(lib, dtype))
        part = v[0]
        return (
            *(v._is_view(), v.requires_grad, v.grad_fn, v.is_leaf, v._version),
            *(part.requires_grad, part._base is v, v.data_ptr() == y.data_ptr()),
        )

    assert run(torchlite) == run(torch)


def test_a_write_counts_for_both_and_leaves_the_history():
    def run(lib):
        x = lib.ones(2, 4, dtype=lib.float64, requires_grad=True)
        y = x * 2
        y.view(lib.float32).mul_(2)
        y.sum().backward()
        z = x * x
        z.view(lib.int64)[0] = 0
        return y._version, type(y.grad_fn).__name__, x.grad.tolist(), z._version, z[0].tolist()

    assert run(torchlite) == run(torch)


def test_a_saved_value_changed_through_it_is_an_error():
    x = torchlite.ones(3, dtype=torchlite.float64, requires_grad=True)
    y = x.exp()
    y.view(torchlite.int64).zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
