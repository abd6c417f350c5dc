"""Calls made from the samples of op declarations."""

import random

import torchlite as torch
from torchlite.ops import _schema, load_all, methods, namespace, specs

load_all()


class Maker:
    """t(*shape, lo=-2, hi=2, dtype=None): a tensor with the same values at every run."""

    def __init__(self, dtype, seed=0, grad=False):
        self.dtype, self.rng, self.grad = dtype, random.Random(seed), grad

    def __getattr__(self, name):
        """t.int64 and the like: the dtypes of torch."""
        return getattr(torch, name)

    def __call__(self, *shape, lo=-2, hi=2, dtype=None, requires_grad=None, **_):
        dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype or self.dtype
        n = 1
        for s in shape:
            n *= s
        if dtype.is_complex:
            values = [complex(self.rng.uniform(lo, hi), self.rng.uniform(lo, hi)) for _ in range(n)]
        elif dtype.is_floating_point:
            values = [self.rng.uniform(lo, hi) for _ in range(n)]
        elif dtype is torch.bool:
            values = [self.rng.random() < 0.5 for _ in range(n)]
        else:
            values = [self.rng.randint(int(lo) if dtype.is_signed else 0, int(hi)) for _ in range(n)]
        t = torch.tensor(values, dtype=dtype).reshape(shape)
        if self.grad and requires_grad is not False and (dtype.is_floating_point or dtype.is_complex):
            t.requires_grad_()
        return t


def calls(spec, dtype, grad=False):
    """(args, kwargs) of each sample."""
    out = []
    for args in spec.samples(Maker(dtype, grad=grad)):
        kwargs = {}
        if args and isinstance(args[-1], dict):
            args, kwargs = args[:-1], args[-1]
        out.append((args, kwargs))
    return out


def bind(spec, args, kwargs):
    """The arguments of a call in the order of the schema, as an op's body gets them."""
    for ov in spec.overloads:
        params = _schema.parse(ov.schema)
        if len(args) <= len(params) and set(kwargs) <= {p.name for p in params}:
            values = list(args) + [kwargs.get(p.name, p.default) for p in params[len(args) :]]
            if not any(v is NotImplemented for v in values):
                return [
                    (v,) * (p.size or 1) if p.type == "int[]" and isinstance(v, int) else v
                    for p, v in zip(params, values)
                ]
    raise AssertionError(f"no overload of {spec.name} takes these arguments")


def path(spec, overload=None):
    """The public place of an op: ("torch", name), ("nn.functional", name) or ("Tensor", name);
    None for internal ones."""
    place = {"": "", "nn": "nn.functional", "linalg": "linalg", "special": "special", "fft": "fft"}.get(spec.namespace)
    if place is None:
        return None
    if not spec.function or (spec.namespace == "" and spec.name.startswith("_")):
        return ("Tensor", spec.name) if not spec.name.startswith("_") else None
    return place, spec.name.removeprefix(spec.namespace + "_") if spec.namespace else spec.name


def resolve(root, where):
    """The callable at a place in a torch-like module, or None."""
    if where is None:
        return None
    place, name = where
    obj = root.Tensor if place == "Tensor" else root
    if place and place != "Tensor":
        for part in place.split("."):
            obj = getattr(obj, part, None)
    return getattr(obj, name, None)


def declared_function(spec, suffix=""):
    """Our function or method of a declaration (its in-place form with suffix "_")."""
    short = spec.name.removeprefix(spec.namespace + "_" if spec.namespace else "") + suffix
    return namespace(spec.namespace).get(short) if spec.function else methods()[short]


def sampled():
    return [s for s in specs if s.samples is not None]


def ident(spec):
    return (spec.namespace + "." if spec.namespace else "") + spec.schemas[0].partition("(")[0]


def tensors(x):
    """The tensors of a result, in order."""
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for v in x for t in tensors(v)]
    return []
