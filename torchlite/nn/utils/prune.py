"""Pruning: masks over parameters, kept as `<name>_orig` (parameter) and `<name>_mask` (buffer)."""

from __future__ import annotations

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BasePruningMethod",
    "PruningContainer",
    "Identity",
    "RandomUnstructured",
    "L1Unstructured",
    "RandomStructured",
    "LnStructured",
    "CustomFromMask",
    "identity",
    "random_unstructured",
    "l1_unstructured",
    "random_structured",
    "ln_structured",
    "global_unstructured",
    "custom_from_mask",
    "remove",
    "is_pruned",
]


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, int) and amount < 0) or (not isinstance(amount, int) and not 0.0 <= amount <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size):
    """How many of so many units `amount` means: itself, or that share of them."""
    return amount if isinstance(amount, int) else round(amount * tensor_size)


def _count(amount, size):
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


class BasePruningMethod:
    """A forward pre-hook that sets the masked parameter; subclasses define `compute_mask`."""

    PRUNING_TYPE = "unstructured"
    _tensor_name: Any  # a str; None in a container without methods

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t, default_mask):
        """The mask for scores `t`, below `default_mask`."""
        raise NotImplementedError

    def apply_mask(self, module):
        """The masked parameter."""
        name = self._tensor_name
        return getattr(module, name + "_mask").to(dtype=getattr(module, name + "_orig").dtype) * getattr(
            module, name + "_orig"
        )

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Adds the method to `module.<name>`, on top of earlier ones."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        old = None
        for k, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                old = hook
                del module._forward_pre_hooks[k]
        if old is not None:
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            method = container
        orig = getattr(module, name)
        if importance_scores is not None:
            if importance_scores.shape != orig.shape:
                raise AssertionError(
                    f"importance_scores should have the same shape as parameter                     {name} of {module}"
                )
        else:
            importance_scores = orig
        if old is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", orig)
            default = torch.ones_like(orig)
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            with torch.no_grad():
                mask = method.compute_mask(importance_scores, default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if old is None:
                delattr(module, name + "_orig")
                module.register_parameter(name, orig)
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of `t`."""
        if importance_scores is None:
            importance_scores = t
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module):
        """Makes the pruning permanent."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        orig = module._parameters[name + "_orig"]
        orig.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, orig)


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter: each prunes what the ones before have left."""

    def __init__(self, *args):
        self._pruning_methods: tuple[Any, ...] = ()
        self._tensor_name = args[0]._tensor_name if args else None
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            # whole slices that are pruned already do not count
            dim = method.dim % t.dim()
            keep = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            left = tuple(keep if d == dim else slice(None) for d in range(t.dim()))
        else:
            left = (slice(None),) * t.dim()
        new = mask.clone()
        new[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t, default_mask):
        return default_mask


class _Amount(BasePruningMethod):
    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    def compute_mask(self, t, default_mask):
        n = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if n:
            mask.view(-1)[torch.topk(torch.rand_like(t).view(-1), k=n).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prunes the elements of smallest magnitude."""

    def compute_mask(self, t, default_mask):
        n = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if n:
            mask.view(-1)[torch.topk(torch.abs(t).reshape(-1), k=n, largest=False).indices] = 0
        return mask


def _slices(t, dim, default_mask, scores, keep):
    mask = torch.zeros_like(t)
    index = [slice(None)] * t.dim()
    index[dim] = torch.topk(scores, k=keep, largest=True).indices
    mask[tuple(index)] = 1
    return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Amount):
    """Prunes whole slices along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        return default_mask if n == 0 else _slices(t, self.dim, default_mask, torch.rand(size), size - n)


class LnStructured(_Amount):
    """Prunes the slices along `dim` of smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        if n == 0:
            return default_mask
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return _slices(t, self.dim, default_mask, torch.norm(t, p=self.n, dim=dims), size - n)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Adds a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes `amount` (count or fraction) elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the `amount` elements of smallest magnitude."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes `amount` slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the `amount` slices along `dim` of smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes over all (module, name) pairs together."""
    parameters = list(parameters)
    scores = importance_scores or {}
    parts = [scores.get((m, n), getattr(m, n)) for m, n in parameters]
    masks = [getattr(m, n + "_mask", torch.ones_like(getattr(m, n))) for m, n in parameters]
    t = torch.nn.utils.parameters_to_vector(parts).detach()
    default = torch.nn.utils.parameters_to_vector(masks).detach()
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"  # of all the tensors joined
    container.add_pruning_method(method)
    final = container.compute_mask(t, default)
    at = 0
    for module, name in parameters:
        p = getattr(module, name)
        custom_from_mask(module, name, mask=final[at : at + p.numel()].view_as(p))
        at += p.numel()


def custom_from_mask(module, name, mask):
    """Prunes by the given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Makes the pruning of `module.<name>` permanent."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Whether any parameter below `module` is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
