"""Selective checkpointing: which results of a checkpointed region are kept, and which are computed again.

checkpoint.py has the names, and reads this file when one of them is used."""

from __future__ import annotations

import enum
from typing import Any, Callable, Iterator

import torchlite as torch

from . import _pytree
from ._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
# the two runs may ask for these differently often
SAC_IGNORED_OPS = {
    _aten.detach.default,
    _aten.dim.default,
    _aten.is_contiguous.default,
    _aten.sym_numel.default,
    _aten.sym_size.default,
    _aten.sym_stride.default,
    _aten.sym_storage_offset.default,
}
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's result: kept or computed again. The last two ask for a copy in the memory of the CPU;
    without a compiler PyTorch computes such results again, and so does this."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told of a call: its result. (It is asked in the first run only.)"""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A result, and the versions of its tensors at that time."""

    def __init__(self, result: Any) -> None:
        self.result = _pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, result)
        self.versions = [t._version for t in self.tensors()]

    def tensors(self) -> Iterator[Any]:
        return (t for t in _pytree.tree_leaves(self.result) if isinstance(t, torch.Tensor))


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: keeps in `storage` what the policy says, by op and in the order of its calls; None of others."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, list[Any]]) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func not in SAC_IGNORED_OPS:
            context = SelectiveCheckpointContext(is_recompute=False, op_output=out)
            policy = self.policy_fn(context, func, *args, **kwargs)
            keep = policy in (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
            self.storage.setdefault(func, []).append(_Kept(out) if keep else None)
        return out


_TAKEN = object()  # in the place of a result that the second run had


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: takes from `storage` what was kept, and runs the rest."""

    def __init__(
        self, policy_fn: Callable[..., Any], storage: dict[Any, list[Any]], allow_cache_entry_mutation: bool = False
    ) -> None:
        super().__init__()
        self.storage, self.may_change = storage, allow_cache_entry_mutation
        self.calls: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.calls.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        at = self.calls.get(func, 0)
        self.calls[func] = at + 1
        entries = self.storage.get(func)
        if entries is None:
            raise RuntimeError("%s encountered during backward but not found in storage. %s" % (func, _MISMATCH))
        if at >= len(entries):
            raise RuntimeError(
                "%s invocation index %d encountered during backward but not found in storage. %s"
                % (func, at, _MISMATCH)
            )
        kept = entries[at]
        if kept is None:
            return func(*args, **(kwargs or {}))
        if kept is _TAKEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if not self.may_change and [t._version for t in kept.tensors()] != kept.versions:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        entries[at] = _TAKEN
        return kept.result


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Contexts of the first and the second run, for checkpoint(context_fn=...).

    `policy_fn_or_list`: the ops whose results are kept, or a function of a SelectiveCheckpointContext, an op and its
    arguments that gives a CheckpointPolicy.
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, torch._ops.OpOverload):
                hint = ""
                if isinstance(op, torch._ops.OpOverloadPacket):
                    hint = (
                        "Please update the OpOverloadPacket to a specific OpOverload."
                        "For example, if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}"
                )
        chosen = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, list[Any]] = {}
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
    )


for _public in (CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts):
    _public.__module__ = "torch.utils.checkpoint"
