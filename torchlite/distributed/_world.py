"""A world of one process: init_process_group with world_size=1, and collectives that are copies."""

from __future__ import annotations

import os
from typing import Any

import torchlite as torch

_UNSET = "Default process group has not been initialized, please make sure to call init_process_group."


class ProcessGroup:
    """The group of this process."""

    __module__ = "torch.distributed"

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1

    def name(self) -> str:
        return self._backend


class Work:
    """A collective that is done; `tensors` is what it has filled."""

    __module__ = "torch.distributed"

    def __init__(self, *tensors: Any) -> None:
        self._tensors = list(tensors)

    def result(self) -> list[Any]:
        return self._tensors

    def get_future(self) -> Any:
        """A torch.futures.Future that has the tensors."""
        future: Any = torch.futures.Future()
        future.set_result(self._tensors)
        return future

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    is_success = is_completed


_groups: list[ProcessGroup] = []


def is_initialized() -> bool:
    """Whether init_process_group was called."""
    return bool(_groups)


def _group(group: Any = None) -> ProcessGroup:
    if group is None or type(group) is not ProcessGroup:
        if not _groups:
            raise ValueError(_UNSET)
        return _groups[0]
    return group


def init_process_group(
    backend: Any = None,
    init_method: Any = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Makes the group of this process. A world of more than one is refused."""
    if _groups:
        raise ValueError("trying to initialize the default process group twice!")
    size = world_size if world_size >= 0 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise RuntimeError(
            "torch.distributed with world_size=%d: torchlite runs in one process. The same script runs distributed "
            "under PyTorch." % size
        )
    if rank > 0:
        raise ValueError("rank %d is not in a world of one process" % rank)
    _groups.append(ProcessGroup(str(backend or "gloo").lower()))


def destroy_process_group(group: Any = None) -> None:
    """Ends the world."""
    _group(group)
    _groups.clear()


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: Any = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: Any = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> ProcessGroup:
    """A group of this process."""
    found = _group()
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    return ProcessGroup(found._backend)


def get_rank(group: Any = None) -> int:
    """0."""
    return _group(group).rank()


def get_world_size(group: Any = None) -> int:
    """1."""
    return _group(group).size()


def get_backend(group: Any = None) -> str:
    """The name that init_process_group was given."""
    return _group(group)._backend


def _done(async_op: bool, *tensors: Any) -> Work | None:
    return Work(*tensors) if async_op else None


def _only(rank: Any) -> None:
    if rank not in (None, 0):
        raise ValueError("rank %r is not in a world of one process" % (rank,))


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Nobody is waited for."""
    _group(group)
    return _done(async_op)


def all_reduce(tensor: Any, op: Any = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Any reduction of one tensor is the tensor."""
    _group(group)
    return _done(async_op, tensor)


def reduce(
    tensor: Any, dst: Any = None, op: Any = 0, group: Any = None, async_op: bool = False, group_dst: Any = None
) -> Work | None:
    _only(dst)
    return all_reduce(tensor, op, group, async_op)


def broadcast(
    tensor: Any, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    _only(src)
    return all_reduce(tensor, 0, group, async_op)


def _write(target: Any, source: Any) -> None:
    with torch.no_grad():
        target.copy_(source.reshape(target.shape))


def _one(tensors: Any, what: str) -> Any:
    if len(tensors) != 1:
        raise ValueError("%s: a world of one process has one tensor, but got %d" % (what, len(tensors)))
    return tensors[0]


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    _group(group)
    _write(_one(tensor_list, "all_gather"), tensor)
    return _done(async_op, *tensor_list)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    _group(group)
    _write(output_tensor, input_tensor)
    return _done(async_op, output_tensor)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    _only(dst)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    return all_gather(gather_list, tensor, group, async_op)


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_src: Any = None,
) -> Work | None:
    _only(src)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    return reduce_scatter(tensor, scatter_list, 0, group, async_op)


def reduce_scatter(output: Any, input_list: Any, op: Any = 0, group: Any = None, async_op: bool = False) -> Work | None:
    _group(group)
    _write(output, _one(input_list, "reduce_scatter"))
    return _done(async_op, output)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    return all_gather_into_tensor(output, input, group, async_op)


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    _group(group)
    _one(object_list, "all_gather_object")
    object_list[0] = obj


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    _only(dst)
    all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(
    object_list: Any, src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
) -> None:
    _only(src)
    _group(group)


def _no_peer() -> ValueError:
    return ValueError("Invalid destination rank: there is no other process to send to or to receive from.")


def send(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> None:
    raise _no_peer()


def isend(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> Any:
    raise _no_peer()


def recv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> int:
    raise _no_peer()


def irecv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> Any:
    raise _no_peer()
