"""Text of single operations on the variables of a program."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzz.generate import Generator


def dim(g: Generator, t: Any, spare: int = 0) -> int:
    n = t.dim() + spare
    d = g.rng.randrange(max(n, 1))
    return d - n if g.rng.random() < 0.4 else d


def piece(g: Generator, n: int) -> str:
    a, b = sorted((g.rng.randint(0, n), g.rng.randint(0, n)))
    step = g.rng.choice(["", "", "", ":2"])
    return f"{a if g.rng.random() < 0.7 else ''}:{b if a < b and g.rng.random() < 0.7 else ''}{step}"


def index(g: Generator, t: Any) -> str:
    """Something between square brackets."""
    kind = g.rng.random()
    if kind < 0.12 and t.dim():
        if t.dim() > 1:
            return f"{g.rng.choice(['...', ':'])}, {g.rng.randrange(-t.shape[-1], t.shape[-1]) if t.shape[-1] else 0}"
        return "..."
    if kind < 0.2:
        masks = g.tensors(
            lambda m: m.dtype == g.real.bool and 0 < m.dim() <= t.dim() and tuple(m.shape) == tuple(t.shape[: m.dim()])
        )
        return g.rng.choice(masks) if masks else g.fill(t.shape[: g.rng.randint(1, t.dim())], "bool")
    parts = []
    for n in t.shape[: g.rng.randint(1, t.dim())]:
        k = g.rng.random()
        if k < 0.35 and n:
            parts.append(str(g.rng.randrange(-n, n)))
        elif k < 0.8 or not n:
            parts.append(piece(g, n))
        elif k < 0.92:
            parts.append(str([g.rng.randrange(-n, n) for _ in range(g.rng.choice([1, 2, 3, 3]))]))
        elif k < 0.96:
            parts.append("None")
        else:
            parts.append(
                f"torch.tensor({[g.rng.randrange(n) for _ in range(2)]})" + (".to(DEVICE)" if g.device != "cpu" else "")
            )
    return ", ".join(parts)


def targets(g: Generator, call: str) -> str:
    """Names for the results of a call, which is tried for that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(call, dict(g.env))
    except Exception:
        result = None
    finally:
        g.real.set_grad_enabled(True)
    if isinstance(result, (tuple, list)) and 0 < len(result) < 6:
        return ", ".join(g.new() for _ in result) + ("," if len(result) == 1 else "")
    return g.new()


def view(g: Generator, v: str) -> str:
    t = g.env[v]
    rng = g.rng
    d, e = dim(g, t), dim(g, t)
    n = t.shape[d] if t.dim() else 1
    plain = [f"{v}[{index(g, t)}]"] * 4 if t.dim() else []
    if t.dim():
        at = rng.randrange(max(n, 1))
        plain += [
            f"{v}.select({d}, {at})",
            f"{v}.narrow({d}, {at}, {rng.randint(0, n - at)})",
            f"{v}.transpose({d}, {e})",
            f"{v}.unfold({d}, {rng.randint(1, max(n, 1))}, {rng.randint(1, 2)})",
            f"{v}.flatten()",
            f"{v}.permute({', '.join(map(str, rng.sample(range(t.dim()), t.dim())))})",
            f"{v}.movedim({d}, {e})",
            f"{v}.swapaxes({d}, {e})",
            f"{v}.squeeze({d})",
            f"{v}.view({v}.shape)",
            f"{v}.view(-1)",
            f"{v}.reshape(-1)",
            f"{v}.view_as({v})",
            f"{v}[None]",
            f"{v}.unflatten({d}, (1, -1))",
        ]
    plain += [
        f"{v}.unsqueeze({dim(g, t, 1)})",
        f"{v}.expand(2, {', '.join(['-1'] * t.dim())})".replace(", )", ")"),
        f"{v}.squeeze()",
        f"{v}.view_as({v})",
        f"{v}.expand_as({v})",
        f"{v}.T",
        f"{v}.alias()" if hasattr(t, "alias") else f"{v}[...]",
    ]
    if t.dim() >= 2:
        plain += [
            f"{v}.mT",
            f"{v}.diagonal({rng.randint(-1, 1)})",
            f"{v}.diagonal(dim1={d}, dim2={(d + 1) % t.dim()})",
            f"{v}.t()",
            f"{v}.adjoint()",
            f"{v}.flatten(0, 1)",
        ]
    if 1 in t.shape:
        one = list(t.shape).index(1)
        plain += [f"{v}.squeeze({one})", f"{v}.expand({', '.join('3' if i == one else '-1' for i in range(t.dim()))})"]
    if t.is_complex():
        plain += [f"torch.view_as_real({v})", f"{v}.real", f"{v}.imag", f"{v}.conj()"] * 2
    elif t.dim() and t.shape[-1] == 2:
        plain += [f"torch.view_as_complex({v})"] * 2
    several = (
        [
            f"{v}.chunk({rng.randint(1, 3)}, {d})",
            f"{v}.split({rng.randint(1, 3)}, {d})",
            f"{v}.unbind({d})",
            f"{v}.tensor_split({rng.randint(1, 3)}, {d})",
            f"torch.broadcast_tensors({v}, {v}[..., :1])",
        ]
        if t.dim()
        else []
    )
    if several and rng.random() < 0.2:
        call = rng.choice(several)
        return f"{targets(g, call)} = {call}" if rng.random() < 0.6 else f"{g.new()} = {call}[{rng.randint(-1, 0)}]"
    return f"{g.new()} = {rng.choice(plain)}"


BINARY = ["+", "-", "*", "/", "*", "+", "**", "//", "%", "<", ">=", "=="]
METHODS = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "atan2",
    "hypot",
    "fmod",
    "remainder",
    "copysign",
    "pow",
    "logaddexp",
    "fmax",
    "xlogy",
]


def binary(g: Generator, v: str) -> str:
    shape = tuple(g.env[v].shape)
    w = g.rng.choice(
        [lambda: g.operand(shape), lambda: g.pick() or v, lambda: str(g.rng.choice([2, 0.5, -1, 3, 1.5]))]
    )()
    if g.rng.random() < 0.3:
        return f"torch.{g.rng.choice(METHODS)}({v}, {w})"
    a, b = (v, w) if g.rng.random() < 0.7 else (w, v)
    return f"{a} {g.rng.choice(BINARY)} {b}"


UNARY_ = [
    "sin_",
    "exp_",
    "neg_",
    "abs_",
    "square_",
    "tanh_",
    "sigmoid_",
    "relu_",
    "reciprocal_",
    "sqrt_",
    "zero_",
    "log1p_",
    "erf_",
    "trunc_",
    "round_",
    "sign_",
    "rsqrt_",
    "cos_",
    "floor_",
    "frac_",
    "nan_to_num_",
    "log_",
    "atan_",
    "conj_physical_",
    "logit_",
    "lgamma_",
    "cosh_",
    "asinh_",
    "expm1_",
    "rad2deg_",
]


def inplace(g: Generator, v: str) -> str:
    t = g.env[v]
    shape, rng = tuple(t.shape), g.rng
    w = g.operand(shape)
    d = dim(g, t)
    mask = g.fill(shape, "bool")
    many = [
        f"{v}.{rng.choice(UNARY_)}()",
        f"{v}.{rng.choice(UNARY_)}()",
        f"{v}.add_({w})",
        f"{v}.mul_({w})",
        f"{v}.mul_({w})",
        f"{v}.sub_({w}, alpha=2)",
        f"{v}.div_({w})",
        f"{v}.copy_({w})",
        f"{v}.copy_({w})",
        f"{v}.fill_({rng.choice([0, 1.5, -2])})",
        f"{v}.masked_fill_({mask}, {rng.choice([0, 0.5])})",
        f"{v}.clamp_(-1, 1)",
        f"{v}.clamp_(max={w})",
        f"{v}.addcmul_({w}, {w}, value=0.5)",
        f"{v}.lerp_({w}, {rng.choice(['0.3', w])})",
        f"{v}.pow_({rng.choice(['2', '3', w])})",
        f"{v}.addcdiv_({w}, {w})",
        f"{v}.mul_({v})",
        f"{v}.add_({v})",
        f"{v}.masked_scatter_({mask}, {g.fill(shape)})",
        f"{v}.atan2_({w})",
        f"{v}.hypot_({w})",
        f"{v}.fmod_({w})",
        f"{v}.remainder_({w})",
        f"{v}.xlogy_({w})",
        f"{v}.maximum({w}, out={v})",
        f"{v}.copysign_({w})",
        f"{v}.float_power_(2)",
        f"{v}.true_divide_({w})",
        f"{v}.floor_divide_(2)",
        f"{v}.eq_({w})",
        f"{v}.sub_({v}.clone())",
        f"{v}.nan_to_num_()",
    ]
    if t.dim() and t.shape[d]:
        at = [rng.randrange(t.shape[d]) for _ in range(2)]
        ids = f"torch.tensor({at})" + (".to(DEVICE)" if g.device != "cpu" else "")
        part = [2 if i == d % t.dim() else s for i, s in enumerate(shape)]
        many += [
            f"{v}.cumsum_({d})",
            f"{v}.cumprod_({d})",
            f"{v}.index_fill_({d}, {ids}, 0.5)",
            f"{v}.index_add_({d}, {ids}, {g.fill(part)})",
            f"{v}.index_copy_({d}, {ids}, {g.fill(part)})",
            f"{v}.scatter_({d}, {g.fill(part, 'int64', 0, t.shape[d] - 1)}, "
            f"{g.operand(part) if rng.random() < 0 else g.fill(part)})",
            f"{v}.scatter_add_({d}, {g.fill(part, 'int64', 0, t.shape[d] - 1)}, {g.fill(part)})",
            f"{v}.renorm_(2, {d}, 1.0)",
            f"{v}.index_put_(({ids},), {g.rng.choice(['torch.tensor(1.5)', w])}, accumulate=True)"
            if g.device == "cpu"
            else f"{v}.cumsum_({d})",
            f"{v}.fill_diagonal_(0.5)",
            f"{v}.tril_()",
            f"{v}.triu_()",
            f"torch.softmax({v}, {d}, out={v})",
        ]
        if t.dim() == 2:
            many += [
                f"{v}.addmm_({g.fill((shape[0], 3))}, {g.fill((3, shape[1]))})",
                f"{v}.addr_({g.fill(shape[:1])}, {g.fill(shape[1:])})",
                f"{v}.addmv_" if False else f"{v}.tril_(-1)",
            ]
        if t.dim() == 3:
            many += [f"{v}.baddbmm_({g.fill((shape[0], shape[1], 2))}, {g.fill((shape[0], 2, shape[2]))}, beta=0.5)"]
    return rng.choice(many)


def augmented(g: Generator, v: str) -> str:
    value = g.operand(tuple(g.env[v].shape)) if g.rng.random() < 0.5 else str(g.rng.choice([2, 0.5, 3]))
    return f"{v} {g.rng.choice(['+=', '-=', '*=', '/=', '**=', '*='])} {value}"


def structural(g: Generator, v: str) -> str:
    """In-place changes of shape and strides."""
    t = g.env[v]
    d, e = dim(g, t), dim(g, t)
    return (
        g.rng.choice(
            [
                f"{v}.transpose_({d}, {e})",
                f"{v}.squeeze_()",
                f"{v}.unsqueeze_({dim(g, t, 1)})",
                f"{v}.t_()",
                f"{v}.swapaxes_({d}, {e})",
                f"{v}.squeeze_({d})",
            ]
        )
        if t.dim()
        else f"{v}.unsqueeze_(0)"
    )


def activation(g: Generator, v: str) -> str:
    name = g.rng.choice(
        ["relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "leaky_relu", "relu6", "hardswish", "hardsigmoid"]
    )
    return f"F.{name}({v}, inplace=True)" if g.rng.random() < 0.8 else f"F.threshold({v}, 0.1, 0.5, inplace=True)"


def reduction(g: Generator, v: str) -> str:
    t = g.env[v]
    d = dim(g, t)
    keep = g.rng.choice(["", ", keepdim=True"])
    name = g.rng.choice(
        [
            "sum",
            "mean",
            "prod",
            "amax",
            "amin",
            "logsumexp",
            "var",
            "std",
            "norm",
            "median",
            "max",
            "min",
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "softmax",
            "log_softmax",
            "sort",
            "argmax",
            "any",
            "cummax",
            "nansum",
            "sum",
            "mean",
            "prod",
            "aminmax",
            "mode",
            "kthvalue",
            "quantile",
            "argsort",
            "count_nonzero",
            "all",
            "nanmean",
        ]
    )
    if name in ("aminmax",):
        call = f"{v}.aminmax(dim={d}{keep})"
    elif name in ("kthvalue",):
        call = f"{v}.kthvalue(1, {d}{keep})"
    elif name == "quantile":
        call = f"{v}.quantile(0.4, {d}{keep})"
    elif name == "norm":
        p = g.rng.choice(["2", "1", "3", 'float("inf")', "0.5"])
        call = f"{v}.norm({p}, {d}{keep})"
    elif name in (
        "cumsum",
        "cumprod",
        "logcumsumexp",
        "softmax",
        "log_softmax",
        "sort",
        "cummax",
        "argsort",
        "count_nonzero",
    ):
        call = f"{v}.{name}({d})"
    else:
        call = f"{v}.{name}({g.rng.choice([f'{d}{keep}', f'{d}{keep}', ''])})"
    return f"{targets(g, call)} = {call}"


def layer(g: Generator) -> str | None:
    """Functions of torch.nn.functional that are written in Python, products, joins."""
    v = g.floating(1)
    if v is None:
        return None
    t, rng = g.env[v], g.rng
    s = tuple(t.shape)
    last = s[-1]
    many = [
        f"torch.cat([{v}, {g.operand(s)}.expand({s})], {dim(g, t)})",
        f"torch.stack([{v}, {v}], {dim(g, t)})",
        f"torch.where({g.fill(s, 'bool')}, {v}, {g.operand(s)})",
        f"F.linear({v}, {g.fill((3, last))}, {g.fill((3,))})",
        f"F.layer_norm({v}, ({last},), {g.fill((last,))})",
        f"{v} @ {g.fill((last, 2))}",
        f"F.normalize({v}, dim=-1)",
        f"F.mse_loss({v}, {g.operand(s)})",
        f"F.l1_loss({v}, {g.operand(s)})",
        f"F.smooth_l1_loss({v}, {g.operand(s)}, reduction='none')",
        f"F.pad({v}, (1, 1))",
        f"{v}.flip({dim(g, t)})",
        f"F.gelu({v})",
        f"F.softplus({v})",
        f"F.glu({v}, -1)",
        f"{v}.roll(1, {dim(g, t)})",
        f"torch.einsum('...i,...i->...', {v}, {v})",
        f"F.cosine_similarity({v}, {g.operand(s)}, dim=-1)",
        f"{v}.gather({dim(g, t)}, {g.fill(s, 'int64', 0, 0)})",
        f"{v}.repeat({', '.join(['2'] + ['1'] * (t.dim() - 1))})",
        f"{v}.index_select({t.dim() - 1}, torch.tensor([0, 0]))" if g.device == "cpu" else f"{v} * 3",
        f"F.huber_loss({v}, {g.operand(s)})",
        f"F.kl_div({v}, {g.operand(s, 0.1, 2)}, reduction='sum')",
        f"torch.tensordot({v}, {v}, {t.dim()})",
        f"torch.outer({v}.flatten(), {v}.flatten())",
        f"F.binary_cross_entropy_with_logits({v}, {g.operand(s, 0, 1)})",
        f"torch.cdist({g.fill((2, last))}, {g.fill((3, last))}) * {v}.sum()",
        f"{v}.type(torch.float32)",
        f"{v}.clone()",
    ]
    if t.dim() == 2:
        many += [
            f"F.cross_entropy({v}, {g.fill(s[:1], 'int64', 0, last - 1)})",
            f"{v} @ {v}.mT",
            f"F.cross_entropy({v}, {g.fill(s[:1], 'int64', 0, last - 1)}, reduction='none', label_smoothing=0.1)",
            f"F.nll_loss({v}, {g.fill(s[:1], 'int64', 0, last - 1)})",
            f"F.embedding({g.fill((2, 2), 'int64', 0, s[0] - 1)}, {v})",
            f"F.batch_norm({v}, None, None, training=True)",
        ] * 2
    if t.dim() == 3:
        many += [
            f"F.conv1d({v}, {g.fill((2, s[1], 1))})",
            f"torch.bmm({v}, {v}.mT)",
            f"F.max_pool1d({v}, 2)",
            f"F.group_norm({v}, 1)",
            f"F.scaled_dot_product_attention({v}, {v}, {v})",
            f"F.avg_pool1d({v}, 2, 1)",
        ] * 2
    if t.dim() == 4:
        w = g.fill((2, s[1], 2, 2))
        many += [
            f"F.conv2d({v}, {w})",
            f"F.conv2d({v}, {w}, {g.fill((2,))}, padding=1, stride=2)",
            f"F.conv_transpose2d({v}, {g.fill((s[1], 2, 2, 2))})",
            f"F.max_pool2d({v}, 2)",
            f"F.avg_pool2d({v}, 2, 1)",
            f"F.batch_norm({v}, None, None, training=True)",
            f"F.group_norm({v}, {s[1]})",
            f"F.interpolate({v}, scale_factor=2)",
            f"F.interpolate({v}, size=(3, 3), mode='bilinear')",
            f"F.instance_norm({v})",
            f"F.adaptive_avg_pool2d({v}, 2)",
            f"F.adaptive_max_pool2d({v}, 2)",
            f"{v}.to(memory_format=torch.channels_last)",
            f"F.unfold({v}, 2)",
            f"F.pixel_shuffle({v}, 1)",
            f"F.pad({v}, (1, 1, 1, 1), 'reflect')",
            f"F.local_response_norm({v}, 2)",
            f"F.conv2d({v}, {g.fill((s[1], 1, 2, 2))}, groups={s[1]})",
        ] * 2
    if not s[-1]:
        many = [f"{v}.sum()", f"torch.cat([{v}, {v}])", f"{v}.prod()", f"{v} * 2", f"{v}.mean()"]
    return f"{g.new()} = {rng.choice(many)}"


def scalar(g: Generator, v: str) -> str:
    """A number that depends on all elements of a variable, each by a weight of its own."""
    t = g.env[v]
    if t.is_complex() and g.rng.random() < 0.3:
        text = f"{v}.abs()"
    elif t.is_complex():
        text = f"torch.view_as_real({v}.resolve_conj())"
    else:
        text = v
    how = g.rng.choice([".sum()", ".square().sum()", ".sin().sum()", ".exp().sum()", "weights"])
    if how == "weights":
        shape = tuple(t.shape)
        return f"({v} * {g.fill(shape)}).sum()" if not t.is_complex() else f"({v} * {g.fill(shape)}).sum().real"
    return text + how


def uses(g: Generator, root: str, leaf: str) -> bool:
    """True where the gradient of a root reaches a leaf."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = g.real.autograd.grad(g.env[root].real.sum(), [g.env[leaf]], allow_unused=True, retain_graph=True)[0]
    except Exception:
        return False
    return found is not None
