"""What all learning rate schedules have in common."""

from types import FunctionType
from typing import Any

import torchlite as torch
from .optimizer import Optimizer


EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
    "use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. Please open an issue if you are "
    "unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


def _check_verbose_deprecated_warning(verbose):
    return verbose


def _copy(v):
    return v.clone() if isinstance(v, torch.Tensor) else v


def _number(v):
    return v.item() if isinstance(v, torch.Tensor) else v


def _update_param_group_val(group, key, value):
    # a tensor option keeps its identity
    if isinstance(group[key], torch.Tensor):
        group[key].fill_(_number(value))
    else:
        group[key] = value


def _format_param(name, optimizer, param):
    n = len(optimizer.param_groups)
    if isinstance(param, (list, tuple)):
        if len(param) != n:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
                f"param_groups has {n}."
            )
        return [_copy(p) for p in param]  # a tensor that its owner changes later changes no schedule
    return [_copy(param) for _ in range(n)]


class LRScheduler:
    """Base class of the schedules: `get_lr` gives the learning rates of `last_epoch`."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", _copy(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from "
                        "a checkpoint but haven't properly loaded the optimizer state\n2. "
                        "You're using last_epoch >= 0 for a fresh training run (not recommended)"
                    )
        self.base_lrs = [_copy(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._patch_optimizer_step()
        self._initial_step()

    def _patch_optimizer_step(self):
        # the optimizer remembers whether it has stepped, for the warning about the order of calls
        opt = self.optimizer
        if hasattr(opt.step, "_wrapped_by_lr_sched"):
            return
        from functools import wraps
        from weakref import ref

        func, weak = opt.step.__func__, ref(opt)  # type: ignore[attr-defined]

        @wraps(func)
        def step(*args, **kwargs):
            optimizer: Any = weak()
            optimizer._opt_called = True
            return func.__get__(optimizer, optimizer.__class__)(*args, **kwargs)

        step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        setattr(opt, "step", step)  # noqa: B010 a method for mypy

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """All attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes the attributes of `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates last set."""
        return self._last_lr

    def get_lr(self):
        """The learning rates for `last_epoch`."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Moves to the next epoch (or to `epoch`) and sets the learning rates."""
        if self._step_count == 1:
            import warnings

            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                    "to do this will result in PyTorch skipping the first value of the learning rate schedule. See "
                    "more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            _warn_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values):
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = self._copied_lrs()

    def _check_within_step(self):
        if not self._get_lr_called_within_step:
            import warnings

            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _lrs(self):
        return [g["lr"] for g in self.optimizer.param_groups]

    def _copied_lrs(self):
        return [_copy(lr) for lr in self._lrs()]


def _warn_epoch():
    import warnings

    warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)


def _is_function(f):
    return isinstance(f, FunctionType)
