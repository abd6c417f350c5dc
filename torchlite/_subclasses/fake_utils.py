"""Which tensors share memory, asked of the results of fake calls."""

from __future__ import annotations

from typing import Any

import torchlite as torch
from torchlite.utils import _pytree as pytree
from torchlite.utils._python_dispatch import TorchDispatchMode

from .fake_tensor import FakeTensorMode, UnsupportedFakeTensorException


def _storages(tree: Any) -> list[int]:
    return [id(t.untyped_storage()) for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of one shares memory with one of the other."""
    return not set(_storages(outputs)).isdisjoint(_storages(inputs))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of one is a tensor of the other."""
    ids = [{id(t) for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)} for tree in (outputs, inputs)]
    return bool(ids[0] & ids[1])


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two tensors share memory."""
    found = _storages(outputs)
    return len(found) != len(set(found))


_UNKNOWN = ("dynamic_output_shape", "inplace_view", "data_dependent_output")


class CrossRefFakeMode(TorchDispatchMode):
    """Runs each op with fake tensors as well, and compares what both say of the results."""

    def __init__(
        self,
        ignore_op_fn: Any = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda fn: False)
        self.check_strides, self.check_aliasing = check_strides, check_aliasing

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, fake = kwargs or {}, None
        tags = {getattr(tag, "name", tag) for tag in func.tags}
        if not self.ignore_op_fn(func) and tags.isdisjoint(_UNKNOWN) and func is not torch.ops.aten.lift_fresh.default:
            try:
                mode = FakeTensorMode(static_shapes=True)
                with torch.utils._python_dispatch._disable_current_modes(), mode:
                    given = pytree.tree_map(
                        lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, (args, kwargs)
                    )
                    fake = func(*given[0], **given[1])
            except UnsupportedFakeTensorException:
                pass
        result = func(*args, **kwargs)
        if fake is not None:
            self._compare(func, (args, kwargs), result, given, fake)
        return result

    def _compare(self, func: Any, args: Any, result: Any, fake_args: Any, fake: Any) -> None:
        from torchlite._prims_common import compare_tensor_meta

        context = f"When comparing the output of {func} on FakeTensor and concrete Tensors, found"
        flat, fakes = pytree.tree_leaves(result), pytree.tree_leaves(fake)
        if len(flat) != len(fakes):
            raise AssertionError(f"{context} mismatch in number of returns {len(fakes)} != {len(flat)}")
        if self.check_aliasing:
            for asked in (outputs_alias_inputs, outputs_are_inputs):
                real, said = asked(result, args), asked(fake, fake_args)
                if real != said:
                    raise AssertionError(f"{context} mismatch in {asked.__name__} check {said} != {real}")
            if output_alias_each_other(result) != output_alias_each_other(fake):
                raise AssertionError(f"{context} mismatch in outputs_alias_each_other check")
        for r, f in zip(flat, fakes):
            if isinstance(r, torch.Tensor):
                try:
                    compare_tensor_meta(r, f, check_strides=self.check_strides)
                except Exception as e:
                    raise RuntimeError(f"{context} mismatched tensor metadata: {e}") from e
