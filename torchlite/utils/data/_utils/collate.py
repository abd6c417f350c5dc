"""Samples to batches."""

from __future__ import annotations


import collections.abc
import copy
import re
from typing import Any

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from ...._types import Tensor


np_str_obj_array_pattern = re.compile(r"[SaUO]")  # dtypes of numpy that stay lists
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _is_array(x: Any) -> bool:
    return type(x).__module__ == "numpy"


def _is_namedtuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _like_mapping(data: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the same type with other items; what else a mutable one holds is kept."""
    if isinstance(data, collections.abc.MutableMapping):
        clone: Any = copy.copy(data)
        clone.update(items)
        return clone
    return type(data)(items)


def default_convert(data: Any) -> Any:
    """Numpy arrays inside `data` become tensors; everything else stays."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if _is_array(data) and kind.__name__ not in ("str_", "string_", "bytes_"):
        if kind.__name__ == "ndarray" and data.dtype.kind in "SaUO":
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        out = {k: default_convert(v) for k, v in data.items()}
        try:
            return _like_mapping(data, out)
        except TypeError:
            return out
    if _is_namedtuple(data):
        return kind(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        try:
            return kind([default_convert(d) for d in data])
        except TypeError:
            return [default_convert(d) for d in data]
    return data


def _collate_array(batch: Any) -> Any:
    elem = batch[0]
    if type(elem).__name__ == "ndarray":
        if elem.dtype.kind in "SaUO":
            raise TypeError(default_collate_err_msg_format.format(elem.dtype))
        return collate([torch.as_tensor(b) for b in batch], collate_fn_map=default_collate_fn_map)
    return torch.as_tensor(batch)  # numpy scalars


def collate(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Batches the elements of `batch` by type; `collate_fn_map` maps types to functions (batch, *, collate_fn_map)."""
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        fn = collate_fn_map.get(kind)
        if fn is None:
            for key, f in collate_fn_map.items():
                if isinstance(elem, key):
                    fn = f
                    break
        if fn is not None:
            return fn(batch, collate_fn_map=collate_fn_map)
    if _is_array(elem) and collate_fn_map is default_collate_fn_map:
        return _collate_array(batch)
    if isinstance(elem, collections.abc.Mapping):
        out = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in elem}
        try:
            return _like_mapping(elem, out)
        except TypeError:
            return out
    if _is_namedtuple(elem):
        return kind(*(collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch)))
    if isinstance(elem, collections.abc.Sequence):
        size = len(elem)
        if not all(len(e) == size for e in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch)]
        if isinstance(elem, tuple):
            return columns
        try:
            if isinstance(elem, collections.abc.MutableSequence):
                clone = copy.copy(elem)
                for i, c in enumerate(columns):
                    clone[i] = c
                return clone
            return kind(columns)
        except TypeError:
            return columns
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    first = batch[0]
    if first.is_nested or first.layout is not torch.strided:
        kind = "nested" if first.is_nested else "sparse"
        raise RuntimeError(
            f"Batches of {kind} tensors are not currently supported by the default collate_fn; please provide a custom "
            "collate_fn to handle them appropriately."
        )
    return torch.stack(list(batch), 0)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    return torch.tensor(batch)


def collate_str_fn(batch: Sequence[str], *, collate_fn_map: Any = None) -> Sequence[str]:
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A list of samples as a batch: tensors are stacked, numbers become tensors, containers are kept."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
