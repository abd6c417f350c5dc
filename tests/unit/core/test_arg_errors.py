"""Texts for calls that fit no signature, against what PyTorch's argument parser says."""

import re

import pytest

import torchlite as torch
from torchlite import _C
from torchlite._core.arg_errors import explain
from torchlite.ops._declare import namespace

REQUIRED = NotImplemented


def params(schema):
    """[(name, type, kwonly, default)] of a signature like "Tensor self, int dim=-1, *, bool x=False"."""
    found, kwonly = [], False
    for part in filter(None, schema.split(", ")):
        if part == "*":
            kwonly = True
            continue
        type_, _, name = part.partition(" ")
        name, equals, default = name.partition("=")
        found.append((name, type_, kwonly, eval(default) if equals else REQUIRED))
    return found


T = object()  # stands for a tensor argument

CASES = [
    ("relu", ["Tensor self"], (1,), {}, "relu(): argument 'input' (position 1) must be Tensor, not int"),
    ("relu", ["Tensor self"], (), {}, 'relu() missing 1 required positional arguments: "input"'),
    ("relu", ["Tensor self"], (T, T), {}, "relu() takes 1 positional argument but 2 were given"),
    ("relu", ["Tensor self"], (T,), {"foo": 1}, "relu() got an unexpected keyword argument 'foo'"),
    ("relu", ["Tensor self"], (T,), {"input": T}, "relu() got multiple values for argument 'input'"),
    (
        "cat",
        ["Tensor[] tensors, int dim=0"],
        ([T, T], 0, 0),
        {},
        "cat() takes from 1 to 2 positional arguments but 3 were given",
    ),
    ("cat", ["Tensor[] tensors, int dim=0"], ([1, 2],), {}, "expected Tensor as element 0 in argument 0, but got int"),
    (
        "cat",
        ["Tensor[] tensors, int dim=0"],
        (T,),
        {},
        "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    ),
    (
        "transpose",
        ["Tensor self, int dim0, int dim1"],
        (T,),
        {},
        'transpose() missing 2 required positional argument: "dim0", "dim1"',
    ),
    (
        "softmax",
        ["Tensor self, int dim, *, ScalarType? dtype=None"],
        (T,),
        {"dim": "x"},
        "softmax(): argument 'dim' must be int, not str",
    ),
    (
        "zeros",
        ["int[] size, *, ScalarType? dtype=None"],
        (2, 3.5),
        {},
        "zeros(): argument 'size' failed to unpack the object at pos 2 with error \"type must be "
        'tuple of ints,but got float"',
    ),
    (
        "zeros",
        ["int[] size, *, ScalarType? dtype=None"],
        ("a",),
        {},
        "zeros(): argument 'size' (position 1) must be tuple of ints, not str",
    ),
    (
        "layer_norm",
        ["Tensor input, int[] normalized_shape"],
        (T, ["x"]),
        {},
        "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, "
        "but found element of type str at pos 0",
    ),
    (
        "add",
        ["Tensor self, Tensor other, *, Scalar alpha=1, Tensor? out=None", "Tensor self, Scalar other, Scalar alpha=1"],
        (1,),
        {},
        "add() received an invalid combination of arguments - got (int), but expected (Tensor input, Tensor other, "
        "*, Number alpha = 1, Tensor out = None)",
    ),
    (
        "add",
        ["Tensor self, Tensor other, *, Scalar alpha=1"],
        (T, "x"),
        {},
        "add(): argument 'other' (position 2) must be Tensor, not str",
    ),
    (
        "eq",
        ["Tensor self, Scalar other, *, Tensor? out=None", "Tensor self, Tensor other, *, Tensor? out=None"],
        (T, "x"),
        {},
        "eq() received an invalid combination of arguments - got (Tensor, str), but expected one of:\n"
        " * (Tensor input, Tensor other, *, Tensor out = None)\n * (Tensor input, Number other, *, "
        "Tensor out = None)\n",
    ),
    (
        "sum",
        [
            "Tensor self, *, ScalarType? dtype=None",
            "Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None",
        ],
        (T,),
        {"foo": 1},
        "sum() received an invalid combination of arguments - got (Tensor, foo=int), but expected one of:\n"
        " * (Tensor input, *, torch.dtype dtype = None)\n"
        " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n",
    ),
]
METHOD_CASES = [
    ("exp", ["Tensor self"], (1,), {}, "TensorBase.exp() takes no arguments (1 given)"),
    (
        "add",
        ["Tensor self, Tensor other, *, Scalar alpha=1"],
        ("x",),
        {},
        "add(): argument 'other' (position 1) must be Tensor, not str",
    ),
    (
        "view",
        ["Tensor self, ScalarType dtype", "Tensor self, int[] size"],
        ("x",),
        {},
        "view() received an invalid combination of arguments - got (str), but expected one of:\n"
        " * (torch.dtype dtype)\n      didn't match because some of the arguments have invalid types: (!str!)\n"
        " * (tuple of ints size)\n      didn't match because some of the arguments have invalid types: (!str!)\n",
    ),
]


@pytest.mark.parametrize("is_method", [False, True])
def test_explain(is_method):
    for name, overloads, args, kwargs, text in METHOD_CASES if is_method else CASES:
        tensor = torch.ones(2, 3)

        def given(x, tensor=tensor):
            if isinstance(x, list):
                return [given(y) for y in x]
            return tensor if x is T else x

        args = tuple(map(given, args))
        kwargs = {k: given(v) for k, v in kwargs.items()}
        error = explain(name, [params(o) for o in overloads], args, kwargs, is_method)
        assert type(error) is TypeError and str(error) == text


def test_functions_in_place_take_no_out():
    x = torch.ones(2)
    with pytest.raises(TypeError, match=re.escape("sinh_() got an unexpected keyword argument 'out'")):
        torch.sinh_(x, out=torch.ones(2))
    taking = [name for name, f in namespace().items() if name.endswith("_") and getattr(f, "takes_out", False)]
    assert not taking and namespace()["sinh"].takes_out


def test_a_kernel_that_does_not_exist_cannot_be_declared():
    with pytest.raises(ValueError, match="no kernel 'no_such', which the declaration of f"):
        _C.Overload("f(Tensor self) -> Tensor", "no_such", None, None, 0)
