"""Modules without initialisation."""

import torchlite as torch

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """Makes a module whose parameters are not initialised (and draws no random numbers)."""
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    import inspect

    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    state = torch.get_rng_state()
    try:
        return module_cls(*args, **kwargs).to(device)
    finally:
        torch.set_rng_state(state)
