"""Each declared op on the meta device: dtypes, shapes and strides of its results and gradients are the CPU's."""

import warnings

import pytest
import torchlite as torch
from declared import calls, declared_function, ident, sampled, tensors
from torchlite.ops import _schema

# what these return, or whether they raise, depends on numbers
BY_NUMBERS = {
    "_rnn_layer",
    "allclose",
    "argwhere",
    "bincount",
    "equal",
    "gaussian_nll_loss",
    "histogram",
    "histogramdd",
    "is_nonzero",
    "item",
    "linalg_lstsq",
    "lstsq",
    "masked_select",
    "nonzero",
    "nonzero_numpy",
    "nonzero_static",
    "repeat_interleave",
    "unique",
    "unique_consecutive",
    "unique_dim",
    "_unique",
    "_unique2",
}


def on_meta(x):
    """The same call without numbers; what a leaf was stays one."""
    if isinstance(x, torch.Tensor):
        extent = x.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) if x.numel() else 0
        t = torch.empty(extent, dtype=x.dtype, device="meta").as_strided(x.shape, x.stride(), x.storage_offset())
        return t.requires_grad_(x.requires_grad)
    if isinstance(x, (list, tuple)):
        return type(x)(on_meta(v) for v in x)
    return x


def geometry(x):
    return [(str(t.dtype), tuple(t.shape), t.stride()) for t in tensors(x)]


def gradients(function, args, kwargs):
    leaves = [t for t in tensors(list(args) + list(kwargs.values())) if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*args, **kwargs)
        outs = [t for t in tensors(result) if t.requires_grad]
        grads = torch.autograd.grad(outs, leaves, [torch.ones_like(t) for t in outs], allow_unused=True) if outs else ()
    assert all(t.is_meta for t in tensors(result)) or not any(t.is_meta for t in tensors(list(args)))
    return geometry(result), [None if g is None else geometry(g) for g in grads]


@pytest.mark.parametrize("spec", sampled(), ids=ident)
@pytest.mark.parametrize("grad", [False, True], ids=["result", "gradients"])
def test_geometry(spec, grad):
    if spec.name in BY_NUMBERS:
        pytest.skip("the shape of its result depends on numbers, which a meta tensor has not")
    function, made = declared_function(spec), 0
    for args, kwargs in calls(spec, torch.float32, grad=grad):
        if spec.name.endswith("_") and grad:
            continue  # a leaf
        args = [a.clone() if i == 0 and spec.name.endswith("_") else a for i, a in enumerate(args)]
        far = on_meta(args), {k: on_meta(v) for k, v in kwargs.items()}
        if "batch_sizes" in spec.schemas[0]:  # whose numbers count
            at = [p.name for p in _schema.parse(spec.schemas[0])].index("batch_sizes")
            far[0][at] = args[at]
        if not tensors(list(args) + list(kwargs.values())):
            if "device" in kwargs or "Device? device" not in spec.schemas[0]:
                continue
            far[1]["device"] = "meta"
        try:
            expected = gradients(function, args, kwargs)
        except RuntimeError as error:
            assert "is not implemented" in str(error)  # no derivative, on neither device
            continue
        assert gradients(function, *far) == expected, (args, kwargs)
        made += 1
    if not made:
        pytest.skip("none of its samples has a gradient to compare" if grad else "none of its samples has a tensor")


@pytest.mark.parametrize("name", ["nonzero", "unique", "masked_select", "equal", "bincount"])
def test_what_depends_on_numbers_says_so(name):
    x = torch.empty(4, dtype=torch.int64, device="meta")
    args = {"masked_select": (x > 0,), "equal": (x,)}.get(name, ())
    with pytest.raises((NotImplementedError, RuntimeError), match="Meta tensors|meta tensors|meta device"):
        getattr(x, name)(*args)
