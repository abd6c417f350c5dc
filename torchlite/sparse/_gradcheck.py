"""as_sparse_gradcheck: a gradcheck over the values of sparse arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchlite as torch

from ._tensor import SparseTensor, is_coo, parts


def _values(x: Any) -> Any:
    return (parts(x)[1] if is_coo(x) else x._parts[2]).detach().clone().requires_grad_()


def _again(x: Any, values: Any) -> Any:
    """`x` with other values."""
    if is_coo(x):
        made = torch.sparse_coo_tensor(parts(x)[0], values, x.shape, is_coalesced=x._sorted)
        return made
    heads, others, _ = x._parts
    return torch.sparse_compressed_tensor(heads, others, values, x.shape, layout=x.layout)


def _dense(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return tuple(map(_dense, x))
    return x.to_dense() if isinstance(x, SparseTensor) else x


def wrap(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """The same gradcheck for functions of sparse tensors."""

    def check(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        kwargs.pop("masked", None)
        plain = [_values(x) if isinstance(x, SparseTensor) and x.requires_grad else x for x in given]

        def on_values(*values: Any) -> Any:
            again = [
                _again(x, v) if isinstance(x, SparseTensor) and x.requires_grad else v for x, v in zip(given, values)
            ]
            return _dense(func(*again))

        return gradcheck(on_values, tuple(plain), **kwargs)

    return check
