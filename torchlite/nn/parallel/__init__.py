"""Data parallel wrappers. There is one device and one process, so they run the module as it is."""

import torchlite as torch
from torchlite.nn.modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs `module` on the only device; keeps the "module." prefix in the state_dict."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Evaluates module(*inputs) on the only device."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Needs an initialised process group; with one process it runs `module` as it is."""

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=None,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params=False,
        bucket_cap_mb_list=None,
        batched_grad_copy=False,
        forward_sync_buffers=None,
    ):
        if mixed_precision is not None:
            raise NotImplementedError(
                "DistributedDataParallel(mixed_precision=...): torchlite has no such casts; call the model inside "
                "torch.autocast"
            )
        dist = torch.distributed
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if dist.get_world_size() != 1:
            raise RuntimeError("DistributedDataParallel: only a group of one process is supported")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        super().__init__()
        self.module = module
        self.dim, self.device_ids, self.output_device = dim, None, None
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.process_group = process_group or dist._world._group()

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A context for processes with uneven inputs: there is one process."""
        return self.no_sync()

    def register_comm_hook(self, state, hook):
        """Nothing is exchanged, so the hook is never called."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")

    def no_sync(self):
        """A context in which gradients are not exchanged: nothing to do."""
        from contextlib import nullcontext

        return nullcontext()


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
