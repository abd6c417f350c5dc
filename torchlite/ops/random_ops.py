"""Random numbers. The draws are those of PyTorch's CPU generator: the same seed gives the same numbers,
on every device."""

import torchlite as torch

from .._core.errors import not_implemented
from .._core.dispatch_modes import all_examples
from ._declare import op, reference
from ._out import Out

_OPT = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_GEN = "Generator? generator=None"


def _zero(c, g):
    return torch.zeros_like(g)


# ---- in place --------------------------------------------------------------------------------------------------------
@op(
    f"uniform_(Tensor(a!) self, float from=0, float to=1, *, {_GEN}) -> Tensor(a!)",
    kernel="uniform_",
    variants="method",
    grad={"self": _zero},
)
def uniform_(self, from_, to, generator):
    """Fills with uniform numbers from [from, to)."""


@op(
    f"normal_(Tensor(a!) self, float mean=0, float std=1, *, {_GEN}) -> Tensor(a!)",
    kernel="normal_",
    variants="method",
    grad={"self": _zero},
)
def normal_(self, mean, std, generator):
    """Fills with normal numbers."""


@op(f"random_(Tensor(a!) self, *, {_GEN}) -> Tensor(a!)", kernel="random_", variants="method", grad={"self": _zero})
def random_(self, generator):
    """Fills with whole numbers from 0 to the largest one of the dtype (2**digits for floating point)."""


@op(
    f"random_.to(Tensor(a!) self, int to, *, {_GEN}) -> Tensor(a!)",
    kernel="random_to",
    variants="method",
    grad={"self": _zero},
    tags="reference",
)
def random_to(self, to, generator):
    """Fills with whole numbers from [0, to)."""
    return self.random_(0, to, generator=generator)


@op(
    f"random_.from(Tensor(a!) self, int from, int? to, *, {_GEN}) -> Tensor(a!)",
    kernel="random_from",
    variants="method",
    grad={"self": _zero},
)
def random_from(self, from_, to, generator):
    """Fills with whole numbers from [from, to)."""


@op(
    f"bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, {_GEN}) -> Tensor(a!)",
    f"bernoulli_.float(Tensor(a!) self, float p=0.5, *, {_GEN}) -> Tensor(a!)",
    kernel="bernoulli_",
    variants="method",
    grad={"self": _zero, "p": lambda c, g: torch.zeros(c.p_shape, dtype=c.p_dtype, device=g.device)},
    tags="reference",
)
def bernoulli_(self, p, generator):
    """Fills with 1 with probability `p`, else 0."""
    return reference.bernoulli_(self, p, generator)


@op(
    f"exponential_(Tensor(a!) self, float lambd=1, *, {_GEN}) -> Tensor(a!)",
    kernel="exponential_",
    variants="method",
    grad={"self": _zero},
    tags="reference",
)
def exponential_(self, lambd, generator):
    """Fills with exponential numbers of rate `lambd`."""
    return reference.exponential_(self, lambd, generator)


@op(
    f"geometric_(Tensor(a!) self, float p, *, {_GEN}) -> Tensor(a!)",
    kernel="geometric_",
    variants="method",
    grad={"self": _zero},
    tags="reference",
)
def geometric_(self, p, generator):
    """Fills with the number of trials up to the first success, each of probability `p`."""
    return reference.geometric_(self, p, generator)


@op(
    f"cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, {_GEN}) -> Tensor(a!)",
    kernel="cauchy_",
    variants="method",
    grad={"self": _zero},
    tags="reference",
)
def cauchy_(self, median, sigma, generator):
    """Fills with Cauchy numbers."""
    return reference.cauchy_(self, median, sigma, generator)


@op(
    f"log_normal_(Tensor(a!) self, float mean=1, float std=2, *, {_GEN}) -> Tensor(a!)",
    kernel="log_normal_",
    variants="method",
    grad={"self": _zero},
)
def log_normal_(self, mean, std, generator):
    """Fills with exponentials of normal numbers of the given mean and std."""


# ---- factories -------------------------------------------------------------------------------------------------------
@op(
    f"rand(SymInt[] size, *, {_GEN}, {_OPT}) -> Tensor",
    kernel="rand",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def rand(size, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """Uniform numbers from [0, 1)."""
    return torch.empty(size, dtype=dtype, device=device).uniform_(0, 1, generator=generator)


@op(
    f"randn(SymInt[] size, *, {_GEN}, {_OPT}) -> Tensor",
    kernel="randn",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def randn(size, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """Normal numbers of mean 0 and std 1."""
    return torch.empty(size, dtype=dtype, device=device).normal_(0, 1, generator=generator)


@op(
    f"randint(SymInt high, SymInt[] size, *, {_GEN}, {_OPT.replace('dtype=None', 'dtype=long')}) -> Tensor",
    variants="function",
    out=Out(tags="default factory"),
    grad=None,
    differentiable=False,
)
def randint(high, size, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """Whole numbers from [0, high)."""
    return torch.empty(size, dtype=torch.int64 if dtype is None else dtype, device=device).random_(
        0, high, generator=generator
    )


@op(
    f"randint.low(SymInt low, SymInt high, SymInt[] size, *, {_GEN}, "
    f"{_OPT.replace('dtype=None', 'dtype=long')}) -> Tensor",
    variants="function",
    out=Out(tags="default factory"),
    grad=None,
    differentiable=False,
)
def randint_low(low, high, size, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """Whole numbers from [low, high)."""
    return torch.empty(size, dtype=torch.int64 if dtype is None else dtype, device=device).random_(
        low, high, generator=generator
    )


@op(
    f"randperm(SymInt n, *, {_GEN}, {_OPT.replace('dtype=None', 'dtype=long')}) -> Tensor",
    kernel="randperm",
    variants="function",
    out=Out(tags="default factory"),
    grad=None,
    differentiable=False,
    tags="reference",
)
def randperm(n, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """The numbers 0 to n - 1 in random order."""
    return reference.randperm(n, generator, dtype, device)


_LIKE = f"*, {_GEN}, {_OPT}, MemoryFormat? memory_format=None"


def _like(t, dtype, device, memory_format):
    return torch.empty_like(t.detach(), dtype=dtype, device=device, memory_format=memory_format)


@op(f"rand_like(Tensor self, {_LIKE}) -> Tensor", variants="function", grad=None, differentiable=False)
def rand_like(self, generator, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """Uniform numbers from [0, 1) in self's shape, dtype and device."""
    return _like(self, dtype, device, memory_format).uniform_(0, 1, generator=generator)


@op(f"randn_like(Tensor self, {_LIKE}) -> Tensor", variants="function", grad=None, differentiable=False)
def randn_like(self, generator, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """Normal numbers of mean 0 and std 1 in self's shape, dtype and device."""
    return _like(self, dtype, device, memory_format).normal_(0, 1, generator=generator)


@op(f"randint_like(Tensor self, SymInt high, {_LIKE}) -> Tensor", variants="function", grad=None, differentiable=False)
def randint_like(self, high, generator, dtype, layout, device, pin_memory, memory_format, requires_grad=False):
    """Whole numbers from [0, high) in self's shape, dtype and device."""
    return _like(self, dtype, device, memory_format).random_(0, high, generator=generator)


@op(
    f"randint_like.low_dtype(Tensor self, SymInt low, SymInt high, {_LIKE}) -> Tensor",
    variants="function",
    grad=None,
    differentiable=False,
)
def randint_like_low_dtype(
    self, low, high, generator, dtype, layout, device, pin_memory, memory_format, requires_grad=False
):
    """Whole numbers from [low, high) in self's shape, dtype and device."""
    return _like(self, dtype, device, memory_format).random_(low, high, generator=generator)


@op(
    f"normal.Tensor_Tensor(Tensor mean, Tensor std, *, {_GEN}) -> Tensor",
    f"normal.Tensor_float(Tensor mean, float std=1, *, {_GEN}) -> Tensor",
    f"normal.float_Tensor(float mean, Tensor std, *, {_GEN}) -> Tensor",
    variants="function",
    out=True,
    grad={"mean": _zero, "std": _zero},
    node=("NormalBackward3", "NormalBackward1", "NormalBackward2"),
)
def normal(mean, std, generator):
    """Normal numbers with a mean and std for each element."""
    tensors = [t for t in (mean, std) if isinstance(t, torch.Tensor)]
    if isinstance(std, torch.Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and not std.is_meta and bool(all_examples(std < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    like = max(tensors, key=lambda t: t._dispatches)  # one with other numbers for each example of a vmap
    out = like.new_empty(shape, dtype=tensors[0].dtype, device=tensors[0].device).normal_(0, 1, generator=generator)
    return out.mul_(std).add_(mean)


@op(
    f"normal.float_float(float mean, float std, SymInt[] size, *, {_GEN}, {_OPT}) -> Tensor",
    variants="function",
    out=Out(tags="factory"),
    grad=None,
    differentiable=False,
)
def normal_float_float(mean, std, size, generator, dtype, layout, device, pin_memory, requires_grad=False):
    """Normal numbers with the given mean and std."""
    return torch.empty(size, dtype=dtype, device=device).normal_(mean, std, generator=generator)


# ---- samples from parameters -----------------------------------------------------------------------------------------
@op(f"bernoulli(Tensor self, *, {_GEN}) -> Tensor", out=Out(tags="any silent"), grad={"self": _zero})
def bernoulli(self, generator):
    """1 with the probability that each element of `self` gives, else 0."""
    if self.is_complex() or not self.is_floating_point():
        raise not_implemented("bernoulli_tensor_cpu_p_", self.dtype)
    return torch.empty_like(self, memory_format=torch.contiguous_format).bernoulli_(self, generator=generator)


@op(f"bernoulli.p(Tensor self, float p, *, {_GEN}) -> Tensor", grad={"self": _zero})
def bernoulli_p(self, p, generator):
    """1 with probability `p`, else 0, in the shape of `self`."""
    return torch.empty_like(self, memory_format=torch.contiguous_format).bernoulli_(p, generator=generator)


@op(
    f"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, {_GEN}) -> Tensor",
    kernel="multinomial",
    out=Out("multinomial expects Long tensor out, got: {o}", "silent"),
    grad=None,
    differentiable=False,
)
def multinomial(self, num_samples, replacement, generator):
    """Samples `num_samples` column indices from each row of weights."""


@op(f"poisson(Tensor self, {_GEN}) -> Tensor", kernel="poisson", variants="function", grad={"self": _zero})
def poisson(self, generator):
    """Poisson numbers with the rates `self`."""


@op(
    f"binomial(Tensor count, Tensor prob, {_GEN}) -> Tensor",
    kernel="binomial",
    variants="function",
    grad={"prob": _zero},
)
def binomial(count, prob, generator):
    """The successes in `count` trials of probability `prob`."""


@op(
    f"_standard_gamma(Tensor self, {_GEN}) -> Tensor",
    kernel="standard_gamma",
    variants="function",
    grad={"self": lambda c, g: g * torch._standard_gamma_grad(c.self, c.result)},
)
def _standard_gamma(self, generator):
    """Gamma numbers with the shapes `self` and scale 1."""


@op(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    kernel="_standard_gamma_grad",
    variants="function",
    grad=None,
    differentiable=False,
)
def _standard_gamma_grad(self, output):
    """The derivative of a draw `output` of _standard_gamma with respect to its shape `self`, at a fixed probability."""


@op(f"_sample_dirichlet(Tensor self, {_GEN}) -> Tensor", kernel="sample_dirichlet", variants="function", grad={})
def _sample_dirichlet(self, generator):
    """Dirichlet numbers with the concentrations in the last dim of `self`."""


@op(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    kernel="_dirichlet_grad",
    variants="function",
    grad=None,
    differentiable=False,
)
def _dirichlet_grad(x, alpha, total):
    """The derivative of a draw `x` of Beta(alpha, total - alpha) with respect to alpha, at a fixed probability,
    over 1 - x."""
