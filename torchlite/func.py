"""torch.func: function transforms built on autograd, and functional calls of modules."""

import torchlite as torch

from .autograd import functional as _functional


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with the given tensors in place of its parameters and buffers."""
    from .nn.utils.stateless import _functional_call
    if isinstance(parameter_and_buffer_dicts, (list, tuple)):
        merged = {}
        for d in parameter_and_buffer_dicts:
            merged.update(d)
        parameter_and_buffer_dicts = merged
    return _functional_call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def _pick(argnums, args):
    many = isinstance(argnums, tuple)
    nums = argnums if many else (argnums,)
    return [args[i] for i in nums], nums, many


def _leaves(x):
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        return [t for v in x.values() for t in _leaves(v)]
    return [t for v in x for t in _leaves(v)] if isinstance(x, (list, tuple)) else []


def _rebuild(x, it):
    if isinstance(x, torch.Tensor):
        return next(it)
    if isinstance(x, dict):
        return {k: _rebuild(v, it) for k, v in x.items()}
    return type(x)(_rebuild(v, it) for v in x) if isinstance(x, (list, tuple)) else x


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient with respect to argument argnums, value)."""
    def wrapper(*args, **kwargs):
        picked, nums, many = _pick(argnums, args)
        with torch.enable_grad():
            flat = [_leaves(p) for p in picked]
            fresh = [[t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in ts] for ts in flat]
            call = list(args)
            for n, p, ts in zip(nums, picked, fresh):
                call[n] = _rebuild(p, iter(ts))
            out = func(*call, **kwargs)
            aux = None
            if has_aux:
                out, aux = out
            if not isinstance(out, torch.Tensor) or out.dim() != 0:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got %s" %
                                   ("tensor with %d dims" % out.dim() if isinstance(out, torch.Tensor) else type(out)))
            every = [t for ts in fresh for t in ts]
            outer = any(t.requires_grad for ts in flat for t in ts)
            gs = iter(torch.autograd.grad(out, every, create_graph=outer, allow_unused=True, materialize_grads=True))
            result = tuple(_rebuild(p, gs) for p in picked)
            value = out if outer else out.detach()
        g = result if many else result[0]
        return (g, (value, aux)) if has_aux else (g, value)
    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func with respect to argument argnums."""
    inner = grad_and_value(func, argnums, has_aux)

    def wrapper(*args, **kwargs):
        g, value = inner(*args, **kwargs)
        return (g, value[1]) if has_aux else g
    return wrapper


def vjp(func, *primals, has_aux=False):
    """(func(*primals), function from cotangents to gradients)"""
    ins = tuple(t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in primals)
    with torch.enable_grad():
        out = func(*ins)
    aux = None
    if has_aux:
        out, aux = out
    outs = (out,) if isinstance(out, torch.Tensor) else tuple(out)

    def pull(*cotangents):
        cts = cotangents[0] if len(cotangents) == 1 and isinstance(cotangents[0], tuple) else cotangents
        return torch.autograd.grad(outs, ins, cts, retain_graph=True, create_graph=any(p.requires_grad for p in primals), allow_unused=True,
                                   materialize_grads=True)
    shown = out if any(p.requires_grad for p in primals) else tuple(o.detach() for o in outs) if not isinstance(out, torch.Tensor) else out.detach()
    return (shown, pull, aux) if has_aux else (shown, pull)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), J tangents)"""
    return _functional.jvp(func, primals, tangents)


def _jacobian(func, argnums):
    def wrapper(*args):
        picked, nums, many = _pick(argnums, args)

        def inner(*xs):
            call = list(args)
            for n, x in zip(nums, xs):
                call[n] = x
            return func(*call)
        j = _functional.jacobian(inner, tuple(picked), create_graph=any(t.requires_grad for t in picked))
        one = isinstance(j, tuple) and not isinstance(j[0], tuple)
        return (j if many else j[0]) if one else tuple(b if many else b[0] for b in j)
    return wrapper


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """A function that returns the Jacobian of func."""
    return _jacobian(func, argnums)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of func (computed in reverse mode)."""
    return _jacobian(func, argnums)


def hessian(func, argnums=0):
    """A function that returns the Hessian of func."""
    return _jacobian(grad(func, argnums), argnums)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that maps func over a dim of its inputs, one slice at a time."""
    def wrapper(*args, **kwargs):
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        sizes = {a.size(d) for a, d in zip(args, dims) if d is not None}
        if not sizes:
            raise ValueError("vmap(%s, in_dims=%s, ...)(<inputs>): no tensor to map over" % (getattr(func, "__name__", "f"), in_dims))
        if len(sizes) > 1:
            raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes %s for the mapped dimension" % sorted(sizes))
        outs = [func(*(a if d is None else a.select(d, i) for a, d in zip(args, dims)), **kwargs) for i in range(sizes.pop())]
        if isinstance(outs[0], torch.Tensor):
            return torch.stack(outs, out_dims if isinstance(out_dims, int) else out_dims[0])
        od = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(outs[0])
        return tuple(torch.stack(col, d) for col, d in zip(zip(*outs), od))
    return wrapper


def stack_module_state(models):
    """(stacked parameters, stacked buffers) of models of one kind."""
    def stacked(dicts):
        return {k: torch.stack([d[k].detach() for d in dicts]) for k in dicts[0]}
    params = {k: v.requires_grad_() for k, v in stacked([dict(m.named_parameters()) for m in models]).items()}
    return params, stacked([dict(m.named_buffers()) for m in models])
