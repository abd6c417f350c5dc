"""torch.distributed.nn.functional: collectives that gradients pass through, in a world of one process.

The result of each is the tensor that went in, as a new tensor: so its gradient is that of the result.
"""

from __future__ import annotations

from typing import Any

from .._world import _group, _one, _only


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    _only(src)
    return all_reduce(tensor, group=group)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    _only(dst)
    return all_gather(tensor, group)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    return broadcast(_one(tensors, "scatter"), src, group)


def reduce(tensor: Any, dst: int, op: Any = 0, group: Any = None) -> Any:
    return broadcast(tensor, dst, group)


def reduce_scatter(output: Any, input_list: Any, op: Any = 0, group: Any = None) -> Any:
    return _filled(output, _one(input_list, "reduce_scatter"), group)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    return (all_reduce(tensor, group=group),)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple[Any, ...]:
    return (_filled(_one(output_tensor_list, "all_to_all"), _one(input_tensor_list, "all_to_all"), group),)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    return _filled(output, input, group)


def all_reduce(tensor: Any, op: Any = 0, group: Any = None) -> Any:
    _group(group)
    return tensor.clone()


def _filled(output: Any, source: Any, group: Any) -> Any:
    """The output, overwritten; with its history."""
    _group(group)
    return output.copy_(source)
