"""torch.jit without a compiler: scripts and traces are the Python code itself."""

import builtins
from contextlib import contextmanager as _contextmanager
from weakref import WeakValueDictionary as _WeakValues

from ._core.future import Future as _Future
from .futures import Future  # noqa: F401


# the modules that PyTorch would have compiled, by id: one with an __eq__ has no hash
_compiled: _WeakValues = _WeakValues()


def _same(obj):
    from .nn import Module

    if builtins.isinstance(obj, Module):
        _compiled[id(obj)] = obj
    return obj


def _why_not(module, name):
    """Raises an error for an attribute that a compiled module would have."""
    if _compiled.get(id(module)) is module:
        from ._core.absent import AbsentError

        raise AbsentError(
            "torch.jit.ScriptModule.%s: torchlite has no TorchScript, and script() and trace() give back the Python "
            "module itself. Save its numbers by torch.save(module.state_dict(), path)" % name
        )


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function or module itself."""
    return _same(obj)


def _as_args(inputs):
    """Example inputs as arguments: a tensor or dict is one, anything else holds them."""
    from . import Tensor

    return (inputs,) if builtins.isinstance(inputs, (Tensor, dict)) else tuple(inputs)


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """The function or module itself, after one run with the example inputs."""
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    elif example_inputs is not None:
        func(*_as_args(example_inputs))
    return _same(func)


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """The module itself, after one run of each named method with its inputs."""
    for name, given in inputs.items():
        method = getattr(mod, "__call__" if name == "forward" else name)
        if example_inputs_is_kwarg:
            method(**given)
        else:
            method(*_as_args(given))
    return _same(mod)


def ignore(drop=False, **kwargs):
    """A decorator that changes nothing; also as `@ignore` without a call."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    return fn


def export(fn):
    return fn


def script_if_tracing(fn):
    return fn


def is_scripting():
    return False


_tracing: list = []  # the traces that run, see _core.traced_graph


def is_tracing():
    return bool(_tracing)


def _get_trace_graph(
    f,
    args=(),
    kwargs=None,
    strict=True,
    _force_outplace=False,
    return_inputs=False,
    _return_inputs_states=False,
):
    """The graph of the operators that f(*args, **kwargs) calls, and what it returns."""
    from ._core import traced_graph

    found = traced_graph.trace(f, args if builtins.isinstance(args, tuple) else (args,), kwargs or {})
    return (*found, args) if return_inputs else found


def interface(obj):
    return obj


def annotate(the_type, the_value):
    return the_value


def _overload_method(fn):
    return fn


def isinstance(obj, target_type):
    """The builtin isinstance."""
    return builtins.isinstance(obj, target_type)


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    return mod


def optimize_for_inference(mod, other_methods=None):
    return mod


@_contextmanager
def optimized_execution(should_optimize):
    yield


@_contextmanager
def fuser(name):
    yield


def set_fusion_strategy(strategy):
    return []


def script_method(fn):
    return fn


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


def save(m, f, _extra_files=None):
    raise NotImplementedError("TorchScript archives are not supported; save m.state_dict() with torch.save")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
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
