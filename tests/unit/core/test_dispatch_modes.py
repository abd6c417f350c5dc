"""TorchDispatchMode: what a mode sees below autograd, by the names and with the arguments that PyTorch has."""

import pytest

import torchlite as torch
from torchlite.nn import functional as F
from torchlite.utils import _python_dispatch as dispatch


class Log(dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        shown = [list(a.shape) if isinstance(a, torch.Tensor) else a for a in args]
        shown += ["%s=%s" % (k, v) for k, v in kwargs.items() if not isinstance(v, torch.Tensor)]
        self.seen.append("%s %s" % (str(func).removeprefix("aten."), shown))
        return func(*args, **kwargs)


def seen(program):
    x, y, w, b = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    p = torch.ones(2, 3, requires_grad=True)
    names = {"torch": torch, "F": F, "x": x, "y": y, "w": w, "b": b, "p": p, "buffer": torch.empty(2, 3)}
    with Log() as log:
        eval(program, names)
    return log.seen


CPU = "device=cpu', 'pin_memory=False"
CASES = [  # recorded from PyTorch 2.13
    ("x + y", ["add.Tensor [[2, 3], [2, 3]]"]),
    ("x + 2", ["add.Tensor [[2, 3], 2]"]),
    ("x.mul_(2.5)", ["mul_.Tensor [[2, 3], 2.5]"]),
    ("torch.add(x, y, alpha=2)", ["add.Tensor [[2, 3], [2, 3], 'alpha=2']"]),
    ("torch.add(x, y, out=buffer)", ["add.out [[2, 3], [2, 3]]"]),
    ("torch.ones(2, 3)", ["ones.default [[2, 3], '%s']" % CPU]),
    ("torch.empty(3)", ["empty.memory_format [[3], '%s']" % CPU]),
    ("torch.zeros(2, dtype=torch.int64)", ["zeros.default [[2], 'dtype=torch.int64', '%s']" % CPU]),
    ("x.view(3, 2)", ["view.default [[2, 3], [3, 2]]"]),
    ("x.reshape(6)", ["view.default [[2, 3], [6]]"]),
    ("x[0]", ["select.int [[2, 3], 0, 0]"]),
    ("x[None]", ["unsqueeze.default [[2, 3], 0]"]),
    ("x.sum(1)", ["sum.dim_IntList [[2, 3], [1]]"]),
    ("x.mean(0, keepdim=True)", ["mean.dim [[2, 3], [0], True]"]),
    ("x.double()", ["_to_copy.default [[2, 3], 'dtype=torch.float64']"]),
    ("x.float()", []),
    ("x.contiguous()", []),
    ("F.linear(x, w)", ["t.default [[4, 3]]", "mm.default [[2, 3], [3, 4]]"]),
    ("F.linear(x, w, b)", ["t.default [[4, 3]]", "addmm.default [[4], [2, 3], [3, 4]]"]),
    ("F.softmax(x, -1)", ["_softmax.default [[2, 3], -1, False]"]),
    ("F.layer_norm(x, (3,))", ["native_layer_norm.default [[2, 3], [3], None, None, 1e-05]"]),
    ("x.chunk(2)", ["split.Tensor [[2, 3], 1]"]),
    ("p.expand_as(y)", ["expand.default [[2, 3], [2, 3]]"]),
]


@pytest.mark.parametrize("program, expected", CASES, ids=lambda v: str(v)[:30])
def test_a_mode_sees_the_ops_that_pytorch_shows(program, expected):
    assert seen(program) == expected


def test_autograd_is_above_a_mode():
    p = torch.ones(2, 3, requires_grad=True)
    with Log() as log:
        loss = (p * 2).sum()
        assert loss.requires_grad and loss.grad_fn.name() == "SumBackward0"
        loss.backward()
    assert p.grad.tolist() == [[2.0] * 3] * 2
    assert [s.split()[0] for s in log.seen[:2]] == ["mul.Tensor", "sum.default"]
    assert "expand.default [[], [2, 3]]" in log.seen and log.seen[-1].startswith("mul.Tensor")


def test_nothing_is_recorded_inside_a_handler():
    class Twice(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == ()
            made = func(*args, **(kwargs or {}))
            assert not made.requires_grad
            return made + made

    x = torch.ones(2, requires_grad=True)
    with Twice():
        y = x * 3
    assert y.tolist() == [6.0, 6.0] and y.grad_fn.name() == "MulBackward0"


def test_modes_nest_and_the_inner_one_is_asked_first():
    with Log() as outer, Log() as inner:
        assert dispatch._get_current_dispatch_mode_stack() == [outer, inner]
        torch.ones(1).exp()
        with dispatch._disable_current_modes():
            assert dispatch._len_torch_dispatch_stack() == 0
            torch.ones(1).exp()
    assert inner.seen == outer.seen and len(inner.seen) == 2
    assert dispatch._get_current_dispatch_mode() is None


def test_an_exception_leaves_the_modes_as_they_were():
    class Broken(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("broken")

    x = torch.ones(2)
    with Log() as log:
        with pytest.raises(ValueError, match="broken"), Broken():
            x.exp()
        assert dispatch._get_current_dispatch_mode() is log
        x.exp()
    assert log.seen == ["exp.default [[2]]"] and x.exp() is not None


def test_nobody_answers():
    class Nobody(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.ones(2)
    with (
        Nobody(),
        pytest.raises(TypeError, match="Multiple dispatch failed for 'torch._ops.aten.exp.default'; all __t"),
    ):
        x.exp()


def test_a_result_that_is_no_tensor_is_refused():
    class Text(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return "text"

    x = torch.ones(2)
    with Text(), pytest.raises(TypeError, match="Unable to cast Python instance of type <class 'str'>"):
        x.exp()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8], ids=str)
def test_a_number_stays_a_number_for_an_overload_by_name(dtype):
    x = torch.tensor(3, dtype=dtype)
    for name in ("add", "sub", "mul", "div"):
        by_name = getattr(torch.ops.aten, name).Tensor(x, 2)
        assert by_name.dtype is getattr(torch, name)(x, 2).dtype


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_mode_sees_writes_that_are_recorded(requires_grad):
    seen = []

    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.rand(3, requires_grad=requires_grad).clone()
    one = torch.ones(3)
    writes = [lambda: x.zero_(), lambda: x.fill_(2.0), lambda: x.fill_(one[0]), lambda: x.copy_(one)]
    with Names():
        for write in writes:
            write()
    assert [s for s in seen if "_." in s] == [
        "aten.zero_.default",
        "aten.fill_.Scalar",
        "aten.fill_.Tensor",
        "aten.copy_.default",
    ]
    assert x.tolist() == [1.0] * 3 and x._version == 4
    assert (x.grad_fn is not None) is requires_grad


@pytest.mark.parametrize(
    "make, expected",
    [
        (torch.optim.SGD, ["add_.Tensor [[2, 3], [2, 3], 'alpha=-0.001']"]),
        (torch.optim.Adam, ["lerp_.Scalar [[2, 3], [2, 3], 0.09999999999999998]", "mul_.Tensor [[2, 3], 0.999]"]),
    ],
)
def test_steps_of_optimizers(make, expected):
    p = torch.ones(2, 3, requires_grad=True)
    p.grad = torch.ones(2, 3)
    with Log() as log:
        make([p]).step()
    assert set(expected) <= set(log.seen) and p.detach()[0, 0] < 1
