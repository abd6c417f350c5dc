"""Tests that follow from the declarations:
every op with samples against its body, real PyTorch and central differences."""

import math
import sys
import warnings

import pytest
import torchlite as torch
import torchlite.autograd.forward_ad as forward_ad
from declared import bind, calls, declared_function, ident, path, resolve, sampled, tensors
from torchlite.ops import _schema, specs

from torchlite import _C

try:
    import torch as real

    if not hasattr(real, "_C") or hasattr(real.version, "torchlite"):
        real = None
except ImportError:
    real = None

needs_torch = pytest.mark.skipif(real is None, reason="real PyTorch is not importable here")
TOL = {"float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
# ops whose gradient has no derivative
IN_PYODIDE = sys.platform == "emscripten"  # where what is Python only is not tried for each op again
NO_SECOND = {"ctc", "igamma", "igammac"}
LABELS = {"hinge_embedding_loss", "cosine_embedding_loss"}  # an argument of 1 or -1 that a step changes
UNIQUE_UP_TO_SIGN = {"linalg_svd"}  # its own tests look at what the factors must satisfy
RANDOM = {"dropout", "rand", "randn", "bernoulli", "multinomial", "normal", "rrelu", "alpha_dropout", "feature_dropout"}


def close(a, b, rtol, atol):
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, complex) or isinstance(b, complex):
        a, b = complex(a), complex(b)
        return close(a.real, b.real, rtol, atol) and close(a.imag, b.imag, rtol, atol)
    if a == b or (a != a and b != b):
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= atol + rtol * abs(b)


def same(ours, theirs, spec, dtype):
    rtol, atol = (spec.tol or {}).get(dtype, TOL[dtype])
    a, b = tensors(ours), theirs
    assert len(a) == len(b), (len(a), len(b))
    for x, y in zip(a, b):
        assert tuple(x.shape) == tuple(y.shape)
        assert str(x.dtype) == str(y.dtype)
        assert close(x.tolist(), y.tolist(), rtol, atol), (x, y)


def run(spec, args, kwargs):
    if spec.name.endswith("_") and args and isinstance(args[0], torch.Tensor):  # in place: the sample stays as it is
        args = (args[0].clone(), *args[1:])
    return declared_function(spec)(*args, **kwargs)


def to_real(x):
    if isinstance(x, torch.Tensor):
        t = real.tensor(x.detach().tolist(), dtype=getattr(real, str(x.dtype)[6:])).reshape(tuple(x.shape))
        return (
            real.as_strided(_room(x), tuple(x.shape), x.stride(), 0).copy_(t)
            if x.numel() and not x.is_contiguous()
            else t
        )
    if isinstance(x, torch.dtype):
        return getattr(real, str(x)[6:])
    if isinstance(x, (list, tuple)):
        return type(x)(to_real(v) for v in x)
    return x


def _room(x):
    return real.zeros(
        1 + sum((s - 1) * st for s, st in zip(x.shape, x.stride())), dtype=getattr(real, str(x.dtype)[6:])
    )


def real_tensors(x):
    if isinstance(x, real.Tensor):
        return [x]
    return [t for v in x for t in real_tensors(v)] if isinstance(x, (list, tuple)) else []


def is_random(spec):
    return any(spec.name.startswith(n) for n in RANDOM)


@pytest.mark.parametrize("spec", specs, ids=ident)
def test_declaration(spec):
    """The schema reads, its kernel exists, gradients name tensor arguments, and the op is documented."""
    for schema in spec.schemas:
        params = {p.name for p in _schema.parse(schema)}
        if isinstance(spec.grad, dict):
            assert set(spec.grad) <= params
    if spec.kernel is not None:
        assert spec.kernel in _C.kernels
    else:
        assert spec.body is not None
    assert spec.doc and spec.doc.strip()


# declared with the signature of PyTorch's Python function, which differs from the operator of the same name
PYTHON_SIGNATURES = {
    "embedding",
    "embedding_bag",
    "pad",
    "dropout",
    "alpha_dropout",
    "feature_alpha_dropout",
    "nonzero",
    "polygamma",
}


def _arguments(schema):
    return [(a.name, str(a.type), a.kwarg_only) for a in schema.arguments if not a.is_out]


@needs_torch
def test_schemas_are_pytorchs():
    """Public schemas have PyTorch's argument names, in its order, keyword-only where PyTorch has them so."""
    wrong = []
    for spec in specs:
        for text in spec.schemas:
            name, overload, _, _ = _schema.split(text)
            if name in PYTHON_SIGNATURES:
                continue
            full = name if spec.namespace in ("", "nn", "aten") else "%s_%s" % (spec.namespace, name)
            try:
                theirs = real._C._get_schema("aten::" + full, overload)
            except RuntimeError:
                continue  # Python functions of PyTorch have no schema
            ours = [(p.name, p.kwonly) for p in _schema.parse(text) if p.name not in ("requires_grad", "generator")]
            # overloads with and without it are one here
            want = [(n, k) for n, _, k in _arguments(theirs) if n != "generator"]
            if ours != want:
                wrong.append((text, want))
    assert not wrong


@needs_torch
@pytest.mark.parametrize(
    "spec", [s for s in sampled() if path(s) and not is_random(s) and s.name not in UNIQUE_UP_TO_SIGN], ids=ident
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_pytorch(spec, dtype):
    fn = getattr(real._C._nn, spec.name, None) if spec.namespace == "nn" else None
    fn = fn or resolve(real, path(spec)) or getattr(real.ops.aten, spec.name, None)
    if fn is None:
        pytest.skip("PyTorch has no function of this name")
    for args, kwargs in calls(spec, getattr(torch, dtype)):
        names = [p.name for p in _schema.parse(spec.schemas[0])]
        if "reduction=Mean" in spec.schemas[0] and len(args) <= names.index("reduction"):
            kwargs = {"reduction": 1, **kwargs}  # PyTorch's own binding takes 0 for this default
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = fn(*to_real(list(args)), **{k: to_real(v) for k, v in kwargs.items()})
            ours = run(spec, args, kwargs)
            same(ours, real_tensors(want), spec, dtype)
        # a view in PyTorch may be a copy here, as PyTorch's documentation allows, but not the other way round
        assert not any(a._is_view() and not b._is_view() for a, b in zip(tensors(ours), real_tensors(want)))


@pytest.mark.parametrize("spec", [s for s in sampled() if s.kernel and s.body and not is_random(s)], ids=ident)
def test_kernel_against_body(spec):
    """The body is the meaning of the op; the kernel agrees with it."""
    for args, kwargs in calls(spec, torch.float64):
        same(run(spec, args, kwargs), tensors(spec.body(*bind(spec, args, kwargs))), spec, "float64")


DIFFERENTIABLE = [
    s for s in sampled() if s.differentiable and s.grad != {} and not is_random(s) and s.name not in UNIQUE_UP_TO_SIGN
]


def _function(spec, args, kwargs):
    """The call as a function of its tensor arguments (those inside lists too)."""
    slots = []

    def collect(v):
        if isinstance(v, torch.Tensor):
            slots.append(v)
            return len(slots) - 1, True
        return v, False

    def shape(v):
        if isinstance(v, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in v):
            return [collect(x) for x in v], "list"
        return collect(v)

    plan = [shape(v) for v in args]
    named = {k: shape(v) for k, v in kwargs.items()}

    def fn(*ts):
        def build(p):
            value, kind = p
            if kind == "list":
                return [ts[i] if k else i for i, k in value]
            if kind:
                return ts[value]
            return value

        out = run(spec, [build(p) for p in plan], {k: build(p) for k, p in named.items()})
        return tuple(
            t
            for i, t in enumerate(tensors(out))
            if i not in spec.nondiff and (t.dtype.is_floating_point or t.dtype.is_complex)
        )

    return fn, slots


def _small(spec, most):
    """The samples with at most so many elements in all, or the smallest: differences take a call for each element."""
    made = [_function(spec, args, kwargs) for args, kwargs in calls(spec, torch.float64, grad=True)]
    made = [(fn, ts) for fn, ts in made if any(t.requires_grad for t in ts)]
    size = [sum(t.numel() for t in ts) for _, ts in made]
    return [m for m, n in zip(made, size) if n <= max(most, min(size))]


@pytest.mark.parametrize("spec", DIFFERENTIABLE, ids=ident)
def test_gradcheck(spec):
    checked = 0
    for fn, ts in _small(spec, 200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = fn(*ts)
            if not any(o.requires_grad for o in out):
                continue
            assert torch.autograd.gradcheck(fn, ts, atol=1e-5, rtol=1e-3)
        checked += 1
    assert checked, "no sample has a differentiable output"


FORWARD = {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}


@pytest.mark.parametrize("spec", [s for s in DIFFERENTIABLE if s.grad is not None], ids=ident)
def test_gradgradcheck(spec):
    checked = 0
    for fn, ts in _small(spec, 40)[:2]:
        if any(o.requires_grad for o in fn(*ts)):
            assert torch.autograd.gradgradcheck(fn, ts, atol=1e-4, rtol=1e-3)
            if not checked and not IN_PYODIDE:
                assert torch.autograd.gradgradcheck(fn, ts, atol=1e-4, rtol=1e-3, fast_mode=True, **FORWARD)
            checked += 1
    assert checked, "no sample has a differentiable output"


def _along(fn, ts, us, eps=1e-6):
    """The change of fn's outputs per step along us, by central differences."""
    high, low = (fn(*(t if u is None else t + sign * eps * u for t, u in zip(ts, us))) for sign in (1, -1))
    return [(a - b) / (2 * eps) for a, b in zip(high, low)]


def check_forward(fn, ts):
    """The tangents that forward-mode AD gives the outputs are their changes along the inputs' tangents."""
    generator = torch.Generator().manual_seed(0)
    us = [torch.randn(t.shape, generator=generator, dtype=t.dtype) if t.requires_grad else None for t in ts]
    ts = [t.detach() for t in ts]
    with forward_ad.dual_level():
        outs = fn(*(t.clone() if u is None else forward_ad.make_dual(t.clone(), u.clone()) for t, u in zip(ts, us)))
        got = [forward_ad.unpack_dual(o).tangent for o in outs]
    for o, tangent, want in zip(outs, got, _along(fn, ts, us)):
        if tangent is None:
            assert not want.any(), "an output that changes has no tangent"
        else:
            assert tangent.shape == o.shape and tangent.dtype == o.dtype
            assert torch.allclose(tangent, want, 1e-4, 1e-5), (tangent, want)


@pytest.mark.skipif(IN_PYODIDE, reason="forward-mode AD is Python; the host tries it for each op")
@pytest.mark.parametrize("spec", [s for s in DIFFERENTIABLE if s.name not in LABELS], ids=ident)
def test_forward_ad(spec):
    for fn, ts in _small(spec, 40)[:3]:
        if not any(o.requires_grad for o in fn(*ts)):
            continue
        try:
            check_forward(fn, ts)
        except NotImplementedError as e:
            assert spec.name in NO_SECOND, e


@pytest.mark.skipif(IN_PYODIDE, reason="forward-mode AD is Python; the host tries it for each op")
@pytest.mark.parametrize("spec", [s for s in DIFFERENTIABLE if s.inplace], ids=ident)
def test_forward_ad_in_place(spec):
    change = declared_function(spec, "_")
    for args, kwargs in calls(spec, torch.float64)[:3]:
        if not isinstance(args[0], torch.Tensor):
            continue
        want = run(spec, args, kwargs)
        if want.shape != args[0].shape or want.dtype != args[0].dtype:
            continue
        rest = args[1:]

        def of_a_view(x):
            whole = torch.zeros(2, *x.shape, dtype=x.dtype)
            part = whole[1]
            part.copy_(x)
            change(part, *rest, **kwargs)
            return whole, part

        try:
            check_forward(of_a_view, [args[0].detach().requires_grad_()])
        except NotImplementedError as e:
            assert spec.name in NO_SECOND, e


def _smallest_complex(spec):
    """The smallest sample that the op takes with complex numbers, or None."""
    try:
        made = [_function(spec, args, kwargs) for args, kwargs in calls(spec, torch.complex128, grad=True)]
    except (RuntimeError, TypeError):
        return None  # the sample itself is made for real numbers
    made = sorted(
        (m for m in made if any(t.requires_grad and t.is_complex() for t in m[1])),
        key=lambda m: sum(t.numel() for t in m[1]),
    )
    for fn, ts in made:
        if sum(t.numel() for t in ts) > 36:
            return None
        try:
            if any(o.requires_grad for o in fn(*ts)):
                return fn, ts
        except (RuntimeError, TypeError, NotImplementedError):
            pass
    return None


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    COMPLEX = [pytest.param(*found, id=ident(s)) for s in DIFFERENTIABLE for found in [_smallest_complex(s)] if found]


@pytest.mark.parametrize("fn, ts", COMPLEX)
def test_complex_gradients(fn, ts):
    assert torch.autograd.gradcheck(fn, ts, atol=1e-5, rtol=1e-3, fast_mode=True)
    assert torch.autograd.gradgradcheck(fn, ts, atol=1e-4, rtol=1e-3, fast_mode=True)
    check_forward(fn, ts)


def test_complex_gradients_cover():
    """Operators that lose their complex numbers are missed here."""
    assert len(COMPLEX) > 200


@pytest.mark.parametrize("spec", [s for s in sampled() if s.inplace and not is_random(s)], ids=ident)
def test_inplace_variant(spec):
    done = 0
    for args, kwargs in calls(spec, torch.float32):
        if not isinstance(args[0], torch.Tensor):
            continue
        want = run(spec, args, kwargs)
        if want.shape != args[0].shape or not torch.can_cast(want.dtype, args[0].dtype):
            continue
        x = args[0].clone()
        got = declared_function(spec, "_")(x, *args[1:], **kwargs)
        assert got is x and x._version > 0
        same(x, [want.to(x.dtype)], spec, "float32")
        done += 1
    assert done, "no sample keeps its shape"


@pytest.mark.parametrize(
    "spec", [s for s in sampled() if s.out and path(s) and path(s)[0] != "Tensor" and not is_random(s)], ids=ident
)
def test_out_variant(spec):
    for args, kwargs in calls(spec, torch.float32)[:3]:
        want = run(spec, args, kwargs)
        if not isinstance(want, torch.Tensor):
            continue
        out = torch.empty(0, dtype=want.dtype)
        got = declared_function(spec)(*args, out=out, **kwargs)
        assert got is out
        same(out, [want], spec, "float32")


@pytest.mark.parametrize("spec", [s for s in sampled() if "pointwise" in s.tags and not is_random(s)], ids=ident)
def test_strides_do_not_matter(spec):
    """Transposed, expanded and offset inputs give the values of contiguous ones."""
    for args, kwargs in calls(spec, torch.float32)[:2]:

        def spread(v):
            if not isinstance(v, torch.Tensor) or v.dim() == 0:
                return v
            room = torch.zeros([s * 2 + 1 for s in v.shape], dtype=v.dtype)
            view = room[tuple(slice(1, None, 2) for _ in v.shape)]
            view.copy_(v)
            return view

        same(run(spec, [spread(a) for a in args], kwargs), tensors(run(spec, args, kwargs)), spec, "float32")
