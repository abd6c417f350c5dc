"""Public classes have the public members of PyTorch's: a walk over both. What is not there is listed here."""

import importlib
import sys
import warnings

import pytest

import torchlite
from torchlite._core import absent

real = pytest.importorskip("torch")
MODULES = """torch torch.nn torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.parallel torch.nn.attention
    torch.nn.attention.flex_attention torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.utils.data
    torch.utils.hooks torch.utils.flop_counter torch.utils.dlpack torch.utils._pytree torch.utils._python_dispatch
    torch.distributions torch.distributions.constraints torch.distributions.transforms torch.autograd
    torch.autograd.function torch.autograd.graph torch.autograd.profiler torch.autograd.forward_ad torch.fx
    torch.fx.experimental.proxy_tensor torch.library torch.overrides torch.quasirandom torch.futures torch.storage
    torch.serialization torch.amp torch.profiler torch._ops torch._subclasses.fake_tensor""".split()
# class -> members that torchlite does not have
WITHOUT = {
}


def members(module, only=None):
    """class -> (the class, its public members) of the classes that a module shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(module):
            if name[0] != "_":
                kind = getattr(module, name, None)
                if isinstance(kind, type):
                    yield name, kind


def is_there(kind):
    """Whether it can be used, and does not only say that torchlite lacks it."""
    code = getattr(getattr(kind, "__new__", None), "__code__", None)
    return code is not absent._class("", "").__new__.__code__


@pytest.mark.parametrize("path", MODULES)
def test_members(path):
    own = importlib.import_module(path.replace("torch", "torchlite", 1))
    missing = {}
    for name, kind in members(importlib.import_module(path)):
        if not (kind.__module__ or "").startswith("torch"):
            continue
        try:
            here = getattr(own, name)
        except AttributeError:
            continue  # tests of names say which are not there
        if isinstance(here, type) and is_there(here):
            lacks = {m for m in dir(kind) if m[0] != "_"} - set(dir(here))
            if lacks:
                missing[name] = " ".join(sorted(lacks))
    assert missing == WITHOUT.get(path, {})
