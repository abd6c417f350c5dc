"""torch.distributed: one process; queries say so and everything else refuses."""


def is_available():
    return False


def is_initialized():
    return False


def is_torchelastic_launched():
    return False


def is_nccl_available():
    return False


is_mpi_available = is_gloo_available = is_nccl_available


def get_rank(group=None):
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


get_world_size = get_rank


def init_process_group(*args, **kwargs):
    raise RuntimeError(
        "torch.distributed is not available: torchlite runs in one process. "
        "The same script runs distributed under PyTorch."
    )


class ReduceOp:
    """Names of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX = range(5)


def __getattr__(name):
    if name in (
        "all_reduce",
        "all_gather",
        "broadcast",
        "barrier",
        "reduce",
        "destroy_process_group",
        "new_group",
        "gather",
        "scatter",
        "send",
        "recv",
        "all_gather_into_tensor",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "get_backend",
    ):
        return init_process_group
    from .._core import absent

    return absent.of(__name__)(name)
