"""Mixed precision: torch.amp. What autocast casts is in _core/autocasting.py."""

from __future__ import annotations

import functools
import warnings

from .._core import device as _device, dtypes as _dtypes
from .._core.tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from .._types import Device

_told = [False]


def _casting() -> ModuleType:
    from .._core import autocasting

    return autocasting


class autocast:
    """Context manager and decorator: inside, matrix products and convolutions on the CPU compute in `dtype`, bfloat16
    or float16, losses and some others in float32, as in PyTorch; other ops keep the dtype of their inputs.

    For "cuda" without CUDA it is disabled with a warning, as in PyTorch. On webgpu nothing is cast, and one warning
    says so."""

    __module__ = "torchlite.amp.autocast_mode"

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError("Expected `device_type` of type `str`, got: `%s`" % type(device_type))
        self.device, self.fast_dtype = device_type, get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not _device.cuda_is_webgpu():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and device_type == "cpu" and self.fast_dtype not in (_dtypes.bfloat16, _dtypes.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        elif enabled and device_type != "cpu" and not _told[0]:
            _told[0] = True
            warnings.warn("autocast has no effect on %s in torchlite: ops keep their dtype" % device_type, stacklevel=2)
        self._enabled = enabled

    def __enter__(self):
        casting, kind = _casting(), _device.device(self.device).type
        self._before = casting.enabled(kind), casting.lower_dtype(kind), casting.state["cache"]
        casting.state["dtypes"][kind], casting.state["cache"] = self.fast_dtype, self._cache_enabled
        casting.switch(kind, self._enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc):
        casting, kind = _casting(), _device.device(self.device).type
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        on, casting.state["dtypes"][kind], casting.state["cache"] = self._before
        casting.switch(kind, on)
        return False

    def __call__(self, fn):
        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with self:
                return fn(*args, **kwargs)

        return wrapped


def is_autocast_available(device_type):
    """Whether PyTorch has autocast for a device type."""
    return _device.device(device_type).type in (
        "cpu",
        "cuda",
        "mps",
        "xpu",
        "hpu",
        "ipu",
        "maia",
        "mtia",
        "xla",
        "webgpu",
    )


def is_autocast_enabled(device_type="cuda"):
    return _casting().enabled(_device.device(device_type).type)


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast; without a device type, for "cuda"."""
    kind, on = ("cuda", device_type) if enabled is None else (_device.device(device_type).type, enabled)
    _casting().switch(kind, on)


def get_autocast_dtype(device_type):
    """The 16-bit dtype of autocast on a device type; a RuntimeError for one that has no autocast."""
    if not is_autocast_available(device_type):
        raise RuntimeError("unsupported scalarType")
    return _casting().lower_dtype(_device.device(device_type).type)


def set_autocast_dtype(device_type, dtype):
    _casting().state["dtypes"][_device.device(device_type).type] = dtype


def is_autocast_cache_enabled():
    return _casting().state["cache"]


def set_autocast_cache_enabled(enabled):
    _casting().state["cache"] = bool(enabled)


def clear_autocast_cache():
    """Forgets the casts of weights that were made inside the outermost autocast."""
    _casting().clear()


def autocast_increment_nesting():
    state = _casting().state
    state["nesting"] += 1
    return state["nesting"]


def autocast_decrement_nesting():
    state = _casting().state
    state["nesting"] -= 1
    return state["nesting"]


def _old(name, parameter, new, call):
    """A function of old, for one device type."""

    def fn(*args):
        text = "torch.%s(%s) is deprecated. Please use torch.%s instead." % (name, parameter, new)
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return call(*args)

    fn.__name__ = fn.__qualname__ = name
    return fn


def _old_functions():
    for kind, device in (("cpu", "cpu"), ("gpu", "cuda")):
        get, put = functools.partial(get_autocast_dtype, device), functools.partial(set_autocast_dtype, device)
        yield _old(f"get_autocast_{kind}_dtype", "", f"get_autocast_dtype('{device}')", get)
        yield _old(f"set_autocast_{kind}_dtype", "dtype", f"set_autocast_dtype('{device}', dtype)", put)
    asked, switch = functools.partial(is_autocast_enabled, "cpu"), functools.partial(set_autocast_enabled, "cpu")
    yield _old("is_autocast_cpu_enabled", "", "is_autocast_enabled('cpu')", asked)
    yield _old("set_autocast_cpu_enabled", "enabled", "set_autocast_enabled('cpu', enabled)", switch)


(
    get_autocast_cpu_dtype,
    set_autocast_cpu_dtype,
    get_autocast_gpu_dtype,
    set_autocast_gpu_dtype,
    is_autocast_cpu_enabled,
    set_autocast_cpu_enabled,
) = _old_functions()


def _cast(value, device_type, dtype):
    if isinstance(value, Tensor):
        own = value.device.type == _device.device(device_type).type
        return value.to(dtype) if own and value.is_floating_point() and value.dtype is not _dtypes.float64 else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorator of Function.forward. With cast_inputs, a dtype, it runs without autocast on inputs that are cast to it;
    without, in the autocast that is on, which backward (custom_bwd) then has too."""
    if not isinstance(device_type, str):
        raise ValueError("Expected `device_type` of type `str`, got: `%s`" % type(device_type))
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """Decorator of Function.backward: it runs in the autocast that custom_fwd's forward ran in."""
    if not isinstance(device_type, str):
        raise ValueError("Expected `device_type` of type `str`, got: `%s`" % type(device_type))
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def deprecated(device, name, new):
    """Warns that torch.<device>.amp.<name> has a new home."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


from .grad_scaler import GradScaler


def old_names(device):
    """autocast and GradScaler of torch.<device>.amp."""

    class old_autocast(autocast):
        def __init__(self, enabled=True, dtype=None, cache_enabled=True):
            deprecated(device, "autocast", f"autocast('{device}', args...)")
            super().__init__(device, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    class old_scaler(GradScaler):
        def __init__(
            self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
        ):
            deprecated(device, "GradScaler", f"GradScaler('{device}', args...)")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    for new, old in ((old_autocast, autocast), (old_scaler, GradScaler)):
        new.__name__ = new.__qualname__ = old.__name__
        new.__doc__ = f'{old.__name__}("{device}")'
        new.__module__ = f"torchlite.{device}.amp"
    return old_autocast, old_scaler


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
