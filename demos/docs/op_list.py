"""What the generated documents have in common: public names of declared ops, and what their declarations say."""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from torchlite.ops import load_all, specs

load_all()

PLACES = {
    "": "torch",
    "nn": "torch.nn.functional",
    "linalg": "torch.linalg",
    "special": "torch.special",
    "fft": "torch.fft",
}


# of torch.ops.aten only, in PyTorch
NOT_IN_TORCH = frozenset(
    """sigmoid_backward tanh_backward threshold_backward convolution_backward embedding_dense_backward embedding_renorm
    native_batch_norm_backward native_group_norm_backward native_layer_norm_backward""".split()
)


def place(spec) -> str:
    """The namespace in which an op is public; "internal" for those that only gradients and other ops call."""
    short = spec.name.removeprefix(spec.namespace + "_") if spec.namespace else spec.name
    if spec.namespace not in PLACES or short.startswith("_") or short in NOT_IN_TORCH:
        return "internal"
    if not spec.function:
        return "torch.Tensor"
    import torchlite

    home: object = torchlite
    for part in PLACES[spec.namespace].split(".")[1:]:
        home = getattr(home, part, None)
    return PLACES[spec.namespace] if hasattr(home, short) else "internal"


def public_name(spec) -> str:
    where = place(spec)
    short = spec.name.removeprefix(spec.namespace + "_") if spec.namespace in PLACES and spec.namespace else spec.name
    return short if where == "internal" else f"{where}.{short}".replace("torch.Tensor.", "Tensor.")


def aliases(spec) -> list[str]:
    return [a if a.startswith("Tensor.") else f"torch.{a}" for a in spec.alias]


def gradient(spec) -> str:
    if not spec.differentiable or spec.grad == {}:
        return "none"
    if spec.grad is not None:
        return "declared"
    if spec.body:
        return "body"
    return "none"


def runs(spec) -> str:
    """How an op runs on the CPU."""
    return " and ".join(x for x in ("kernel" if spec.kernel else "", "body" if spec.body else "") if x)


def by_name() -> dict[str, list]:
    """Declarations by public name, sorted; several declarations may share a name (max, max.dim, max.other)."""
    out: dict[str, list] = {}
    for spec in sorted(specs, key=lambda s: (public_name(s).lower(), public_name(s))):
        out.setdefault(public_name(spec), []).append(spec)
    return out
