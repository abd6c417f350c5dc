"""torch.vmap: a function of one example, called once with tensors that stand for all of them.

The steps have the names that PyTorch's have, and call each other by them: packages put their own in the place of some.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torchlite as torch
from torchlite import Tensor

from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_map_, tree_unflatten
from . import batched, places, products, shapes  # noqa: F401
from .batched import BatchedTensor, Level, belongs, enter, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BatchedTensor",
    "doesnt_support_saved_tensors_hooks",
    "get_chunk_sizes",
    "restore_vmap",
    "tree_map_",
    "unwrap_batched",
    "vmap_impl",
    "vmap_increment_nesting",
    "wrap_batched",
]


# ---- levels by number ------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def vmap_increment_nesting(batch_size: int, randomness: str) -> Iterator[int]:
    """A running vmap; its number."""
    with Level(batch_size, randomness) as level:
        yield level.depth


def _level(number: int) -> Level:
    return next(level for level in batched.running() if level.depth == number)


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """The examples of a tensor along a dim, as one tensor of a running vmap."""
    return enter(self, batch_dim, _level(level))


def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The tensor of all examples, which are the dim `out_dim`."""
    whole = leave(self, _level(level))
    return whole if out_dim in (0, -whole.dim()) else whole.movedim(0, out_dim)


# ---- inputs ----------------------------------------------------------------------------------------------------------
def _get_name(func: Any) -> str:
    return getattr(func, "__name__", repr(func))


def _process_batched_inputs(in_dims: Any, args: Any, func: Any) -> tuple[int, Any, Any, TreeSpec]:
    """(size, in_dims of the leaves, the leaves, their tree), all checked."""
    where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            where
            + "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            where.replace(f", in_dims={in_dims}, ...", "")
            + "got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            where + "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    for i, (a, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                where + f"Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(a, torch.Tensor):
            raise ValueError(
                where + f"Got in_dim={d} for an input but the input is of type {type(a)}. "
                "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if a.dim() == 0 or not -a.dim() <= d < a.dim():
            raise ValueError(
                where
                + f"Got in_dim={d} for some input, but that input is a Tensor of dimensionality {a.dim()} so expected "
                f"in_dim to satisfy -{a.dim()} <= in_dim < {a.dim()}."
            )
        if d < 0:
            dims[i] = d + a.dim()
    if all(d is None for d in dims):
        raise ValueError(where + "expected at least one tensor to vmap over: every in_dim is None")
    return _validate_and_get_batch_size(dims, leaves), dims, leaves, spec


def _validate_and_get_batch_size(flat_in_dims: Any, flat_args: Any) -> int:
    sizes = [a.size(d) for a, d in zip(flat_args, flat_in_dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _create_batched_inputs(flat_in_dims: Any, flat_args: Any, vmap_level: int, args_spec: TreeSpec) -> Any:
    given = [a if d is None else _add_batch_dim(a, d, vmap_level) for a, d in zip(flat_args, flat_in_dims)]
    return tree_unflatten(given, args_spec)


# ---- outputs ---------------------------------------------------------------------------------------------------------
def _out_dims(func: Any, out_dims: Any, spec: Any) -> Any:
    """out_dims spread over the tree of outputs."""
    where = f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): "
    single = spec.num_leaves == 1 and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf()
    dims = _broadcast_to_and_flatten(out_dims[0] if single else out_dims, spec)
    if dims is None:
        raise ValueError(
            where + "out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    for d in dims:
        if not isinstance(d, int) and d is not None:
            raise ValueError(where + "`out_dims` must be an int, None or a python collection of ints.")
    return dims


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: Any) -> Any:
    """An output as the caller gets it."""
    level = _level(vmap_level)
    if out_dim is None:
        if belongs(batched_output, level):
            if batched_output._batched:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            return leave(batched_output, level)[0]
        return batched_output
    if not isinstance(batched_output, torch.Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    flat, spec = tree_flatten(batched_outputs)
    dims = _out_dims(func, out_dims, spec)
    name = _get_name(func)
    return tree_unflatten(
        [_maybe_remove_batch_dim(name, t, vmap_level, batch_size, d) for t, d in zip(flat, dims)], spec
    )


# ---- the transform ---------------------------------------------------------------------------------------------------
def _flat_vmap(
    func: Any,
    batch_size: int,
    flat_in_dims: Any,
    flat_args: Any,
    args_spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    **kwargs: Any,
) -> Any:
    with vmap_increment_nesting(batch_size, randomness) as level:
        given = _create_batched_inputs(flat_in_dims, flat_args, level, args_spec)
        return _unwrap_batched(func(*given, **kwargs), out_dims, level, batch_size, func)


def get_chunk_sizes(total_elems: int, chunk_size: int) -> list[int]:
    """The sizes of chunks: all alike but the last."""
    whole, rest = divmod(total_elems, chunk_size)
    return [chunk_size] * whole + ([rest] if rest else [])


def _chunked(
    func: Any, dims: Any, leaves: Any, spec: Any, out_dims: Any, randomness: str, sizes: Any, more: Any
) -> Any:
    """One chunk of the examples after the other; each draws the same numbers if `randomness` is "same"."""
    state = torch.get_rng_state() if randomness == "same" else None
    parts, start = [], 0
    for size in sizes:
        if state is not None:
            torch.set_rng_state(state)
        some = [a if d is None else a.narrow(d, start, size) for a, d in zip(leaves, dims)]
        parts.append(tree_flatten(_flat_vmap(func, size, dims, some, spec, out_dims, randomness, **more)))
        start += size
    out_spec = parts[0][1]
    spread = _out_dims(func, out_dims, out_spec)
    columns = zip(spread, *(flat for flat, _ in parts))
    return tree_unflatten([c[0] if d is None else torch.cat(c, d) for d, *c in columns], out_spec)


def _over_parts(func: Any, size: int, dims: Any, leaves: Any, spec: Any, out_dims: Any, kwargs: Any) -> Any:
    """func mapped over the parts of nested tensors: they have different sizes, so it runs once for each."""
    for a, d in zip(leaves, dims):
        if d and a.is_nested:
            raise RuntimeError(f"Nested tensors can only be vmapped over dim=0, but got dim={d}")
    layout = next(a.layout for a, d in zip(leaves, dims) if d is not None and a.is_nested)
    rows = [[a] * size if d is None else a.unbind(d) for a, d in zip(leaves, dims)]
    results = [func(*tree_unflatten(list(row), spec), **kwargs) for row in zip(*rows)]
    flat, out_spec = zip(*(tree_flatten(r) for r in results))
    if any(d != 0 for d in _out_dims(func, out_dims, out_spec[0])):
        raise RuntimeError("vmap over nested tensors gives nested tensors, mapped over their dim 0 only: out_dims=0")
    made = [torch.nested.as_nested_tensor(list(column), layout=layout) for column in zip(*flat)]
    return tree_unflatten(made, out_spec[0])


def _check_randomness_arg(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def vmap_impl(
    func: Any, in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, *args: Any, **kwargs: Any
) -> Any:
    """func mapped over these arguments."""
    size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
    if any(d is not None and getattr(a, "is_nested", False) for a, d in zip(leaves, dims)):
        return _over_parts(func, size, dims, leaves, spec, out_dims, kwargs)
    if chunk_size is not None:
        sizes = get_chunk_sizes(size, chunk_size)
        return _chunked(func, dims, leaves, spec, out_dims, randomness, sizes, kwargs)
    return _flat_vmap(func, size, dims, leaves, spec, out_dims, randomness, **kwargs)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dim of its inputs: nested tuples, lists and dicts of tensors.

    in_dims: the dim of each input that is mapped over; None for one that is the same for all calls. out_dims: where the
    mapped dim is in each output. randomness: whether random ops give "different" numbers for each example, the
    "same", or are an "error". chunk_size: how many examples run at once; all by default."""
    _check_randomness_arg(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)

    return functools.wraps(func)(wrapper) if hasattr(func, "__name__") else wrapper


# ---- for custom functions --------------------------------------------------------------------------------------------
def wrap_batched(args: Any, bdims: Any, level: int) -> Any:
    """The arguments as tensors of a running vmap, where their dim is not None."""
    flat, spec = tree_flatten(args)
    return _create_batched_inputs(_broadcast_to_and_flatten(bdims, spec), flat, level, spec)


def unwrap_batched(args: Any, level: int) -> tuple[Any, Any]:
    """(values, dims): the other way round."""
    flat, spec = tree_flatten(args)
    if not flat:
        return args, ()
    at = _level(level)
    mapped = [belongs(t, at) and t._batched for t in flat]
    whole = [leave(t, at) if belongs(t, at) else t for t in flat]
    values = [v[0] if belongs(t, at) and not m else v for v, t, m in zip(whole, flat, mapped)]
    return tree_unflatten(values, spec), tree_unflatten([0 if m else None for m in mapped], spec)


def restore_vmap(func: Any, in_dims: Any, batch_size: int, randomness: str) -> Any:
    """A function that maps func over arguments as vmap does, and returns its outputs and their dims."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        with vmap_increment_nesting(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)

    return inner


def doesnt_support_saved_tensors_hooks(f: Any) -> Any:
    """Decorator: while f runs, torch.autograd.graph.saved_tensors_hooks is an error."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from ..func import _NO_HOOKS

        with torch.autograd.graph.disable_saved_tensors_hooks(_NO_HOOKS):
            return f(*args, **kwargs)

    return wrapper


def lazy_load_decompositions() -> None:
    """Nothing is left to load."""
