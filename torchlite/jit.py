"""torch.jit without a compiler: scripts and traces are the Python code itself."""

from ._core.future import Future as _Future
from .futures import Future  # noqa: F401


def script(obj=None, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function or module itself."""
    return obj


def trace(func, example_inputs=None, **kwargs):
    """The function or module itself, after one run with the example inputs."""
    if example_inputs is not None:
        args = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        func(*args)
    return func


def ignore(fn=None, drop=False, **kwargs):
    return fn if callable(fn) else lambda f: f


unused = ignore


def export(fn):
    return fn


def script_if_tracing(fn):
    return fn


def is_scripting():
    return False


def is_tracing():
    return False


def interface(obj):
    return obj


def annotate(the_type, the_value):
    return the_value


def _overload_method(fn):
    return fn


def isinstance(obj, target):
    """The builtin isinstance."""
    import builtins

    return builtins.isinstance(obj, target)


def freeze(mod, *args, **kwargs):
    return mod


def optimize_for_inference(mod, *args, **kwargs):
    return mod


def fork(func, *args, **kwargs):
    """Runs at once; wait() of the Future that it returns gives the result."""
    if not callable(func):
        raise TypeError("Object of type '%s' is not an instance of 'function'" % type(func).__name__)
    result = _Future([])
    result.set_result(func(*args, **kwargs))
    return result


def wait(future):
    """What fork's function returned."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not issubclass(type(future), _Future):
        raise TypeError("wait(): incompatible function arguments: a torch.Future is expected, not %r" % (future,))
    return future.wait()


def save(m, f, **kwargs):
    raise NotImplementedError("TorchScript archives are not supported; save m.state_dict() with torch.save")


def load(f, **kwargs):
    raise NotImplementedError("TorchScript archives are not supported; load a state_dict with torch.load")


Final = __import__("typing").Final


class ScriptModule:
    """Never made here; isinstance checks are False."""


class ScriptFunction:
    """Never made here; isinstance checks are False."""


class TracerWarning(Warning):
    """Nothing gives it here."""

    @staticmethod
    def ignore_lib_warnings():
        """Nothing: there are none to ignore."""


class _recursive:
    """What the compiler keeps of classes: nothing."""

    class ConcreteTypeStore:
        pass

    concrete_type_store = None


class _state:
    @staticmethod
    def _clear_class_state():
        """Nothing is kept."""


def _overload(func):
    """Of several declarations of a function TorchScript would choose one; Python takes the last."""
    return func


_script_if_tracing = script_if_tracing
Attribute = tuple


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
