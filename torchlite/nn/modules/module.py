"""`Module`: the base class of every layer and model."""

from __future__ import annotations


import itertools
import sys
from collections import OrderedDict

import torchlite as torch
from torchlite.nn.modules._convert import _Conversion
from torchlite.nn.modules._state import _add, _StateDict

# PyTorch has these here
from torchlite.nn.modules._state import _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys, _WrappedHook  # noqa: F401
from torchlite.nn.parameter import Buffer, Parameter
from torchlite.utils.hooks import BackwardHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Tensor
    from ...utils.hooks import RemovableHandle

    Hooks = OrderedDict[int, Callable[..., Any]]
    Flags = OrderedDict[int, bool]


__all__ = [
    "Module",
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _addindent(s_: str, numSpaces: int) -> str:
    lines = s_.split("\n")
    if len(lines) == 1:
        return s_
    return lines[0] + "\n" + "\n".join(numSpaces * " " + line for line in lines[1:])


# hooks for all modules
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_always_called: Flags = OrderedDict()
_global_forward_hooks_with_kwargs: Flags = OrderedDict()
_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()


def _watch() -> None:
    """Tells the core of the dicts: it looks into them at each call. Some programs put others in their place."""
    torch._C.ModuleBase._set_global_hooks(
        (_global_forward_hooks, _global_forward_pre_hooks, _global_backward_hooks, _global_backward_pre_hooks)
    )


_watch()


def register_module_buffer_registration_hook(hook: Any) -> Any:
    """Runs `hook(module, name, buffer)` whenever any module registers a buffer; a returned tensor replaces it."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Any) -> Any:
    """Runs `hook(module, name, submodule)` whenever any module registers a child."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Any) -> Any:
    """Runs `hook(module, name, param)` whenever any module registers a parameter."""
    return _add(_global_parameter_registration_hooks, hook)


def _hooked(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """What a module registers in place of `value`: each hook may return another."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def register_module_forward_pre_hook(hook: Any) -> Any:
    """Runs `hook(module, args)` before the forward of every module."""
    _watch()
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Any, *, with_kwargs: bool = False, always_call: bool = False) -> Any:
    """Runs `hook(module, args, output)` (with kwargs when asked) after the forward of every module."""
    _watch()
    handle = _add(
        _global_forward_hooks,
        hook,
        _global_forward_hooks_with_kwargs if with_kwargs else None,
        _global_forward_hooks_always_called if always_call else None,
    )
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Any) -> Any:
    """Runs `hook(module, grad_output)` before the gradient of every module is computed."""
    _watch()
    return _add(_global_backward_pre_hooks, hook)


def _set_global_backward(full: Any) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is not None and _global_is_full_backward_hook is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    _watch()
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Any) -> Any:
    """The older, non-full form of `register_module_full_backward_hook`."""
    _set_global_backward(False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_hook(hook: Any) -> Any:
    """Runs `hook(module, grad_input, grad_output)` when the gradients of every module are known."""
    _set_global_backward(True)
    return _add(_global_backward_hooks, hook)


def _forward_unimplemented(self: Any, *input: Tensor | int) -> Any:
    """Computes the module's output; every subclass defines it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _find_tensor(x: Any) -> Any:
    # first tensor in a (nested) output, for the non-full backward hooks
    while not isinstance(x, torch.Tensor):
        if isinstance(x, dict):
            x = next(v for v in x.values() if isinstance(v, torch.Tensor))
        elif isinstance(x, (list, tuple)) and x:
            x = x[0]
        else:
            return None
    return x


def _warn_non_full_hook(args: Any, result: Any, grad_fn: Any) -> None:
    """Says which gradients a backward hook that is not a full one will not see."""

    def tensors(x: Any) -> Any:
        return isinstance(x, tuple) and all(isinstance(t, torch.Tensor) for t in x)

    results = (result,) if isinstance(result, torch.Tensor) else result
    more = " Please use register_full_backward_hook to get the documented behavior."
    if not tensors(results):
        what, missing = (
            "hooks on a Module that does not return a single Tensor or a tuple of Tensors",
            "some of the grad_output",
        )
    elif not tensors(args):
        what, missing = (
            "hooks on a Module that does not take as input a single Tensor or a tuple of Tensors",
            "some of the grad_input",
        )
    else:
        nodes = {r.grad_fn for r in results if r.grad_fn is not None}
        if len(nodes) > 1:
            what, missing = "hook when outputs are generated by different autograd Nodes", "some grad_output"
        elif {a.grad_fn for a in args if a.grad_fn is not None} != {n for n, _ in grad_fn.next_functions}:
            what, missing = "hook when the forward contains multiple autograd Nodes", "some grad_input"
        else:
            return
    import warnings

    using = "Using a non-full backward " if what.startswith("hook ") else "Using non-full backward "
    warnings.warn(
        f"{using}{what} is deprecated and will be removed in future versions. "
        f"This hook will be missing {missing}.{more}",
        FutureWarning,
        stacklevel=2,
    )


_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class _Signature:
    """inspect.signature of a module: its call takes anything. A class has that of its __init__."""

    def __get__(self, module: Any, kind: type) -> Any:
        if module is None:
            raise AttributeError("__signature__")
        import inspect

        kinds = (("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds])


# ModuleBase: the native core finds parameters, children and buffers by itself
class Module(_StateDict, _Conversion, torch._C.ModuleBase):
    """Base class of all neural network modules.

    Parameters, buffers and child modules become known by assigning them as attributes in `__init__` (after
    `super().__init__()`); `forward` computes the output; calling the module runs it with its hooks.
    """

    dump_patches = False
    _version = 1
    training: bool
    if TYPE_CHECKING:  # not at run time: typing.get_type_hints of a module must not meet these names
        forward: Callable[..., Any]
        _is_full_backward_hook: bool | None

        def __getattr__(self, name: str) -> Any: ...

    call_super_init = False
    _compiled_call_impl = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and (args or kwargs):
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        d = self.__dict__
        d["training"] = True
        d["_parameters"] = {}
        d["_buffers"] = {}
        d["_non_persistent_buffers_set"] = set()
        d["_backward_pre_hooks"] = OrderedDict()
        d["_backward_hooks"] = OrderedDict()
        d["_is_full_backward_hook"] = None
        d["_forward_hooks"] = OrderedDict()
        d["_forward_hooks_with_kwargs"] = OrderedDict()
        d["_forward_hooks_always_called"] = OrderedDict()
        d["_forward_pre_hooks"] = OrderedDict()
        d["_forward_pre_hooks_with_kwargs"] = OrderedDict()
        d["_state_dict_hooks"] = OrderedDict()
        d["_state_dict_pre_hooks"] = OrderedDict()
        d["_load_state_dict_pre_hooks"] = OrderedDict()
        d["_load_state_dict_post_hooks"] = OrderedDict()
        d["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if not TYPE_CHECKING:
        forward = _forward_unimplemented

    # ---- registration ----------------------------------------------------------------------------------------------
    def _check_name(self, name: str, kind: str, table: dict[str, Any], init: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {init} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer: state that is not a parameter. `persistent=False` keeps it out of the state_dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _hooked(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Adds a parameter; `None` reserves the name and stays out of the state_dict."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters, "parameter")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                "None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = _hooked(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Adds a child module under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _hooked(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    # ---- lookup by path --------------------------------------------------------------------------------------------
    def get_submodule(self, target: Any) -> Module:
        """The submodule at a dotted path; AttributeError when there is none."""
        if target == "":
            return self
        mod = self
        for item in target.split("."):
            if not hasattr(mod, item):
                raise AttributeError(mod._get_name() + " has no attribute `" + item + "`")
            mod = getattr(mod, item)
            if not isinstance(mod, Module):
                raise AttributeError("`" + item + "` is not an nn.Module")
        return mod

    def set_submodule(self, target: Any, module: Any, strict: bool = False) -> None:
        """Replaces (or, unless `strict`, adds) the submodule at a dotted path."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError("`module` is not an nn.Module, found " + str(type(module)))
        *path, name = target.split(".")
        parent = self.get_submodule(".".join(path))
        if strict and not hasattr(parent, name):
            raise AttributeError(parent._get_name() + " has no attribute `" + name + "`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError("`" + name + "` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        mod = self.get_submodule(path)
        if not hasattr(mod, name):
            raise AttributeError(mod._get_name() + " has no attribute `" + name + "`")
        return mod, name, getattr(mod, name)

    def get_parameter(self, target: Any) -> Any:
        """The parameter at a dotted path."""
        mod, name, param = self._get_member(target)
        if not isinstance(param, Parameter):
            raise AttributeError("`" + name + "` is not an nn.Parameter")
        return param

    def get_buffer(self, target: Any) -> Any:
        """The buffer at a dotted path."""
        mod, name, buffer = self._get_member(target)
        if name not in mod._buffers:
            raise AttributeError("`" + name + "` is not a buffer")
        return buffer

    # ---- hooks -----------------------------------------------------------------------------------------------------
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(module, grad_output)` before the module's gradients are computed."""
        handle = _add(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_backward_hook(self, hook: Any) -> Any:
        """Deprecated in favour of `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = False
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(module, grad_input, grad_output)` when the gradients for the module's inputs are known."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of them."
            )
        self._is_full_backward_hook = True
        handle = _add(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def _get_backward_hooks(self) -> tuple[list[Callable[..., Any]], list[Any]]:
        full: list[Callable[..., Any]] = []
        non_full: list[Any] = []
        if _global_is_full_backward_hook is True:
            full += _global_backward_hooks.values()
        if self._is_full_backward_hook is True:
            full += self._backward_hooks.values()
        if _global_is_full_backward_hook is False:
            non_full += _global_backward_hooks.values()
        if self._is_full_backward_hook is False:
            non_full += self._backward_hooks.values()
        return full, non_full

    def _get_backward_pre_hooks(self) -> list[Callable[..., Any]]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Runs `hook(module, args)` (or `hook(module, args, kwargs)`) before forward; it may return changed inputs."""
        handle = _add(self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Runs `hook(module, args, output)` (or with kwargs) after forward; a returned value replaces the output."""
        handle = _add(self._forward_hooks, hook, self._forward_hooks_with_kwargs, self._forward_hooks_always_called)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    # ---- calling ---------------------------------------------------------------------------------------------------
    __signature__ = _Signature()

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self.__call__(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Tensor:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        called: set[int] = set()
        self._backward_hooks  # noqa: B018  raises if a subclass did not call Module.__init__
        try:
            return self._run_with_hooks(args, kwargs, called)
        except Exception:
            # hooks asked for with always_call run even though forward failed; their own errors only warn
            for always, hooks, with_kwargs in (
                (_global_forward_hooks_always_called, _global_forward_hooks, _global_forward_hooks_with_kwargs),
                (self._forward_hooks_always_called, self._forward_hooks, self._forward_hooks_with_kwargs),
            ):
                for hook_id, hook in list(hooks.items()):
                    if hook_id in always and hook_id not in called:
                        try:
                            hook(self, args, kwargs, None) if hook_id in with_kwargs else hook(self, args, None)
                        except Exception as e:
                            import warnings

                            which = "global module" if always is _global_forward_hooks_always_called else "module"
                            warnings.warn(
                                f"{which} forward hook with ``always_call=True`` raised an exception that was "
                                f"silenced as another error was raised in forward: {e}",
                                stacklevel=3,
                            )
            raise

    def _run_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[Any]) -> Any:
        full_hooks: list[Any] = []
        non_full_hooks: list[Any] = []
        pre_hooks = []
        if self._backward_hooks or _global_backward_hooks:
            full_hooks, non_full_hooks = self._get_backward_hooks()
        if self._backward_pre_hooks or _global_backward_pre_hooks:
            pre_hooks = self._get_backward_pre_hooks()
        for hook_id, hook in itertools.chain(
            list(_global_forward_pre_hooks.items()), list(self._forward_pre_hooks.items())
        ):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                res = hook(self, args, kwargs)
                if res is not None:
                    if not (isinstance(res, tuple) and len(res) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {res}."
                        )
                    args, kwargs = res
            else:
                res = hook(self, args)
                if res is not None:
                    args = res if isinstance(res, tuple) else (res,)
        bw_hook = None
        if full_hooks or pre_hooks:
            bw_hook = BackwardHook(self, full_hooks, pre_hooks)
            args = bw_hook.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        for hook_id, hook in itertools.chain(list(_global_forward_hooks.items()), list(self._forward_hooks.items())):
            if hook_id in self._forward_hooks_always_called or hook_id in _global_forward_hooks_always_called:
                called.add(hook_id)
            if hook_id in self._forward_hooks_with_kwargs or hook_id in _global_forward_hooks_with_kwargs:
                res = hook(self, args, kwargs, result)
            else:
                res = hook(self, args, result)
            if res is not None:
                result = res
        if bw_hook:
            if not isinstance(result, (torch.Tensor, tuple)):
                import warnings

                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(result)}",
                    stacklevel=4,
                )
            result = bw_hook.setup_output_hook(result)
        if non_full_hooks:
            var = _find_tensor(result)
            grad_fn = None if var is None else var.grad_fn
            if grad_fn is not None:
                for hook in non_full_hooks:
                    grad_fn.register_hook(lambda gi, go, hook=hook: hook(self, gi, go))
                _warn_non_full_hook(args, result, grad_fn)
        return result

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        d = self.__dict__
        for name in _HOOK_DICTS:  # files from older versions lack some
            d.setdefault(name, OrderedDict())
        d.setdefault("_non_persistent_buffers_set", set())
        d.setdefault("_is_full_backward_hook", None)

    # ---- attributes ------------------------------------------------------------------------------------------------
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Module's own may be another one for a while: a trace of torch.fx replaces it
        own = any("__getattr__" in vars(base) for base in cls.__mro__ if base is not Module)
        if "__getattr__" not in Module.__dict__ and (own or _names_getattr(cls)):  # for its super().__getattr__(name)
            setattr(Module, "__getattr__", _getattr)  # noqa: B010 a method for mypy
        if own:
            # its method is asked for parameters too, which ModuleBase would find before it
            if cls.__getattribute__ is Module.__getattribute__:
                cls.__getattribute__ = object.__getattribute__  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> Any:
        d = self.__dict__
        params = d.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _remove_from(name, d, d["_buffers"], d["_modules"], d["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                    "expected)"
                )
            self.register_parameter(name, value)
            return
        modules = d.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _remove_from(name, d, params, d["_buffers"], d["_non_persistent_buffers_set"])
            modules[name] = _hooked(_global_module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None "
                    "expected)"
                )
            modules[name] = _hooked(_global_module_registration_hooks, self, name, value)
            return
        buffers = d.get("_buffers")
        if isinstance(value, torch.Tensor) and isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            if name not in buffers:
                _remove_from(name, d, params, modules)
            self.register_buffer(name, value, getattr(value, "persistent", True))
            return
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or "
                    "None expected)"
                )
            buffers[name] = _hooked(_global_buffer_registration_hooks, self, name, value)
            return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def train(self, mode: int = True) -> Any:
        """Sets training mode here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """Sets evaluation mode; the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Sets `requires_grad` on every parameter."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of every parameter."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def share_memory(self) -> Any:
        """Calls share_memory_ of each tensor."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles `forward` with `torch.compile`."""
        self._compiled_call_impl = torch.compile(self._run_uncompiled, *args, **kwargs)

    def _run_uncompiled(self, *args: Any, **kwargs: Any) -> Any:
        return self._run_with_hooks(args, kwargs, set())

    # ---- printing --------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the parentheses of the module's repr."""
        return ""

    def __repr__(self) -> Any:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({key}): " + _addindent(repr(module), 2) for key, module in self._modules.items()]
        lines = extra_lines + child_lines
        main = self._get_name() + "("
        if lines:
            if len(extra_lines) == 1 and not child_lines:
                main += extra_lines[0]
            else:
                main += "\n  " + "\n  ".join(lines) + "\n"
        return main + ")"

    def __dir__(self) -> list[str]:
        keys = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(k for k in keys if not k[0].isdigit())

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        for name in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[name] = replica.__dict__[name].copy()
        replica._parameters = {}
        replica._is_replica = True
        return replica


def _names_getattr(cls: type) -> bool:
    return any("__getattr__" in f.__code__.co_names for f in vars(cls).values() if hasattr(f, "__code__"))


def _getattr(self: Any, name: str) -> Any:
    """A parameter, child or buffer."""
    d = self.__dict__
    if "_parameters" in d:
        t = d["_parameters"]
        if name in t:
            return t[name]
        t = d["_modules"]
        if name in t:
            return t[name]
        t = d["_buffers"]
        if name in t:
            return t[name]
    if name in ("save", "code", "graph") and "torchlite.jit" in sys.modules:
        torch.jit._why_not(self, name)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)


Module._own_getattr = _getattr  # type: ignore[attr-defined]


def _remove_from(name: str, *tables: Any) -> None:
    for t in tables:
        if name in t:
            if isinstance(t, dict):
                del t[name]
            else:
                t.discard(name)
