"""torch.compile and other rarely used functions of the torch namespace."""


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend="inductor",
    mode=None,
    options=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
):
    """Returns the model or function itself: every backend runs eagerly here, with the same results."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda m: m
    return model


def get_device_module(device=None):
    """The module of a device type, for example torch.cuda."""
    import torchlite as torch

    kind = torch.device("cpu" if device is None else device).type
    try:
        return getattr(torch, kind)
    except AttributeError:
        raise RuntimeError(
            "Device '%s' does not have a corresponding module registered as 'torch.%s'." % (kind, kind)
        ) from None
