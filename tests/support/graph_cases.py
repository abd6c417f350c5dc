"""Programs about graphs: each takes a torch, real or ours, and returns what it saw. Both must see the same."""

import warnings

import torchlite


def leaf(m, *shape):
    """A leaf of this shape: 1/3, 2/3, 1, ... in row-major order."""
    n = 1
    for size in shape:
        n *= size
    return (m.arange(1.0, n + 1).reshape(shape) / 3).requires_grad_()


def function(m, forward, backward):
    """An autograd.Function made of these two functions."""
    return type("F", (m.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def _plain(m, x):
    if isinstance(x, m.Tensor):
        return str(x.dtype), tuple(x.shape), x.detach().tolist(), x.requires_grad, x.is_leaf
    return [_plain(m, v) for v in x] if isinstance(x, (list, tuple)) else x


def _outcome(m, program):
    """What the program returned, in plain Python, or the error's type and the beginning of its text."""
    try:
        return _plain(m, program(m))
    except Exception as error:
        return type(error).__name__, str(error).strip()[:60]


def _close(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-5 * (1 + abs(b)) or (a != a and b != b)
    return a == b


def check(program, real):
    """Runs the program in torchlite and in PyTorch (`real`)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = _outcome(torchlite, program), _outcome(real, program)
    assert _close(got, want), (got, want)
