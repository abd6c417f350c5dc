"""Old home of autocast and GradScaler."""

import functools as _functools

from .. import amp as _amp

autocast, GradScaler = _amp.old_names("cuda")


def _old(fn):
    @_functools.wraps(fn)
    def wrapped(*args, **kwargs):
        _amp.deprecated("cuda", fn.__name__, f"{fn.__name__}(args..., device_type='cuda')")
        return fn(*args, device_type="cuda", **kwargs)

    return wrapped


custom_fwd, custom_bwd = _old(_amp.custom_fwd), _old(_amp.custom_bwd)


from .._core import absent as _absent

__getattr__ = _absent.of(__name__)
