"""Runs lines of Python in torch and in torchlite: same values, dtypes, shapes, strides, exceptions, texts and warnings.

In a line `torch`, `F`, `nn`, `np` and `math` are there; its last expression is the result.
Every warning counts, also those that a process gives once, in the order of their first showing.
"""

import ast
import contextlib
import math
import re
import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")


def _number(v):
    if isinstance(v, list):
        return [_number(x) for x in v]
    if isinstance(v, float):
        return "%.4g" % v
    if isinstance(v, complex):
        return "%.4g%+.4gj" % (v.real, v.imag)
    return v


def _shown(x, lib):
    if type(x).__name__ == "MaskedTensor":
        return repr(x), _shown(x.get_data().detach(), lib), _shown(x.get_mask(), lib), x.requires_grad, x.is_leaf
    if isinstance(x, lib.Tensor) and x.layout is not lib.strided:
        return re.sub(r"\s*grad_fn=<\w+>", "", repr(x)), str(x.layout), str(x.dtype), tuple(x.shape), x.requires_grad
    if isinstance(x, lib.Tensor):
        return (
            type(x).__name__,
            str(x.device) if x.is_meta else _number(x.detach().tolist()),
            str(x.dtype),
            tuple(x.shape),
            x.stride(),
            x.requires_grad,
        )
    if isinstance(x, np.ndarray):
        return ("ndarray", _number(x.tolist()), str(x.dtype), x.shape)
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [_shown(v, lib) for v in x]
    if isinstance(x, dict):
        return [(k, _shown(v, lib)) for k, v in x.items()]
    return type(x).__name__, repr(x).replace("torchlite", "torch")


def plain(text):
    """A text without the place in PyTorch's source that raised it."""
    return re.sub(r"\s*\(Triggered internally at [^)]*\)", "", text).replace("torchlite", "torch").rstrip()


@contextlib.contextmanager
def every_warning(lib):
    """Records warnings, also those that a process gives once."""
    always = lib.is_warn_always_enabled()
    # PyTorch's own switch
    always_storage = getattr(lib.storage, "_set_always_warn_typed_storage_removal", lambda on: None)
    lib.set_warn_always(True)
    always_storage(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield seen
    finally:
        lib.set_warn_always(always)
        always_storage(False)


def outcome(lib, line):
    """(result or exception, warnings) of a line."""
    names = {"torch": lib, "np": np, "F": lib.nn.functional, "nn": lib.nn, "math": math}
    line = re.sub(r"\b(import|from) torch\b", r"\1 " + lib.__name__, line)
    tree = ast.parse(line)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    result = None
    lib.manual_seed(0)
    with every_warning(lib) as seen:
        try:
            exec(compile(tree, line, "exec"), names)
            if last is not None:
                result = _shown(eval(compile(ast.Expression(last.value), line, "eval"), names), lib)
        except Exception as e:
            result = type(e).__name__, plain(str(e))
    # __array_wrap__ and __array__ have the arguments that numpy asks for; PyTorch's lack them
    texts = [(w.category.__name__, plain(str(w.message))) for w in seen if "__array_" not in str(w.message)]
    return result, list(dict.fromkeys(texts))


def alike(line):
    assert outcome(torchlite, line) == outcome(torch, line)


def cases(text):
    """A decorator that makes a test of each line of a text. An indented line continues the line before it."""
    joined = re.sub(r"\n +", " ", text.strip())
    lines = [s for s in joined.split("\n") if s and not s.startswith("#")]
    return pytest.mark.parametrize("line", lines)
