"""What torch.library.get_kernel returns."""

from __future__ import annotations

from typing import Any

from .. import _C, _ops


class SafeKernelFunction:
    """The kernel of an operator for a dispatch key."""

    def __init__(self, op: Any, kernel: Any) -> None:
        self.op_handle, self._kernel = op, kernel

    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """The kernel's result. The keys say nothing: kernels here have one table, not one for each key below."""
        return self._kernel(*args, **kwargs)

    def __repr__(self) -> str:
        return "SafeKernelFunction(debug='%s')" % self.op_handle


def _overload(name: str) -> Any:
    """The overload of that name, "aten::add.Tensor"; the one without a name where none is given."""
    namespace, _, rest = name.partition("::")
    short, _, overload = rest.partition(".")
    try:
        found = getattr(getattr(_ops.namespace(namespace), short), overload or "default")
    except AttributeError:
        found = None
    if not isinstance(found, _ops.OpOverload):
        raise RuntimeError("operator %s does not exist" % name)
    return found


def find(op: Any, dispatch_key: Any) -> SafeKernelFunction:
    if not isinstance(op, (str, _ops.OpOverload)):
        raise ValueError("get_kernel(%s): got unexpected type for op: %s" % (op, type(op)))
    core: Any = _C
    keys = core.DispatchKey.__members__
    if isinstance(dispatch_key, str) and dispatch_key not in keys:
        raise ValueError("Invalid dispatch key: %s" % dispatch_key)
    key = getattr(dispatch_key, "name", dispatch_key)
    if key.startswith("Composite") or key == "Autograd":
        raise RuntimeError("Alias keys do not have runtime kernel registrations.")
    found = _overload(op) if isinstance(op, str) else op
    if not found._defined_in_python:  # an op of torchlite's own runs on each of its devices
        if key not in ("CPU", "Meta", "PrivateUse1", "CUDA") and not key.startswith("Autograd"):
            raise RuntimeError("no kernel for %s for %s" % (key, found._name))
        return SafeKernelFunction(found, found._op)
    table = found._entry.kernels
    for name in (key, "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
        if name in table:
            return SafeKernelFunction(found, table[name])
    raise RuntimeError("no kernel for %s for %s" % (key, found._name))
