"""Loss scaling for float16 training, with PyTorch's state: packages read it, and derive from the class."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torchlite as torch

__all__ = ["OptState", "GradScaler"]


class OptState(enum.Enum):
    """How far an optimizer is in its step."""

    READY, UNSCALED, STEPPED = range(3)


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _one_number(**tensors: Any) -> None:
    for name, t in tensors.items():
        if t.numel() != 1:
            raise RuntimeError("%s must be a 1-element tensor." % name)
        if t.dtype is not torch.float32:
            raise RuntimeError("%s must be a float tensor." % name)


def _amp_foreach_non_finite_check_and_unscale_(tensors: Any, found_inf: Any, inv_scale: Any) -> None:
    """Multiplies each tensor by inv_scale, in place; found_inf becomes 1 where one has an infinity or NaN."""
    _one_number(inv_scale=inv_scale, found_inf=found_inf)
    if not tensors:
        return
    finite = []
    for t in tensors:
        finite.append(t.isfinite().all())
        t.mul_(inv_scale)
    found_inf.masked_fill_(torch.stack(finite).all().logical_not().reshape(found_inf.shape), 1.0)


def _amp_update_scale_(
    scale: Any,
    growth_tracker: Any,
    found_inf: Any,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Any:
    """Lowers the scale, in place, where found_inf is not 0; else counts, and raises it after growth_interval times."""
    if growth_tracker.dtype is not torch.int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    _one_number(current_scale=scale, found_inf=found_inf)
    if found_inf.item():
        scale.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return scale
    growth_tracker.add_(1)
    if growth_tracker.item() == growth_interval:
        larger = scale * scale_growth_factor
        if bool(larger.isfinite()):  # at the end of float32 it stays
            scale.copy_(larger)
        growth_tracker.fill_(0)
    return scale


class GradScaler:
    """Loss scaling for float16 training. Disabled unless asked for on a device that is available, as in PyTorch."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Any = None  # made by the first scale(), on the CPU: it is read in each step
        self._growth_tracker: Any = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: Any = defaultdict(_refresh_per_optimizer_state)

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device="cpu")
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device="cpu")

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    "Attempted %s but %s is None.  This may indicate your script did not use scaler.scale(loss or "
                    "outputs) earlier in the iteration." % (funcname, name)
                )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Tensors, or what holds them, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiplies the optimizer's gradients; of each device, whether one was not finite."""
        grads: dict[Any, list[Any]] = {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if not allow_fp16 and p.grad.dtype is torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    if p.grad.is_sparse and p.grad.dtype is torch.float16:  # sums may overflow
                        p.grad = p.grad.coalesce()
                    t = p.grad._values() if p.grad.is_sparse else p.grad
                    grads.setdefault(t.device, []).append(t)
            found = {}
            for device, tensors in grads.items():
                found[device] = found_inf.to(device, copy=True)
                _amp_foreach_non_finite_check_and_unscale_(tensors, found[device], inv_scale)
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divides the optimizer's gradients by the scale and looks for infinities and NaNs."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = self._scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, torch.zeros((), device="cpu"), False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any) -> Any:
        if sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), left out if the gradients are not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._own_step(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _own_step(self, optimizer: Any, state: Any, args: Any, kwargs: Any) -> Any:
        """The step of an optimizer that looks at the scale itself: as an argument, or in attributes."""
        takes = "grad_scaler" in inspect.signature(optimizer.step).parameters
        if takes:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            kwargs["grad_scaler"] = self
        else:
            scale = getattr(optimizer, "grad_scale", None)
            if state["stage"] is OptState.READY:
                self._check_inf_per_device(optimizer)
                scale = self._scale * (1 if scale is None else scale)
            optimizer.grad_scale = scale
            optimizer.found_inf = sum(t.cpu() for t in state["found_inf_per_device"].values())
        result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        if not takes:
            del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: Any = None) -> None:
        """Lowers the scale after gradients that were not finite,
        raises it after `growth_interval` steps without any."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, torch.Tensor):
            if new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale.reshape(()))
        elif new_scale is not None:
            scale.fill_(new_scale)
        else:
            states = self._per_optimizer_states.values()
            found = [t.cpu() for state in states for t in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            numbers = self._growth_factor, self._backoff_factor, self._growth_interval
            _amp_update_scale_(scale, tracker, torch.stack(found).sum(), *numbers)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> Any:
        """Whether the gradients are finite, which are left as they are."""
        self._check_scale_growth_tracker("_check_inf_per_device")
        one, zero = torch.ones((), device="cpu"), torch.zeros((), device="cpu")
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> Any:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
