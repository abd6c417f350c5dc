"""torch.view_copy and its like: each function that returns a view, as one that returns a copy of it.

They are derived from the declarations of the views. PyTorch has them for programs that may not share memory.
"""

from typing import Any

import torchlite as torch
from ._declare import op, specs
from ._out import EXACT, Out

_VIEWS = """_conj _neg_view alias as_strided detach diagonal expand permute select slice split split_with_sizes squeeze
    t transpose unbind unfold unsqueeze view view_as_complex view_as_real""".split()


def _copied(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.clone(memory_format=torch.contiguous_format)
    return tuple([_copied(t) for t in x])


def _reshaped(x: Any, size: Any) -> Any:
    return x.view(size) if isinstance(size, torch.dtype) else x.reshape(size)


def _derive(name: str, views: list[Any]) -> None:
    schemas = [s for v in views for s in v.schemas if not (name == "split" and "split.sizes" in s)]
    schemas = [name + "_copy" + s.removeprefix(name).replace("(a)", "") for s in schemas]
    view = getattr(torch.ops.functions, "alias" if name == "detach" else name)  # PyTorch's copy has a gradient
    if name == "view":  # a copy needs no view of the old memory
        view = _reshaped
    keyword = {"expand": ("implicit",)}.get(name, ())

    def copy(self, *args):
        named = dict(zip(keyword, args[len(args) - len(keyword) :]))
        return _copied(view(self, *args[: len(args) - len(named)], **named))

    copy.__name__, copy.__doc__ = name + "_copy", "A copy of what `%s` returns as a view." % name.lstrip("_")
    samples = next((v.samples for v in views if v.samples), None)
    op(*schemas, variants="function", out=Out(EXACT), samples=samples)(copy)


_declared: dict[str, list[Any]] = {}
for _spec in list(specs):
    _declared.setdefault(_spec.name, []).append(_spec)
for _name in _VIEWS:
    _derive(_name, _declared[_name])
