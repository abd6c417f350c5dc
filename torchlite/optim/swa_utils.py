"""Averaged models and the learning rate schedule of stochastic weight averaging."""

import math
from copy import deepcopy
from itertools import chain

import torchlite as torch
from torchlite.nn import Module
from ._schedule import _format_param
from .lr_scheduler import LRScheduler

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _lerp(averaged, current, weight):
    if averaged.is_floating_point() or averaged.is_complex():
        averaged.lerp_(current.to(averaged.dtype), weight)
    else:
        averaged.copy_(averaged + (current - averaged) * weight)


def get_ema_multi_avg_fn(decay=0.999):
    """Exponential moving average over lists of tensors, in place."""
    _check_decay(decay)

    def ema_update(ema_param_list, current_param_list, _):
        with torch.no_grad():
            for e, c in zip(ema_param_list, current_param_list):
                _lerp(e, c, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn():
    """Equal average over lists of tensors, in place."""

    def swa_update(averaged_param_list, current_param_list, num_averaged):
        with torch.no_grad():
            for a, c in zip(averaged_param_list, current_param_list):
                _lerp(a, c, 1 / (float(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """Exponential moving average of one tensor."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with torch.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """Equal average of one tensor."""

    def swa_update(averaged_param, current_param, num_averaged):
        with torch.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of `model` whose parameters are the average of those seen by `update_parameters`."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of `model` into the average."""

        def all_of(m):
            return chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters()

        ours = [p.detach() for p in all_of(self.module)]
        theirs = [p.detach().to(o.device) for p, o in zip(all_of(model), ours)]
        if self.n_averaged == 0:
            for o, t in zip(ours, theirs):
                o.copy_(t)
        elif self.avg_fn is not None:
            n = self.n_averaged
            for o, t in zip(ours, theirs):
                o.copy_(self.avg_fn(o, t, n))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(ours, theirs, self.n_averaged)
        if not self.use_buffers:
            for o, t in zip(self.module.buffers(), model.buffers()):
                o.detach().copy_(t.detach().to(o.device))
        self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Finds the running statistics of batch norm layers anew from the batches of `loader`."""
    from torchlite.nn.modules.batchnorm import _BatchNorm

    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for m in momenta:
        m.reset_running_stats()
        m.momentum = None
    with torch.no_grad():
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            if device is not None:
                batch = batch.to(device)
            model(batch)
    for m, momentum in momenta.items():
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the current learning rate to `swa_lr` in `anneal_epochs` and stays there."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for swa, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = swa
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t):
        return t

    @staticmethod
    def _cosine_anneal(t):
        return (1 - math.cos(math.pi * t)) / 2

    def _set_anneal_func(self, anneal_strategy):
        self._anneal_strategy = anneal_strategy

    def anneal_func(self, t):
        """The share of swa_lr at a fraction t of the annealing."""
        return self._cosine_anneal(t) if self._anneal_strategy == "cos" else self._linear_anneal(t)

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self):
        self._check_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        prev = self.anneal_func(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        alpha = self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
        return [
            g["swa_lr"] * alpha + self._get_initial_lr(g["lr"], g["swa_lr"], prev) * (1 - alpha)
            for g in self.optimizer.param_groups
        ]
