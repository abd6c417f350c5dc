"""Ops take the limited dtypes that PyTorch's take, with results of the same dtypes: the declarations' samples."""

import functools
import warnings

import pytest

import torchlite
from declared import calls, declared_function, ident, path, resolve, sampled

torch = pytest.importorskip("torch")
# an op, and the dtypes that it takes here and not in PyTorch (u unsigned, f 8-bit floats, c complex32): its body is
# made of ops that take them in PyTorch too
MORE = {
    "convolution": "c",
    "renorm": "c",
    "trace": "u",
    "combinations": "u",
    "vander": "u",
    "addr": "c",
    "cross": "c",
    "trapezoid.dx": "u",
    "pixel_shuffle": "ufc",
    "pixel_unshuffle": "ufc",
    "channel_shuffle": "ufc",
    "linalg.linalg_matrix_exp": "fc",
    "linalg.linalg_cross": "c",
}
# the other way round: samples that need no computing in PyTorch (a sum of one element), or that it adds up in halves
LESS = {
    "conv_tbc": "f",
    "index_reduce": "fc",
    "nn.l1_loss": "c",
    "inner": "f",
    "sum.dim_IntList": "f",
    "sum_to_size": "f",
}
DTYPES = {"uint64": "u", "float8_e5m2": "f", "complex32": "c"}
BASES = {
    "u": (torchlite.int64, torchlite.uint8, torchlite.float32),
    "f": (torchlite.float32, torchlite.int64),
    "c": (torchlite.complex64, torchlite.float32),
}


def changed(x, change):
    if isinstance(x, torchlite.Tensor):
        return change(x)
    if isinstance(x, dict):
        return {k: changed(v, change) for k, v in x.items()}
    return type(x)(changed(v, change) for v in x) if type(x) in (tuple, list) else x


def limited(t, base, dtype):
    return t.detach().to(dtype) if t.dtype is base else t


def theirs(x):
    if isinstance(x, torchlite.Tensor):
        raw = bytearray(bytes(memoryview(x.contiguous().clone().untyped_storage())))
        dtype = getattr(torch, x.dtype.name)
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return flat[: x.numel()].reshape(tuple(x.shape))
    if isinstance(x, torchlite.dtype):
        return getattr(torch, x.name)
    if isinstance(x, dict):
        return {k: theirs(v) for k, v in x.items()}
    return type(x)(map(theirs, x)) if type(x) in (tuple, list) else x


def outcome(f, args, kwargs, lib):
    """The dtypes of the results, or that there are none."""
    try:
        r = f(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return "refused"
    return [str(t.dtype) for t in (r if isinstance(r, (tuple, list)) else [r]) if isinstance(t, lib.Tensor)]


def samples(spec, bases):
    for base in bases:
        try:
            return base, calls(spec, base)[:3]
        except (RuntimeError, TypeError, ValueError):
            continue
    return None, []


@pytest.mark.parametrize("name", DTYPES)
def test_ops_take_what_pytorchs_take(name):
    kind, dtype, wrong = DTYPES[name], getattr(torchlite, name), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for spec in sampled():
            real, known = resolve(torch, path(spec)), MORE.get(ident(spec), "") + LESS.get(ident(spec), "")
            base, found = samples(spec, BASES[kind]) if real is not None and kind not in known else (None, [])
            for args, kwargs in found:
                args, kwargs = changed((args, kwargs), functools.partial(limited, base=base, dtype=dtype))
                got = outcome(declared_function(spec), args, kwargs, torchlite)
                want = outcome(real, theirs(args), theirs(kwargs), torch)
                if got != want:
                    wrong.append((ident(spec), got, want))
    assert not wrong
