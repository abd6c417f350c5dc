"""Calling a module with other parameters."""

from contextlib import contextmanager

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["functional_call"]


def _with_tied(module, values):
    """The values, also for the other names of parameters and buffers that are one tensor."""
    groups: dict[int, list[str]] = {}
    for name, t in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        groups.setdefault(id(t), []).append(name)
    found = dict(values)
    for names in groups.values():
        given = [n for n in names if n in values]
        if len({id(values[n]) for n in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            found.update(dict.fromkeys(names, values[given[0]]))
    return found


def _owner(module, path):
    head, _, name = path.rpartition(".")
    return module.get_submodule(head), name


_ABSENT = object()


@contextmanager
def _reparametrize_module(module, parameters_and_buffers, *, tie_weights=False, strict=False):
    """Puts the given tensors in place of parameters and buffers for the time of a with block."""
    values = _with_tied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        have = {
            n
            for n, _ in [
                *module.named_parameters(remove_duplicate=False),
                *module.named_buffers(remove_duplicate=False),
            ]
        }
        missing, unexpected = have - set(values), set(values) - have
        if missing or unexpected:
            msg = []
            if unexpected:
                msg.append("Unexpected key(s): " + ", ".join(f"'{k}'" for k in sorted(unexpected)) + ".")
            if missing:
                msg.append("Missing key(s): " + ", ".join(f"'{k}'" for k in sorted(missing)) + ".")
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(msg)))
    undo: list[tuple[Any, str, Any]] = []
    try:
        for path, value in values.items():
            owner, name = _owner(module, path)
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            table = next((t for t in (owner._parameters, owner._buffers) if name in t), None)
            if table is not None:
                undo.append((table, name, table[name]))
                table[name] = value
                continue
            old = getattr(owner, name, _ABSENT)
            if old is not _ABSENT and not isinstance(old, torch.Tensor):
                raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
            undo.append((owner, name, old))
            setattr(owner, name, value)  # a Parameter becomes one of the module's
        yield
    finally:
        seen = {}
        for path in list(values)[: len(undo)]:
            owner, name = _owner(module, path)
            seen[path] = getattr(owner, name, _ABSENT)
        for place, name, value in reversed(undo):
            if isinstance(place, dict):
                place[name] = value
            elif value is _ABSENT:
                delattr(place, name)
            else:
                setattr(place, name, value)
        # what the module has put in their place goes to the caller
        parameters_and_buffers.update(
            (k, seen[k]) for k in parameters_and_buffers if seen.get(k, _ABSENT) is not _ABSENT
        )


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Runs `module` with the given parameters and buffers instead of its own."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which "
        "is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
