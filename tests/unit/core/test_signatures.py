"""The parameters of public functions and classes: PyTorch's names in PyTorch's order, so that keywords work."""

import importlib
import inspect

import pytest

import torchlite

torch = pytest.importorskip("torch")

MODULES = """torch nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrize nn.utils.parametrizations
    nn.utils.prune nn.utils.stateless nn.parallel nn.attention optim optim.lr_scheduler optim.swa_utils utils.data
    utils.checkpoint utils.hooks autograd autograd.functional autograd.forward_ad autograd.graph func fx linalg special
    fft distributions distributions.constraints distributions.transforms jit cuda amp hub library overrides sparse
    nested masked quasirandom futures distributed multiprocessing compiler accelerator random serialization
    signal.windows testing""".split()

# where the parameters are meant to differ
MEANT = {
    "no_grad": "takes a function without parentheses in __new__, as PyTorch's",
    "nn.Container": "has no use",
    "autograd.graph.Node": "is made with its edges",
    "autograd.graph.GradientEdge": "its token holds objects of C++",
    "jit.Attribute": "is never made",
    "utils.data.Sampler": "takes what its classes hand on",
    "multiprocessing.Process": "stands for the standard library's",
    "masked.MaskedTensor": "takes its mask as PyTorch's __new__ does",
}


OF_ANY_LAYOUT = ("to_sparse_coo", "unique", "unique_consecutive")  # one function for the method and for torch's own


def _parameters(value):
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    shown = [(p.name, p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)) for p in found]
    return None if all(varied for _, varied in shown) and shown else shown


def _of(module, name, library):
    path = library if module == "torch" else "%s.%s" % (library, module)
    return getattr(importlib.import_module(path), name)


def _has(module, name):
    """PyTorch's modules hold helpers of other modules as well; test_absent.py holds which names must be there."""
    try:
        _of(module, name, "torchlite")
    except AttributeError:
        return False
    return True


def _named(module):
    theirs = importlib.import_module("torch" if module == "torch" else "torch." + module)
    for name in sorted(vars(theirs)):
        value = getattr(theirs, name)
        ours = str(getattr(value, "__module__", "")).startswith("torch")
        if not name.startswith("_") and callable(value) and ours:
            yield name


@pytest.mark.parametrize("module", MODULES)
def test_parameters(module):
    from torchlite._core import absent

    wrong = []
    for name in _named(module):
        theirs = _of(module, name, "torch")
        ours = _of(module, name, "torchlite") if _has(module, name) else None
        lacks = absent.table().get("torch" if module == "torch" else "torch." + module, {})
        meant = name in MEANT or "%s.%s" % (module, name) in MEANT or name.endswith("Storage")
        if meant or ours is None or name in lacks or absent.is_absent(ours):
            continue
        expected, found = _parameters(theirs), _parameters(ours)
        if found is None and isinstance(ours, type):
            continue  # a class of the core, or one with any arguments
        if expected is not None and found != expected:
            wrong.append((name, expected, found))
    assert not wrong


def test_methods_of_tensors():
    """Those that PyTorch has in Python; the C ones have no signature there."""
    from torchlite._core import absent

    wrong = []
    for name in sorted(dir(torch.Tensor)):
        expected = None if name.startswith("_") else _parameters(getattr(torch.Tensor, name))
        found = _parameters(getattr(torchlite.Tensor, name)) if expected is not None else None
        if found is not None and found != expected and name not in (*absent.METHODS, *OF_ANY_LAYOUT):
            wrong.append((name, expected, found))
    assert not wrong
