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

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, **kwargs):
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

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def no_sync(self):
        """A context in which gradients are not exchanged: nothing to do."""
        from contextlib import nullcontext

        return nullcontext()


from ..._core import absent as _absent

__getattr__ = _absent.of(__name__)
