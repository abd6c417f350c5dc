"""`Optimizer`: parameter groups, state, hooks and the state_dict every optimizer shares."""

from __future__ import annotations


import functools
from collections import OrderedDict, defaultdict
from itertools import chain

import torchlite as torch
from torchlite import _C
from torchlite.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any, TypeAlias
    from .._types import DType, Tensor

    Hooks = OrderedDict[int, Callable[..., Any]]


__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()


class _RequiredParameter:
    """Marks a default that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _add(hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Runs `hook(optimizer, args, kwargs)` before every optimizer's step."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Runs `hook(optimizer, args, kwargs)` after every optimizer's step."""
    return _add(_global_optimizer_post_hooks, hook)


def _get_scalar_dtype(is_fused: Any = None) -> DType:
    if is_fused:
        return torch.float32
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


StateDict = dict
# what the classes of other packages are made with: parts of docstrings, and decorators for torch.compile
_params_doc = _foreach_doc = _fused_doc = _capturable_doc = _differentiable_doc = _maximize_doc = ""


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[..., Any]:
    return lambda fn: fn


def _stack_if_compiling(x: list[Tensor]) -> list[Tensor]:
    return x


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dims; a number as it is."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() else x


def _get_value(x: Any) -> float:
    return x.item() if isinstance(x, torch.Tensor) else x


ParamsT: TypeAlias = "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a step(): gradients are recorded inside if the optimizer is differentiable, and only then."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach) for an optimizer that was given neither: both off, as in PyTorch on the CPU."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Kinds of devices whose steps a graph of CUDA can replay, as PyTorch lists them."""
    devices = ["cuda", "xpu", "hpu", "privateuseone"]
    return [*devices, "xla"] if supports_xla else devices


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Complex tensors of these lists become their real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = torch.view_as_real(p)
            for tensors in state_and_grads:
                tensors[i] = torch.view_as_real(tensors[i])


def check_lr_size(lr: Any) -> None:
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_lr(lr: float | Tensor) -> None:
    """The checks of a learning rate, a number or a 1-element tensor."""
    check_lr_size(lr)
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_min(**values: float) -> None:
    """ValueError "Invalid <what>: x" for each negative value."""
    words = {"eps": "epsilon value", "weight_decay": "weight_decay value", "momentum": "momentum value"}
    for name, v in values.items():
        if not 0.0 <= v:
            raise ValueError(f"Invalid {words.get(name, name + ' value')}: {v}")


def check_betas(betas: tuple[float, float]) -> None:
    for i, b in enumerate(betas):
        if not 0.0 <= b < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {b}")


def check_fused(fused: Any, foreach: Any, differentiable: bool) -> None:
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _with_hooks(func: Callable[..., Any]) -> Callable[..., Any]:
    """A class's `step`, marked as one that runs the hooks."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_optimizer_pre_hooks
            or _global_optimizer_post_hooks
        ):
            return func(*args, **kwargs)
        for hook in chain(list(_global_optimizer_pre_hooks.values()), list(self._optimizer_step_pre_hooks.values())):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
        out = func(*args, **kwargs)
        for hook in chain(list(self._optimizer_step_post_hooks.values()), list(_global_optimizer_post_hooks.values())):
            hook(self, args, kwargs)
        return out

    step.hooked = True  # type: ignore[attr-defined]
    return step


class Optimizer:
    """Base class of all optimizers.

    Args: params (iterable of Tensors, of (name, Tensor), or of dicts that define groups), defaults (dict of options).
    """

    profile_hook_step = staticmethod(_with_hooks)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + torch.typename(params)
            )
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        param_groups = list(params)
        if len(param_groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(param_groups[0], dict):
            param_groups = [{"params": param_groups}]
        for group in param_groups:
            self.add_param_group(dict(group))

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> Any:
        """The lists sorted by device and dtype, for optimizers of packages that step list by list."""
        from ..utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def _patch_step_function(self) -> None:
        cls = self.__class__
        if not getattr(cls.step, "hooked", None):
            setattr(cls, "step", _with_hooks(cls.step))  # noqa: B010 a method for mypy
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"

    def __getstate__(self) -> Any:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        for name in (
            "_optimizer_step_pre_hooks",
            "_optimizer_step_post_hooks",
            "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        ):
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        s = self.__class__.__name__ + " ("
        for i, group in enumerate(self.param_groups):
            s += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    s += f"    {key}: {group[key]}\n"
        return s + ")"

    # ---- hooks -----------------------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Runs `hook(optimizer, args, kwargs)` before step; it may return changed (args, kwargs)."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Runs `hook(optimizer, args, kwargs)` after step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(optimizer)` before state_dict."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(optimizer, state_dict)` after state_dict; a returned dict replaces it."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(optimizer, state_dict)` before loading; a returned dict replaces it."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Runs `hook(optimizer)` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ---- state_dict ------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """{"state": by parameter number, "param_groups": options, with parameter numbers for parameters}."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, torch.Tensor) else k): v for k, v in self.state.items()}
        out = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            result = hook(self, out)
            if result is not None:
                out = result
        return out

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[dict[str, Any]], key: str | None = None
    ) -> Tensor:
        # "step" stays as it is unless a group asks for it on the device
        if key == "step":
            for pg in param_groups:
                if param_id in pg["params"] and (pg.get("fused") or pg.get("capturable")):
                    return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the state and options of `state_dict`; its groups must match ours in number and size."""
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        import copy

        groups = self.param_groups
        saved_groups = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved_groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_number = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved_groups), chain.from_iterable(g["params"] for g in groups)
            )
        )

        def cast(param: Tensor, value: Any, number: int, key: str | None = None) -> Any:
            if isinstance(value, torch.Tensor):
                return Optimizer._process_value_according_to_param_policy(
                    param, value, number, state_dict["param_groups"], key
                )
            if isinstance(value, dict):
                return {k: cast(param, v, number, k) for k, v in value.items()}
            if isinstance(value, (list, tuple)):
                return type(value)(cast(param, v, number) for v in value)
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in by_number:
                state[by_number[k]] = cast(by_number[k], v, k)
            else:
                state[k] = v
        for group, saved in zip(groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # ---- gradients and steps ---------------------------------------------------------------------------------------
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters."""
        if _C.profiling():
            mark = _C.profile_enter(self._zero_grad_profile_name, 2)
            try:
                self._zero_grad(set_to_none)
            finally:
                _C.profile_exit(mark)
        else:
            self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if set_to_none:
                        p.grad = None
                        continue
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure: Any = None) -> Any:
        """Makes one update. Args: closure, which evaluates the model again and returns the loss."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with their own options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        params = list(params)
        tensors: list[Any] = []
        names: list[str] = []
        for p in params:
            if isinstance(p, tuple):
                names.append(p[0])
                tensors.append(p[1])
            else:
                tensors.append(p)
        if names:
            if len(names) != len(tensors):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        param_group["params"] = tensors
        for p in tensors:
            if not isinstance(p, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + torch.typename(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        ids = {id(p) for p in tensors}
        if len(ids) != len(tensors):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                "error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if any(id(p) in ids for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
            if ("param_names" in param_group) != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer"
                )
        self.param_groups.append(param_group)


class _PerParameter(Optimizer):
    """An optimizer given by what it does with one parameter: `_init` fills new state, `_update` makes the step."""

    _late: dict[str, Any] = {}  # options that older files lack, with their defaults
    _state_step = True  # state["step"] is a tensor

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for k, v in self._late.items():
                group.setdefault(k, v)
            if self._state_step:
                for p in group["params"]:
                    st = self.state.get(p, ())
                    if len(st) != 0 and not isinstance(st["step"], torch.Tensor):
                        st["step"] = torch.tensor(float(st["step"]), dtype=_get_scalar_dtype())

    def step(self, closure: Any = None) -> Any:
        """Makes one update. Args: closure, which evaluates the model again and returns the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with _C.GradMode(bool(self.defaults.get("differentiable"))):
            # set_grad_enabled() switches before `with` would undo it
            for group in self.param_groups:
                if group.get("fused") or group.get("foreach"):
                    self._check_together(group)
                self._step_group(group)
        return loss

    _foreach_differentiable = False  # whether PyTorch's foreach form says nothing of `differentiable`

    def _check_together(self, group: dict[str, Any]) -> None:
        """What PyTorch's fused and foreach forms refuse."""
        params = [p for p in group["params"] if p.grad is not None]
        if group.get("fused") and not all(p.is_floating_point() for p in params):
            p = next(p for p in params if not p.is_floating_point())
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but %s and %s" % (p.dtype, p.device.type)
            )
        if params and group.get("foreach") and group.get("differentiable") and not self._foreach_differentiable:
            raise AssertionError("_foreach ops don't support autograd")

    def _step_group(self, group: dict[str, Any]) -> None:
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad._dispatches:
                self._check_dense(grad)
            state = self.state[p]
            if len(state) == 0:
                self._init(state, p, group)
            self._make_step(p, grad, state, group)

    def _make_step(self, p: Any, grad: Any, state: Any, group: Any) -> None:
        """The step of one parameter; a complex one is a real one of twice as many elements."""
        if not p.is_complex():
            grad = -grad if group["maximize"] else grad
            if group.get("fused") and p.dtype in (torch.float16, torch.bfloat16):
                self._make_wide_step(p, grad, state, group)
            else:
                self._update(p, grad, state, group)
            return
        real = torch.view_as_real
        views = {k: real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v for k, v in state.items()}
        self._update(real(p), -real(grad) if group["maximize"] else real(grad), views, group)
        for k, v in views.items():
            if k not in state or not isinstance(v, torch.Tensor):
                state[k] = v

    def _make_wide_step(self, p: Any, grad: Any, state: Any, group: Any) -> None:
        """As PyTorch's fused kernels: the whole step in float32, and each number rounded once. In float16 an eps of
        1e-8 is 0, and the step of a gradient of 0 is 0 / 0."""
        narrow = {k: v for k, v in state.items() if isinstance(v, torch.Tensor) and v.dtype is p.dtype}
        wide, new = p.float(), {**state, **{k: v.float() for k, v in narrow.items()}}
        self._update(wide, grad.float(), new, group)
        p.copy_(wide)
        for k, v in new.items():
            if k in narrow:
                narrow[k].copy_(v)
            else:
                state[k] = v

    def _check_dense(self, grad: Any) -> None:
        if grad.is_sparse:
            hint = ", please consider SparseAdam instead" if self._shown_as == "Adam" else ""
            raise RuntimeError("%s does not support sparse gradients%s" % (self._shown_as or type(self).__name__, hint))

    _shown_as = ""  # the class that PyTorch's message names, where it is another one

    def _init(self, state: Any, p: Any, group: Any) -> Any:
        raise NotImplementedError

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        raise NotImplementedError


def function_of(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of an optimizer's module, which has the optimizer as a function too."""
    from .._core import absent

    other, own = absent.of(module), module.rpartition(".")[2]

    def __getattr__(name: str) -> Any:
        if name != own:
            return other(name)
        from . import _functional

        return getattr(_functional, name)

    return __getattr__


def device_steps(params: list[Tensor]) -> ModuleType | None:
    """The kernels for parameters that are on webgpu, if any are."""
    for p in params:
        if p.device.type == "webgpu":
            from ..webgpu.plan import optim

            return optim
    return None


def zeros_like(p: Tensor) -> Tensor:
    return torch.zeros_like(p, memory_format=torch.preserve_format)


def new_step() -> Tensor:
    return torch.tensor(0.0, dtype=_get_scalar_dtype())


def decay(p: Any, grad: Any, group: dict[str, Any], lr: Any) -> Any:
    """The gradient with weight decay added; a decoupled one shrinks the parameter itself instead."""
    weight_decay = group["weight_decay"]
    if weight_decay == 0:
        return grad
    if not group["decoupled_weight_decay"]:
        return grad.add(p, alpha=weight_decay)
    p.mul_(1 - lr * weight_decay)
    return grad


def count_step(state: Any) -> float:
    """Adds 1 to state["step"] and returns it as a number."""
    state["step"] += 1
    return _get_value(state["step"])
