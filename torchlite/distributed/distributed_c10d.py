"""torch.distributed.distributed_c10d: groups by name, and the rarer collectives, in a world of one process."""

from __future__ import annotations

import datetime
import os
from typing import Any

from . import _world
from . import ReduceOp, is_gloo_available, is_mpi_available, is_nccl_available, is_torchelastic_launched  # noqa: F401
from ._world import *  # noqa: F403
from ._stores import PrefixStore, Store, TCPStore  # noqa: F401
from ._world import ProcessGroup, Work, _done, _group, _no_peer, _one, _only, _write

default_pg_timeout = datetime.timedelta(minutes=30)


class _WorldMeta(type):
    """Of a class that tells the group of all processes."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of init_process_group; None before it."""
        return _world._groups[0] if _world._groups else None

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        _world._groups[:] = [] if group is None else [group]


class group(metaclass=_WorldMeta):
    """`group.WORLD`."""


class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.WORLD`, and what a process gets that is not in a group."""

    NON_GROUP_MEMBER = -100


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, getattr(Backend, name.upper(), name.lower()))


def _get_default_group() -> ProcessGroup:
    """The group of init_process_group."""
    if not _world._groups:
        raise ValueError(_world._UNSET)
    return _world._groups[0]


def is_ucc_available() -> bool:
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether init_process_group takes it; nothing is sent."""
    return backend.lower() == "gloo" and is_gloo_available()


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """[0]."""
    _group(group)
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """0."""
    _group(group)
    _only(group_rank)
    return 0


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """0."""
    return get_global_rank(group, global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment, or the fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Nobody is waited for."""
    _group(group)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    _group(group)
    _write(_one(output_tensor_list, "all_to_all"), _one(input_tensor_list, "all_to_all"))
    return _done(async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    _group(group)
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes and _one(sizes, "all_to_all_single") != tensor.size(0):
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
    _write(output, input)
    return _done(async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    _group(group)
    for target, source in zip(_one(output_tensor_lists, "all_gather_coalesced"), input_tensor_list):
        _write(target, source)
    return _done(async_op)


def all_reduce_coalesced(tensors: Any, op: Any = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Any reduction of one tensor is the tensor."""
    _group(group)
    return _done(async_op)


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: Any = None,
    group: Any = None,
    group_src: Any = None,
) -> None:
    _only(src)
    _group(group)
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    scatter_object_output_list[0] = _one(scatter_object_input_list or [], "scatter_object_list")


def send_object_list(
    object_list: Any,
    dst: Any = None,
    group: Any = None,
    device: Any = None,
    group_dst: Any = None,
    use_batch: Any = False,
) -> None:
    raise _no_peer()


def recv_object_list(
    object_list: Any,
    src: Any = None,
    group: Any = None,
    device: Any = None,
    group_src: Any = None,
    use_batch: Any = False,
) -> int:
    raise _no_peer()


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
