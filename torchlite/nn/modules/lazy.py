"""Modules whose parameter shapes are found at the first call."""

from __future__ import annotations

from torchlite.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .module import Module as _Module
else:
    _Module = object  # it is mixed with a module class

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(_Module):
    """Holds uninitialized parameters until the first forward, then turns into `cls_to_become`."""

    cls_to_become: type[_Module] | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                kept = is_lazy(param) or keep_vars
                destination[prefix + name] = param if kept else param.detach()
        for name, buf in self._buffers.items():
            if buf is not None and name not in self._non_persistent_buffers_set:
                if not (is_lazy(buf) or keep_vars):
                    buf = buf.detach()
                destination[prefix + name] = buf

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        import torchlite as torch

        for name, param in [*self._parameters.items(), *self._buffers.items()]:
            key = prefix + name
            if key in state_dict and param is not None and is_lazy(param) and not is_lazy(state_dict[key]):
                with torch.no_grad():
                    param.materialize(state_dict[key].shape)  # type: ignore[attr-defined]

    def initialize_parameters(self, *args, **kwargs):
        """Gives the parameters their shape from the inputs of the first forward."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self):
        """Whether any parameter or buffer still waits for its shape."""
        return any(is_lazy(p) for p in [*self._parameters.values(), *self._buffers.values()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        delattr(module, "_initialize_hook")
        delattr(module, "_load_hook")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
