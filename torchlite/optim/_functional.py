"""The optimizers as functions of lists: torch.optim.adam.adam and others, for programs with a state of their own.

_FORMS has a line for each: the lists with what the optimizer's state calls their elements, the options, and the
numbers, which have no defaults. The step itself is the class's.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import torchlite as torch

_FORMS = {
    "adadelta": (
        "square_avgs:square_avg acc_deltas:acc_delta state_steps:step",
        "capturable=False foreach=None differentiable=False has_complex=False",
        "lr rho eps weight_decay maximize",
    ),
    "adagrad": (
        "state_sums:sum state_steps:step",
        "fused=None grad_scale=None found_inf=None has_sparse_grad=False foreach=None differentiable=False "
        "has_complex=False",
        "lr weight_decay lr_decay eps maximize",
    ),
    "adam": (
        "exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq max_exp_avg_sqs:max_exp_avg_sq state_steps:step",
        "foreach=None capturable=False differentiable=False fused=None grad_scale=None found_inf=None "
        "has_complex=False decoupled_weight_decay=False",
        "amsgrad beta1 beta2 lr weight_decay eps maximize",
    ),
    "adamax": (
        "exp_avgs:exp_avg exp_infs:exp_inf state_steps:step",
        "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
        "eps beta1 beta2 lr weight_decay",
    ),
    "adamw": (
        "exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq max_exp_avg_sqs:max_exp_avg_sq state_steps:step",
        "foreach=None capturable=False differentiable=False fused=None grad_scale=None found_inf=None "
        "has_complex=False",
        "amsgrad beta1 beta2 lr weight_decay eps maximize",
    ),
    "asgd": (
        "axs:ax mus:mu etas:eta state_steps:step",
        "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
        "lambd lr t0 alpha weight_decay",
    ),
    "nadam": (
        "exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq mu_products:mu_product state_steps:step",
        "decoupled_weight_decay=False foreach=None capturable=False differentiable=False has_complex=False "
        "maximize=False",
        "beta1 beta2 lr weight_decay momentum_decay eps",
    ),
    "radam": (
        "exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq state_steps:step",
        "decoupled_weight_decay=False foreach=None differentiable=False capturable=False has_complex=False "
        "maximize=False",
        "beta1 beta2 lr weight_decay eps",
    ),
    "rmsprop": (
        "square_avgs:square_avg grad_avgs:grad_avg momentum_buffer_list:momentum_buffer state_steps:step",
        "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
        "lr alpha eps weight_decay momentum centered",
    ),
    "rprop": (
        "prevs:prev step_sizes:step_size state_steps:step",
        "foreach=None capturable=False maximize=False differentiable=False has_complex=False",
        "step_size_min step_size_max etaminus etaplus",
    ),
    "sgd": (
        "momentum_buffer_list:momentum_buffer",
        "has_sparse_grad=False foreach=None fused=None grad_scale=None found_inf=None",
        "weight_decay momentum lr dampening nesterov maximize",
    ),
}
_CLASSES = {"adamw": "AdamW", "asgd": "ASGD", "nadam": "NAdam", "radam": "RAdam", "rmsprop": "RMSprop", "sgd": "SGD"}
_CONSTANTS = {"None": None, "False": False}


def _group(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options as the optimizer's class has them in a group."""
    group = {"maximize": False, "differentiable": False, "decoupled_weight_decay": name == "adamw", **options}
    if "beta1" in group:
        group["betas"] = group["beta1"], group["beta2"]
    if name == "rprop":
        group["etas"] = group["etaminus"], group["etaplus"]
        group["step_sizes"] = group["step_size_min"], group["step_size_max"]
    return group


def _run(name: str, params: Any, grads: Any, lists: dict[str, Any], options: dict[str, Any]) -> None:
    module = importlib.import_module(__name__.rpartition(".")[0] + "." + name)
    kind = getattr(module, _CLASSES.get(name, name.capitalize()))
    group = _group(name, options)
    if not all(isinstance(t, torch.Tensor) for t in lists.get("step", ())):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    if group.get("found_inf") is not None and group["found_inf"].item():
        return
    optimizer = kind.__new__(kind)
    for i, (p, grad) in enumerate(zip(params, grads)):
        if group.get("grad_scale") is not None:
            grad.div_(group["grad_scale"])
        if grad._dispatches:
            optimizer._check_dense(grad)
        state = {key: values[i] for key, values in lists.items() if i < len(values) and values[i] is not None}
        optimizer._make_step(p, grad, state, group)
        for key, value in state.items():
            lists[key][i] = value


def _make(name: str) -> Any:
    lists, options, numbers = _FORMS[name]
    keys = [pair.split(":") for pair in lists.split()]
    gradients = "d_p_list" if name == "sgd" else "grads"
    places = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("params", gradients)]
    places += [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n, _ in keys]
    for option in options.split():
        short, _, default = option.partition("=")
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
        places.append(inspect.Parameter(short, kind, default=_CONSTANTS[default]))
    places += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in numbers.split()]
    signature = inspect.Signature(places)

    def function(*args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError("%s() %s" % (name, e)) from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        params, grads = given.pop("params"), given.pop(gradients)
        _run(name, params, grads, {key: given.pop(short) for short, key in keys}, given)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "torch.optim." + name
    function.__doc__ = "One step of %s, in place, with the state in lists." % _CLASSES.get(name, name.capitalize())
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


adadelta, adagrad, adam, adamax, adamw, asgd = map(_make, ("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd"))
nadam, radam, rmsprop, rprop, sgd = map(_make, ("nadam", "radam", "rmsprop", "rprop", "sgd"))
