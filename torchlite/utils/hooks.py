"""Handles that remove a hook, and the autograd identity nodes behind module backward hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict

import torchlite as torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _ref(d):
    try:
        return weakref.ref(d)
    except TypeError:  # a plain dict cannot be referred to weakly
        return lambda: d


class RemovableHandle:
    """Returned by `register_*_hook`; `remove()` takes the hook away. Works as a context manager."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = _ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra: Any
        if extra_dict is None:
            extra = ()
        elif isinstance(extra_dict, dict):
            extra = (extra_dict,)
        else:
            extra = extra_dict
        self.extra_dict_ref = tuple(_ref(d) for d in extra)

    def remove(self):
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref))

    def __setstate__(self, state):
        hooks, self.id = state[0], state[1]
        # a dead dict stays dead: point at a new one, which has no other reference
        self.hooks_dict_ref = _ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(
            _ref(OrderedDict() if d is None else d) for d in (state[2] if len(state) > 2 else ())
        )
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def unserializable_hook(f):
    """Marks a hook that must be dropped when its tensor is pickled."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    if tensor._backward_hooks:
        import warnings

        for k in tensor._backward_hooks:
            hook = tensor._backward_hooks[k]
            if not hasattr(hook, "__torch_unserializable__"):
                warnings.warn(
                    f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                    "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                    stacklevel=2,
                )


def _identity():
    class BackwardHookFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
            return args

        @staticmethod
        def backward(ctx, *grads):
            return grads

    return BackwardHookFunction


class BackwardHook:
    """Wraps a module's inputs and outputs in identity nodes so that full backward hooks see both gradients."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.n_outputs = -1
        self.output_index: Any = None
        self.n_inputs = -1
        self.input_index: Any = None

    @staticmethod
    def _spread(index, values, size):
        out = [None] * size
        for i, v in zip(index, values):
            out[i] = v
        return tuple(out)

    def _check(self, res, n):
        if len(res) != n:
            raise RuntimeError(
                f"Backward hook returned an invalid number of grad_input, got {len(res)}, but expected {n}"
            )

    def _apply(self, register, args):
        index = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if not index or not (torch.is_grad_enabled() and any(args[i].requires_grad for i in index)):
            return args, None
        new = _identity().apply(*(args[i] for i in index))
        if not isinstance(new, tuple):
            new = (new,)
        fns = [t.grad_fn for t in new if t.grad_fn is not None]
        if not fns:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
            )
        register(fns[0])
        out = list(args)
        for i, v in zip(index, new):
            out[i] = v
        return (type(args)(*out) if hasattr(args, "_fields") else tuple(out)), index

    def setup_input_hook(self, args):
        def register(fn):
            def hook(grad_input, _):
                if self.grad_outputs is None:
                    return None  # no output took part in this backward pass
                grad_input = self._spread(self.input_index, grad_input, self.n_inputs)
                res = grad_input
                changed = False
                for h in self.user_hooks:
                    out = h(self.module, res, self.grad_outputs)
                    if out is None:
                        continue
                    out = out if isinstance(out, tuple) else (out,)
                    self._check(out, len(res))
                    res, changed = out, True
                self.grad_outputs = None
                return tuple(res[i] for i in self.input_index) if changed else None

            fn.register_hook(hook)

        res, index = self._apply(register, args)
        self.n_inputs, self.input_index = len(args), index
        return res

    def setup_output_hook(self, args):
        def register(fn):
            def hook(_, grad_output):
                self.grad_outputs = self._spread(self.output_index, grad_output, self.n_outputs)
                for h in self.user_pre_hooks:
                    out = h(self.module, self.grad_outputs)
                    if out is None:
                        continue
                    out = out if isinstance(out, tuple) else (out,)
                    if len(out) != len(self.grad_outputs):
                        raise RuntimeError(
                            "Backward pre hook returned an invalid number of grad_output, got "
                            f"{len(out)}, but expected {len(self.grad_outputs)}"
                        )
                    self.grad_outputs = out
                local = self.grad_outputs
                if self.input_index is None:  # no input needs a gradient: run the hooks here
                    grad_inputs = self._spread([], [], self.n_inputs)
                    for h in self.user_hooks:
                        out = h(self.module, grad_inputs, self.grad_outputs)
                        if out is not None and not (isinstance(out, tuple) and all(e is None for e in out)):
                            raise RuntimeError(
                                "Backward hook for Modules where no input requires gradient should always "
                                "return None or None for all gradients."
                            )
                    self.grad_outputs = None
                return tuple(local[i] for i in self.output_index) if self.user_pre_hooks else None

            fn.register_prehook(lambda g: hook(None, g)) if hasattr(fn, "register_prehook") else fn.register_hook(hook)

        is_tuple = isinstance(args, tuple)
        if not is_tuple:
            args = (args,)
        res, index = self._apply(register, args)
        self.n_outputs, self.output_index = len(args), index
        return res if is_tuple else res[0]
