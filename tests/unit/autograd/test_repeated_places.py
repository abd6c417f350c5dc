"""Tangents of what is written where an index names a place twice: that of the value which stays."""

import pytest

import torchlite

torch = pytest.importorskip("torch")

WRITES = {
    "scatter": lambda lib, x, s, i: x.scatter(0, lib.zeros(2, 3, dtype=lib.int64), s),
    "scatter_": lambda lib, x, s, i: x.clone().scatter_(0, lib.zeros(2, 3, dtype=lib.int64), s),
    "index_copy": lambda lib, x, s, i: x.index_copy(0, i, s),
    "index_copy_": lambda lib, x, s, i: x.clone().index_copy_(0, i, s),
    "index_put": lambda lib, x, s, i: x.index_put((i,), s),
    "index_put_": lambda lib, x, s, i: x.clone().index_put_((i,), s),
    "accumulate": lambda lib, x, s, i: x.index_put((i,), s, accumulate=True),
    "put": lambda lib, x, s, i: x.put(lib.zeros(2, 3, dtype=lib.int64), s),
    "scatter_add": lambda lib, x, s, i: x.scatter_add(0, lib.zeros(2, 3, dtype=lib.int64), s),
}


def tensors(lib):
    first = lib.arange(6.0, dtype=lib.float64).reshape(2, 3)
    return [first + k for k in (1, 10, 100, 1000)], lib.tensor([1, 1])


@pytest.mark.parametrize("name", WRITES)
def test_jvp(name):
    def run(lib):
        (x, v, s, w), index = tensors(lib)
        made = lib.func.jvp(lambda x, s: WRITES[name](lib, x, s, index), (x, s), (v, w))
        return [t.tolist() for t in made]

    assert run(torchlite) == run(torch)


@pytest.mark.parametrize("name", WRITES)
def test_dual_tensors(name):
    def run(lib):
        (x, _, s, w), index = tensors(lib)
        with lib.autograd.forward_ad.dual_level():
            dual = lib.autograd.forward_ad.make_dual(s, w)
            return lib.autograd.forward_ad.unpack_dual(WRITES[name](lib, x, dual, index)).tangent.tolist()

    assert run(torchlite) == run(torch)


@pytest.mark.parametrize("name", WRITES)
def test_gradients_go_to_all_values(name):
    def run(lib):
        (x, _, s, _), index = tensors(lib)
        inputs = [x.requires_grad_(), s.requires_grad_()]
        out = WRITES[name](lib, x, s, index)
        return [g.tolist() for g in lib.autograd.grad((out * out).sum(), inputs)]

    assert run(torchlite) == run(torch)


@pytest.mark.parametrize("name", ["scatter", "scatter_"])
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_scatter_with_reduce_has_no_derivative(name):
    x = torchlite.ones(2, 3).requires_grad_()
    index = torchlite.zeros(2, 3, dtype=torchlite.int64)
    y = getattr(x * 1, name)(0, index, x * 2, reduce="add")
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        y.sum().backward()
