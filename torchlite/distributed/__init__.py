"""torch.distributed: a world of one process. What needs more processes refuses."""

from ._world import (
    ProcessGroup,
    Work,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    barrier,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    gather_object,
    get_backend,
    get_rank,
    get_world_size,
    init_process_group,
    irecv,
    is_initialized,
    isend,
    new_group,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    send,
)


def is_available():
    """Whether there is a world: packages that ask before they make one stay in one process."""
    return is_initialized()


def is_torchelastic_launched():
    return False


def is_nccl_available():
    return False


def is_gloo_available():
    """The backend's name is taken; nothing is sent."""
    return is_initialized()


is_mpi_available = is_nccl_available


class ReduceOp:
    """Names of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX = range(5)


_STORES = frozenset(
    "DistBackendError DistError DistNetworkError DistStoreError FileStore HashStore PrefixStore Store TCPStore".split()
)


def __getattr__(name):
    if name in _STORES:
        from . import _stores

        return getattr(_stores, name)
    from .._core import absent

    return absent.of(__name__)(name)
