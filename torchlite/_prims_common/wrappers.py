"""Decorators of reference implementations: out=, and the dtype of results."""

from __future__ import annotations

import functools
from typing import Any

import torchlite as torch

from . import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes


def _maybe_convert_to_dtype(a: Any, dtype: Any) -> Any:
    if isinstance(a, torch.Tensor):
        return a if a.dtype == dtype else a.to(dtype)
    if isinstance(a, (list, tuple)):
        return type(a)(_maybe_convert_to_dtype(x, dtype) for x in a)
    return a


def out_wrapper(*out_names: str, **_: Any) -> Any:
    """Gives a function the keyword out=, which it copies its results to."""

    def decorated(fn: Any) -> Any:
        @functools.wraps(fn)
        def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            result = fn(*args, **kwargs)
            if out is None:
                return result
            outs, results = (out, result) if isinstance(out, tuple) else ((out,), (result,))
            for o, r in zip(outs, results):
                o.resize_(r.shape).copy_(r)
            return out

        call._torch_decompositions_out_wrapper = True  # type: ignore[attr-defined]
        return call

    return decorated


def _maybe_remove_out_wrapper(fn: Any) -> Any:
    """The function under out_wrapper's, else fn itself."""
    return fn.__wrapped__ if getattr(fn, "_torch_decompositions_out_wrapper", False) else fn


class elementwise_type_promotion_wrapper:
    """Computes a function in the dtype that its operands promote to: arguments named in type_promoting_args."""

    def __init__(self, *, type_promotion_kind: Any, type_promoting_args: Any = None) -> None:
        self.kind: ELEMENTWISE_TYPE_PROMOTION_KIND = type_promotion_kind
        self.names = tuple(type_promoting_args or ())

    def __call__(self, fn: Any) -> Any:
        import inspect

        signature = inspect.signature(fn)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            given = [bound.arguments[n] for n in self.names if bound.arguments.get(n) is not None]
            work, result_dtype = elementwise_dtypes(*given, type_promotion_kind=self.kind)
            for n in self.names:
                if n in bound.arguments:
                    bound.arguments[n] = _maybe_convert_to_dtype(bound.arguments[n], work)
            return _maybe_convert_to_dtype(fn(*bound.args, **bound.kwargs), result_dtype)

        return call
