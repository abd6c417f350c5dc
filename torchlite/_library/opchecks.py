"""The tests of torch.library.opcheck."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .. import _ops
from ..library import CustomOpDef
from ..utils import _pytree as pytree


class OpCheckError(Exception):
    """An operator is not what it says."""


def _copies(tree: Any) -> Any:
    from .._dynamo.utils import clone_input

    return pytree.tree_map(lambda t: clone_input(t) if isinstance(t, torch.Tensor) else t, tree)


def _schema(op: Any, args: Any, kwargs: Any, close: Any) -> None:
    from .._subclasses.schema_check_mode import SchemaCheckMode

    with SchemaCheckMode():
        op(*args, **kwargs)


def _registration(op: Any, args: Any, kwargs: Any, close: Any) -> None:
    from .._core import c_names

    given = pytree.tree_leaves((args, kwargs))
    keys = ("AutogradCPU", "Autograd", "CompositeImplicitAutograd")
    if not any(isinstance(t, torch.Tensor) and t.requires_grad for t in given):
        return
    if any(c_names._dispatch_has_kernel_for_dispatch_key(op.name(), key) for key in keys):
        return
    before = c_names._fallback[0]
    c_names._fallback[0] = "nothing"
    try:
        outs = pytree.tree_leaves(op(*args, **kwargs))
    finally:
        c_names._fallback[0] = before
    if any(isinstance(t, torch.Tensor) and t.requires_grad and not any(t is g for g in given) for t in outs):
        raise AssertionError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have "
            "an autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have "
            "incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead to silently "
            "incorrect results."
        )


def _fake(op: Any, args: Any, kwargs: Any, close: Any) -> None:
    from .._subclasses.fake_utils import CrossRefFakeMode

    with CrossRefFakeMode(ignore_op_fn=lambda func: func.namespace in ("aten", "prims", "prim")):
        op(*args, **kwargs)


def _traced(op: Any, args: Any, kwargs: Any, close: Any) -> None:
    from .._functorch.aot_autograd import aot_function, nop

    def function(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, (args, kwargs))
        return op(*args, **kwargs)

    def both(f: Any) -> Any:
        given, named = _copies((args, kwargs))
        state = torch.get_rng_state()
        outs = f(*given, **named)
        torch.set_rng_state(state)
        ends = [t.sum().abs() for t in pytree.tree_leaves(outs) if isinstance(t, torch.Tensor) and t.requires_grad]
        leaves = [t for t in pytree.tree_leaves((given, named)) if isinstance(t, torch.Tensor) and t.requires_grad]
        grads = torch.autograd.grad(sum(ends), leaves, allow_unused=True) if ends else ()
        return outs, grads

    options = {} if close is None else dict(zip(("atol", "rtol"), close))
    for mine, other in zip(both(aot_function(function, nop)), both(function)):
        torch.testing.assert_close(mine, other, **options)


CHECKS: dict[str, Any] = {
    "test_schema": _schema,
    "test_autograd_registration": _registration,
    "test_faketensor": _fake,
    "test_aot_dispatch_static": _traced,
    "test_aot_dispatch_dynamic": _traced,
}


def run(op: Any, args: Any, kwargs: Any, test_utils: Any, raise_exception: bool, atol: Any, rtol: Any) -> Any:
    """opcheck's results."""
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, _ops.OpOverloadPacket):
        if len(op.overloads()) != 1:
            raise RuntimeError(f"opcheck can only test operators without overloads. Got: {op._qualified_op_name}")
        op = getattr(op, op.overloads()[0])
    if not isinstance(op, _ops.OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, "
            f"got {type(op)}"
        )
    wanted = tuple(CHECKS) if test_utils == "ALL" else test_utils
    wanted = (wanted,) if isinstance(wanted, str) else wanted
    if not isinstance(wanted, (tuple, list)) or not set(wanted) <= CHECKS.keys():
        raise ValueError(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of {tuple(CHECKS)} but it was not"
        )
    results: dict[str, Any] = {}
    real = not any(isinstance(t, torch.Tensor) and t.is_meta for t in pytree.tree_leaves((tuple(args), kwargs)))
    for name in wanted:
        try:
            if real:
                CHECKS[name](op, *_copies((tuple(args), kwargs)), None if atol is None else (atol, rtol))
            results[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {e} (scroll up for stack trace)") from e
            results[name] = e
    return results
