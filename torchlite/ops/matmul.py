"""Products of vectors, matrices and batches, and what is built from them: linear, tensordot, attention and the like."""

import functools
import math

import torchlite as torch

from .._core.errors import not_implemented, repeated_dim
from .. import _C
from ._declare import Nodes, _functions, bodies, op, reference
from ._out import ADDMV, EXACT, INPUT_DTYPE, Out
from .einsum import einsum


def _times(g, number):
    """g * number, conjugated; nothing to do for 1."""
    if isinstance(number, complex):
        number = number.conjugate()
    return g if number == 1 else g * number


def _rows(x):
    """All vectors of the last dim as one matrix."""
    return x if x.dim() == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _by_columns(shape, strides):
    """Whether a tensor, its vectors of the last dim taken as the rows of a matrix, lies by columns."""
    if len(shape) == 2:
        return strides == (1, shape[0])
    step = 1
    for n, s in zip(reversed(shape[:-1]), reversed(strides[:-1])):
        if s != step and n != 1:
            return False
        step *= n
    return strides[-1] == step


def _left_grad(g, right, by_columns, alpha=1):
    """Gradient of a product's left matrix; column-major if that matrix is, as in PyTorch."""
    return _times(right.conj().mm(g.t()).t() if by_columns else g.mm(right.t().conj()), alpha)


def _right_grad(g, left, by_columns, alpha=1):
    """Gradient of a product's right matrix; column-major if that matrix is, as in PyTorch."""
    return _times(g.t().mm(left.conj()).t() if by_columns else left.t().conj().mm(g), alpha)


def _weighted(x, product, beta, alpha):
    """beta * x + alpha * product, where a beta of 0 hides x."""
    return product * alpha if beta == 0 else product * alpha + x * beta


# ---- the kernels -----------------------------------------------------------------------------------------------------
@op(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    kernel="mm",
    tags="own",
    out=Out(EXACT),
    grad={
        "self": lambda c, g: _left_grad(g, c.mat2, _by_columns(c.self_shape, c.self_strides)),
        "mat2": lambda c, g: _right_grad(g, c.self, _by_columns(c.mat2_shape, c.mat2_strides)),
    },
    samples=lambda t: [(t(3, 4), t(4, 5)), (t(2, 3), t(3, 1))],
)
def mm(self, mat2):
    """Product of the matrices `self` (n, k) and `mat2` (k, m): a matrix (n, m)."""
    return self.unsqueeze(0).bmm(mat2.unsqueeze(0)).squeeze(0)


@op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    kernel="bmm",
    out=Out(EXACT),
    grad={
        "self": lambda c, g: g.bmm(c.mat2.transpose(1, 2).conj()),
        "mat2": lambda c, g: c.self.transpose(1, 2).conj().bmm(g),
    },
    samples=lambda t: [(t(2, 3, 4), t(2, 4, 5))],
    tags="reference",
)
def bmm(self, mat2):
    """Products of the matrices in two batches (b, n, k) and (b, k, m), one by one."""
    return reference.bmm(self, mat2)


def _vector_dtype(args, result, out, i):
    """mv, which resizes before it looks at dtypes."""
    return ADDMV if out.shape == result.shape else EXACT


@op(
    "mv(Tensor self, Tensor vec) -> Tensor",
    kernel="mv",
    tags="own",
    out=Out(_vector_dtype),
    grad={"self": lambda c, g: torch.outer(g, c.vec.conj()), "vec": lambda c, g: c.self.t().conj().mv(g)},
    samples=lambda t: [(t(3, 4), t(4))],
)
def mv(self, vec):
    """Product of the matrix `self` (n, k) and the vector `vec` (k): a vector (n)."""
    return self.mm(vec.unsqueeze(1)).squeeze(1)


@op(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    kernel="dot",
    tags="own",
    out=Out(INPUT_DTYPE),
    grad={"self": lambda c, g: g * c.tensor.conj(), "tensor": lambda c, g: g * c.self.conj()},
    samples=lambda t: [(t(5), t(5))],
)
def dot(self, tensor):
    """Sum of the products of two vectors' elements."""
    return self.unsqueeze(0).mv(tensor).squeeze(0)


@op(
    "vdot(Tensor self, Tensor other) -> Tensor",
    kernel="vdot",
    out=Out(INPUT_DTYPE),
    grad={"self": lambda c, g: g.conj() * c.other, "other": lambda c, g: g * c.self},
    samples=lambda t: [(t(5), t(5))],
)
def vdot(self, other):
    """`dot` with the first vector conjugated."""
    return self.conj().dot(other)


def _matmul_self(c, g):
    b, shape, strides = c.other, c.self_shape, c.self_strides
    left, right = len(shape), b.dim()
    if right == 1:
        return g * b.conj() if left == 1 else torch.outer(g.reshape(-1), b.conj()).reshape(shape)
    if left == 1:
        return b.conj().mv(g) if right == 2 else _rows(b.mT).t().conj().mv(g.reshape(-1))
    if left == right == 3 and shape[0] != b.shape[0]:  # a batch of one is a matrix
        if shape[0] == 1:
            left, shape, strides = 2, shape[1:], strides[1:]
        elif b.shape[0] == 1 and c.needs_other:
            b, right = b[0], 2
    if right == 2:
        columns = _by_columns(shape, strides) and (left == 2 or c.needs_other or _is_matrix(shape, strides))
        return _left_grad(_rows(g), b, columns) if left == 2 else _left_grad(_rows(g), b, columns).reshape(shape)
    if left == 2:  # the batch's matrices are one tall matrix, transposed, times this one's transpose
        out = _right_grad(_rows(g.mT), _rows(b.mT), strides == (shape[1], 1)).t()
        return out if shape is c.self_shape else out.unsqueeze(0)
    return g.matmul(_expanded(b, g).mT.conj()).sum_to_size(shape)


def _matmul_other(c, g):
    a, shape, strides = c.self, c.other_shape, c.other_strides
    left, right = a.dim(), len(shape)
    if left == 1 and right == 1:
        return g * a.conj()
    if right == 1:
        return _rows(a).t().conj().mv(g.reshape(-1))
    if left == right == 3 and shape[0] != a.shape[0]:  # a batch of one is a matrix
        if a.shape[0] == 1 and c.needs_self:
            a, left = a[0], 2
        elif shape[0] == 1:
            right, shape, strides = 2, shape[1:], strides[1:]
    if right == 2:
        out = _right_grad(
            _rows(g.unsqueeze(-2) if left == 1 else g),
            _rows(a.unsqueeze(0) if left == 1 else a),
            _by_columns(shape, strides),
        )
        return out if shape is c.other_shape else out.unsqueeze(0)
    a, g = (a.unsqueeze(0), g.unsqueeze(-2)) if left == 1 else (a, g)
    strides = (*strides[:-2], strides[-1], strides[-2])
    turned = (*shape[:-2], shape[-1], shape[-2])
    if left == 2 and c.needs_self or left == 1 and (c.needs_self or _is_matrix(turned, strides)):
        # as for self, the other way round
        return _left_grad(_rows(g.mT), a.t(), left == 2 and _by_columns(turned, strides)).reshape(turned).mT
    a = _expanded(a, g)
    if math.prod(shape[:-2]) == 1 and a.dim() > 2:  # one matrix for the whole batch: a single tall product
        return _rows(a).t().conj().mm(_rows(g)).reshape(shape)
    return a.mT.conj().matmul(g).sum_to_size(shape)


def _expanded(x, g):
    """x expanded to the batch dims of g, before its matrices are transposed; autograd then sums over those dims."""
    return x if x.shape[:-2] == g.shape[:-2] else x.expand((*g.shape[:-2], *x.shape[-2:]))


def _is_matrix(shape, strides):
    """Whether the rows of a batch's matrices are those of one matrix without a copy."""
    return 0 in shape or all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 2))


def _flat(edge):
    """How PyTorch makes one dim of several: by a copy, a view with strides, or a view."""
    return ("UnsafeViewBackward0", ("CloneBackward0", edge)), ("ReshapeAliasBackward0", edge), ("ViewBackward0", edge)


def _flattens(x, matrices):
    """Which of these: for the rows of matrices as rows of one, or for a batch of them as one dim."""
    if x.is_contiguous():
        return 2
    return _is_matrix(x.shape[: x.dim() - matrices], x.stride()[: x.dim() - matrices])


_PRODUCTS = {1: "MvBackward0", 2: "MmBackward0"}
_ROW_PRODUCT = Nodes("SqueezeBackward4", ("MmBackward0", ("UnsqueezeBackward0", 0), 1))


@functools.cache
def _rows_product(m, how):
    return Nodes("UnsafeViewBackward0", (_PRODUCTS[m], _flat(0)[how], 1))


@functools.cache
def _batch_product(left, right):
    x, y = _flat(("ExpandBackward0", 0))[left], _flat(("ExpandBackward0", 1))[right]
    return Nodes("UnsafeViewBackward0", ("BmmBackward0", x, y))


def _matmul_node(args):
    """The ops of which PyTorch's matmul is made."""
    x, y = args
    n, m = x.dim(), y.dim()
    if n > 2 and m > 2:
        return _batch_product(_flattens(x, 1), _flattens(y, 1))
    if n > 2:
        return _rows_product(m, _flattens(x, 0))
    if n == 1 and m == 2:
        return _ROW_PRODUCT
    if n == 2 and m < 3:
        return _PRODUCTS[m]
    return "DotBackward0" if m == 1 else "UnsafeViewBackward0"


def _product_dtype(args, result, out, i):
    """matmul refuses in the words of dot, mv or mm."""
    dims = args[0].dim(), args[1].dim()
    if dims == (1, 1):
        return INPUT_DTYPE
    return _vector_dtype(args, result, out, i) if 1 in dims else EXACT


@op(
    "matmul(Tensor self, Tensor other) -> Tensor",
    kernel="matmul",
    tags="own",
    out=Out(_product_dtype),
    grad={"self": _matmul_self, "other": _matmul_other},
    alias=("linalg.matmul",),
    node=_matmul_node,
    samples=lambda t: [
        (t(3, 4), t(4, 5)),
        (t(4), t(4)),
        (t(2, 3, 4), t(4)),
        (t(4), t(2, 4, 3)),
        (t(2, 1, 3, 4), t(5, 4, 2)),
        (t(2, 3, 4), t(4, 5)),
    ],
)
def matmul(self, other):
    """Matrix product over the last two dims;
    dims in front broadcast, vectors count as a row on the left and as a column on the right."""
    return bodies.matmul(self, other)


@op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel="addmm",
    inplace=True,
    out=Out(EXACT),
    grad={
        "self": lambda c, g: _times(g, c.beta),
        "mat1": lambda c, g: _left_grad(g, c.mat2, _by_columns(c.mat1_shape, c.mat1_strides), c.alpha),
        "mat2": lambda c, g: _right_grad(g, c.mat1, _by_columns(c.mat2_shape, c.mat2_strides), c.alpha),
    },
    samples=lambda t: [(t(3, 5), t(3, 4), t(4, 5)), (t(5), t(3, 4), t(4, 5), {"beta": 0.5, "alpha": 2})],
)
def addmm(self, mat1, mat2, beta=1, alpha=1):
    """beta * self + alpha * (mat1 @ mat2); `self` is broadcast to the product's shape and ignored when beta is 0."""
    return _weighted(self, mat1.mm(mat2), beta, alpha)


@op(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel="addmv",
    inplace=True,
    out=Out(EXACT),
    grad={
        "self": lambda c, g: _times(g, c.beta),
        "mat": lambda c, g: _times(torch.outer(g, c.vec.conj()), c.alpha),
        "vec": lambda c, g: _times(c.mat.t().conj().mv(g), c.alpha),
    },
    samples=lambda t: [(t(3), t(3, 4), t(4)), (t(3), t(3, 4), t(4), {"beta": 2, "alpha": 0.5})],
)
def addmv(self, mat, vec, beta=1, alpha=1):
    """beta * self + alpha * (mat @ vec)."""
    return _weighted(self, mat.mv(vec), beta, alpha)


@op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel="baddbmm",
    inplace=True,
    out=Out(EXACT),
    grad={
        "self": lambda c, g: _times(g, c.beta),
        "batch1": lambda c, g: _times(g.bmm(c.batch2.transpose(1, 2).conj()), c.alpha),
        "batch2": lambda c, g: _times(c.batch1.transpose(1, 2).conj().bmm(g), c.alpha),
    },
    samples=lambda t: [
        (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)),
        (t(3, 5), t(2, 3, 4), t(2, 4, 5), {"beta": 2, "alpha": 0.5}),
    ],
)
def baddbmm(self, batch1, batch2, beta=1, alpha=1):
    """beta * self + alpha * bmm(batch1, batch2)."""
    return _weighted(self, batch1.bmm(batch2), beta, alpha)


def _linear_input(c, g):
    w = c.weight
    if w.dim() == 1:
        return torch.outer(g.reshape(-1), w.conj()).reshape(c.input_shape)
    shape, strides = c.input_shape, c.input_strides
    if not _by_columns(shape, strides) or len(shape) > 2 and not c.needs_weight and not _is_matrix(shape, strides):
        return g.matmul(w.conj())
    out = _left_grad(_row_matrix(g), w.t(), True)
    return out if len(shape) == 2 else out.reshape(shape)


def _linear_weight(c, g):
    x = c.input
    if len(c.weight_shape) == 1:
        return _row_matrix(x).t().conj().mv(g.reshape(-1))
    return _right_grad(_row_matrix(g), _row_matrix(x), c.weight_strides == (c.weight_shape[1], 1)).t()


def _linear_bias(c, g):
    if len(c.weight_shape) == 1:
        return g
    g = _row_matrix(g)
    return g.sum(0) if len(c.bias_shape) == 1 else g


def _row_matrix(x):
    return x.unsqueeze(0) if x.dim() == 1 else _rows(x)


_TURNED = "TBackward0", 2  # of the edges 0 (bias), 1 (input), 2 (weight)
_LINEAR = Nodes("MmBackward0", 1, _TURNED)
_LINEAR_BIAS = Nodes("AddmmBackward0", 0, 1, _TURNED)
_LINEAR_ROWS = Nodes("ViewBackward0", ("AddmmBackward0", 0, ("ViewBackward0", 1), _TURNED))
_LINEAR_ROW = Nodes("SqueezeBackward4", ("MmBackward0", ("UnsqueezeBackward0", 1), _TURNED))
_LINEAR_VECTOR = [Nodes(name, 1, _TURNED) for name in ("DotBackward0", "MvBackward0")]


@functools.cache
def _linear_product(m, bias, how):
    product = "UnsafeViewBackward0", (_PRODUCTS[m], _flat(1)[how], _TURNED)
    return Nodes("AddBackward0", product, 0) if bias else Nodes(*product)


def _linear_node(args):
    """The ops of which PyTorch's linear is made."""
    x, weight, bias = args
    n, m = x.dim(), weight.dim()
    if n == 2 and m == 2:
        return _LINEAR if bias is None else _LINEAR_BIAS
    if n < 3 and m == 1:
        return _LINEAR_VECTOR[n - 1]
    if bias is not None and x.is_contiguous():
        return _LINEAR_ROWS
    return _LINEAR_ROW if n == 1 else _linear_product(m, bias is not None, _flattens(x, 0))


@op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    kernel="linear",
    module="nn",
    out=Out(EXACT),
    node=_linear_node,
    grad={"bias": _linear_bias, "input": _linear_input, "weight": _linear_weight},
    alias=("_nn.linear",),
    samples=lambda t: [(t(3, 4), t(5, 4), t(5)), (t(2, 3, 4), t(5, 4)), (t(4), t(5, 4), t(5))],
)
def linear(input, weight, bias=None):
    """input @ weight.T + bias for `input` (*, in), `weight` (out, in) and `bias` (out)."""
    y = input.matmul(weight.t())
    return y if bias is None else y + bias


# ---- composites ------------------------------------------------------------------------------------------------------
def _whole(g, batch):
    return g.unsqueeze(0).expand((batch.shape[0], *g.shape))


@op(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=Out("self and mat2 must have the same dtype, but got {o} and {r}"),
    grad={
        "self": lambda c, g: _times(g, c.beta),
        "batch1": lambda c, g: _times(_whole(g, c.batch2).bmm(c.batch2.transpose(1, 2).conj()), c.alpha),
        "batch2": lambda c, g: _times(c.batch1.transpose(1, 2).conj().bmm(_whole(g, c.batch1)), c.alpha),
    },
    samples=lambda t: [(t(3, 5), t(2, 3, 4), t(2, 4, 5)), (t(3, 5), t(2, 3, 4), t(2, 4, 5), {"beta": 2, "alpha": 0.5})],
)
def addbmm(self, batch1, batch2, beta=1, alpha=1):
    """beta * self + alpha * the sum of bmm(batch1, batch2) over the batch."""
    batch1.size(1), batch2.size(2)  # in PyTorch too, a tensor with fewer dims fails here
    for i, b in enumerate((batch1, batch2)):
        if b.dim() != 3:
            raise RuntimeError(f"batch{i + 1} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            "Incompatible matrix sizes for bmm "
            f"({batch1.shape[1]}x{batch1.shape[2]} and {batch2.shape[1]}x{batch2.shape[2]})"
        )
    # one long product: the batch is part of the dim summed over
    left = batch1.transpose(0, 1).reshape(batch1.shape[1], batch1.shape[0] * batch1.shape[2])
    return torch.addmm(self, left, _rows(batch2), beta=beta, alpha=alpha)


@op(
    "outer(Tensor self, Tensor vec2) -> Tensor",
    out=Out(tags="whole", by="mul"),
    alias=("ger",),
    samples=lambda t: [(t(3), t(4))],
)
def outer(self, vec2):
    """All products of an element of `self` (n) with one of `vec2` (m): a matrix (n, m)."""
    if self.dim() != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {self.dim()}-D")
    if vec2.dim() != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.dim()}-D")
    return self.unsqueeze(1) * vec2


@op(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=Out(tags="whole"),
    tags="ordered",
    grad={
        "self": lambda c, g: _times(g, c.beta),
        "vec1": lambda c, g: _times(g.mv(c.vec2.conj()), c.alpha),
        "vec2": lambda c, g: _times(g.t().mv(c.vec1.conj()), c.alpha),
    },
    samples=lambda t: [(t(3, 4), t(3), t(4)), (t(4), t(3), t(4), {"beta": 2, "alpha": 0.5})],
)
def addr(self, vec1, vec2, beta=1, alpha=1):
    """beta * self + alpha * outer(vec1, vec2)."""
    if vec1.dim() != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1, but got {vec1.dim()}-D")
    if vec2.dim() != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec2, but got {vec2.dim()}-D")
    dtype = torch.promote_types(torch.promote_types(self.dtype, vec1.dtype), vec2.dtype)
    integral = not dtype.is_floating_point and not dtype.is_complex
    for name, v in (("beta", beta), ("alpha", alpha)):
        if isinstance(v, bool) and dtype != torch.bool:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if integral and isinstance(v, (float, complex)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        _C.check_room(v, dtype)
    if dtype == torch.bool:
        product = (
            outer(vec1, vec2) if alpha else torch.zeros(vec1.shape[0], vec2.shape[0], dtype=dtype, device=vec1.device)
        )
        result = product | self.expand_as(product) if beta else product
        return result.to(dtype)
    if not dtype.is_complex and (complex(beta).imag or complex(alpha).imag):
        raise RuntimeError("value cannot be converted to type float without overflow")
    product = outer(vec1, vec2).to(dtype)
    if alpha != 1:
        product = product * alpha
    base = self.to(dtype).expand_as(product)
    if beta == 0:
        return product
    return (base * beta if beta != 1 else base) + product


def _inner_dtype(args, result, out, i):
    if not (args[0].dim() and args[1].dim()):
        return None
    return "tensordot: Expected the output tensor to have dtype {r}, but got an output tensor with dtype {o}"


def _inner_by(self, other):
    return None if self.dim() and other.dim() else "mul"


@op(
    "inner(Tensor self, Tensor other) -> Tensor",
    out=Out(_inner_dtype, "copied late", by=_inner_by),
    samples=lambda t: [(t(3, 4), t(5, 4)), (t(4), t(2, 3, 4)), (t(), t(3))],
)
def inner(self, other):
    """Sums of products over the last dims of both tensors."""
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return torch.tensordot(self, other, ([-1], [-1]))


@op("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", module="_hidden")
def _tensordot(self, other, dims_self, dims_other):
    """Sums of products over pairs of dims; what is left of `self` comes first in the result."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if self.dtype is torch.bool:
        raise not_implemented("dot" if len(dims_self) == self.dim() == other.dim() else "addmm_impl_cpu_", self.dtype)
    a, b = self, other
    da: list[int] = []
    db: list[int] = []
    for x, y in zip(dims_self, dims_other):
        wx, wy = _C.wrap_dim(x, a.dim()), _C.wrap_dim(y, b.dim())
        if a.shape[wx] != b.shape[wy] and a.shape[wx] != 1 and b.shape[wy] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[wx]} in dim {x} and second has "
                f"size {b.shape[wy]} in dim {y}"
            )
        for seen, w in ((da, wx), (db, wy)):
            if w in seen:
                raise repeated_dim(w)
            seen.append(w)
    for x, y in zip(da, db):
        if b.shape[y] == 1:
            a = a.sum(x, keepdim=True, dtype=a.dtype)
        elif a.shape[x] == 1:
            b = b.sum(y, keepdim=True, dtype=b.dtype)
    fa = [d for d in range(a.dim()) if d not in da]
    fb = [d for d in range(b.dim()) if d not in db]
    rows, k, cols = (math.prod(t.shape[d] for d in ds) for t, ds in ((a, fa), (a, da), (b, fb)))
    left, right, shape = a.permute(fa + da), b.permute(db + fb), [a.shape[d] for d in fa] + [b.shape[d] for d in fb]
    if rows == cols == 1 and torch.is_grad_enabled():  # a number: gradients lie as the other tensor does
        return (left.squeeze() * right.squeeze()).sum(dtype=a.dtype).view(shape)
    return left.reshape(rows, k).mm(right.reshape(k, cols)).reshape(shape)


def tensordot(a, b, dims=2, out=None):
    """Sums of products over `dims`: a number n (the last n dims of a with the first n of b), a pair of lists of dims,
    or a tensor with two rows."""
    if not isinstance(dims, (tuple, list, torch.Tensor, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    if isinstance(dims, torch.Tensor):
        n = dims.numel()
        if n > 1:
            if dims.shape[0] != 2:
                raise AssertionError(f"tensordot dims tensor must have size 2 in dim 0, got {dims.shape[0]}")
            dims = dims.tolist()
        else:
            dims = int(dims.item())
    if isinstance(dims, (tuple, list)):
        da, db = dims
        da = [da] if isinstance(da, int) else list(da)
        db = [db] if isinstance(db, int) else list(db)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        da, db = list(range(-dims, 0)), list(range(dims))
    result = _tensordot(a, b, da, db)
    if out is None:
        return result
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {result.dtype._scalar_type}, but got an output "
            f"tensor with dtype {out.dtype._scalar_type}"
        )
    if out.shape == result.shape:
        return out.copy_(result)
    return out.resize_(result.shape).copy_(result)


@op(
    "kron(Tensor self, Tensor other) -> Tensor",
    out=Out(by="mul", tags="uncounted plain"),
    tags="own",
    samples=lambda t: [(t(2, 3), t(3, 2)), (t(2), t(3, 3))],
)
def kron(self, other):
    """Kronecker product: every element of `self` times the whole of `other`."""
    n = max(self.dim(), other.dim())
    a = (1,) * (n - self.dim()) + tuple(self.shape)
    b = (1,) * (n - other.dim()) + tuple(other.shape)
    left = self.reshape([s for x in a for s in (x, 1)])
    right = other.reshape([s for x in b for s in (1, x)])
    return (left * right).reshape([x * y for x, y in zip(a, b)])


def chain_matmul(*matrices, out=None):
    """Deprecated name of `torch.linalg.multi_dot` for matrices."""
    import warnings

    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        stacklevel=2,
    )
    for m in matrices:
        if m.dim() != 2:
            raise RuntimeError("Tensor dimension is " + str(m.dim()) + ", expected 2 instead.")
    if len(matrices) == 0:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    result = matrices[0] if len(matrices) == 1 else torch.linalg.multi_dot(matrices)
    return result if out is None else out.copy_(result)


@op(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    variants="function",
    alias=("nn.bilinear",),
    tags="own",
    samples=lambda t: [(t(2, 3), t(2, 4), t(5, 3, 4), t(5)), (t(2, 2, 3), t(2, 2, 4), t(5, 3, 4))],
)
def bilinear(input1, input2, weight, bias=None):
    """y[o] = x1 @ weight[o] @ x2 + bias[o] for inputs (*, in1) and (*, in2) and weight (out, in1, in2)."""
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for i in range(input1.dim() - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: "
                f"got {input1.shape[i]} and {input2.shape[i]}"
            )
    if input1.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"bilinear(): input1 size does not match weight size: got {input1.shape[-1]} but expected {weight.shape[1]}"
        )
    if input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): input2 size does not match weight size: got {input2.shape[-1]} but expected {weight.shape[2]}"
        )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    named = {"input1": input1, "input2": input2, "weight": weight}
    if bias is not None:
        named["bias"] = bias
    if any(t.dtype is not input1.dtype for t in named.values()):
        got = ", ".join(f"{name}: {t.dtype._cpp_type}" for name, t in named.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {got}")
    x1, x2 = _rows(input1), _rows(input2)
    out, n1, n2 = weight.shape
    # x2 times all of weight first: that reads weight without a copy; then the sum with x1
    half = x2.mm(weight.contiguous().reshape(out * n1, n2).t()).reshape(x1.shape[0], out, n1)
    y = half.bmm(x1.unsqueeze(-1)).squeeze(-1)
    if bias is not None:
        y = y + bias
    return y.reshape(tuple(input1.shape[:-1]) + (out,))


@op(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    out=Out(EXACT, by="linalg_cross"),
    samples=lambda t: [(t(4, 3), t(4, 3)), (t(3, 4), t(3, 4), 0)],
)
def cross(self, other, dim=None):
    """Vector product along a dim of size 3: by default the first such dim."""
    if dim is None:
        _C.warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release.",
            2,
        )
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return torch.linalg.cross(self, other, dim=dim)


# functions with arguments that no schema describes
_functions.setdefault("", {}).update(einsum=einsum, tensordot=tensordot, chain_matmul=chain_matmul)
