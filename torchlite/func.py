"""torch.func: function transforms built on autograd, and functional calls of modules."""

import torchlite as torch

from .autograd import functional as _functional
from .utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


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


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient with respect to argument argnums, value)."""
    def wrapper(*args, **kwargs):
        picked, nums, many = _pick(argnums, args)
        with torch.enable_grad():
            flat, specs = zip(*(tree_flatten(p) for p in picked))
            fresh = [[t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in ts] for ts in flat]
            call = list(args)
            for n, spec, ts in zip(nums, specs, fresh):
                call[n] = tree_unflatten(ts, spec)
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
            result = tuple(tree_unflatten([next(gs) for _ in range(spec.num_leaves)], spec) for spec in specs)
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
    """(func(*primals), function from cotangents to gradients); primals and outputs may be trees of tensors."""
    flat, spec = tree_flatten(primals)
    outer = any(t.requires_grad for t in flat)
    ins = [t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in flat]
    with torch.enable_grad():
        out = func(*tree_unflatten(ins, spec))
    aux = None
    if has_aux:
        out, aux = out
    outs, out_spec = tree_flatten(out)

    def pull(cotangents, *more):
        given = tree_flatten((cotangents, *more) if more else cotangents)[0]
        if len(given) != len(outs):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {tree_flatten(cotangents)[1]}, primal output: {out_spec}")
        pairs = [(o, c) for o, c in zip(outs, given) if o.requires_grad]
        if not pairs:
            gs = [torch.zeros_like(t) for t in ins]
        else:
            gs = torch.autograd.grad([o for o, _ in pairs], ins, [c for _, c in pairs], retain_graph=True,
                                     create_graph=outer or any(c.requires_grad for c in given), allow_unused=True, materialize_grads=True)
        return tree_unflatten(gs, spec)
    shown = out if outer else tree_unflatten([o.detach() for o in outs], out_spec)
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


def _vmap_inputs(func, in_dims, args):
    """(leaves, dims, spec, size) with in_dims spread over the tree of arguments and everything checked."""
    where = f"vmap({getattr(func, '__name__', repr(func))}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(where + f"expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(where.replace(f", in_dims={in_dims}, ...", "") + "got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. "
                         "The latter is unsupported.")
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(where + f"in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} "
                         f"but inputs has structure {spec}.")
    sizes = []
    for i, (a, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(where + f"Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(a, torch.Tensor):
            raise ValueError(where + f"Got in_dim={d} for an input but the input is of type {type(a)}. We cannot vmap over non-Tensor arguments, "
                             "please use None as the respective in_dim")
        if a.dim() == 0 or not -a.dim() <= d < a.dim():
            raise ValueError(where + f"Got in_dim={d} for some input, but that input is a Tensor of dimensionality {a.dim()} so expected "
                             f"in_dim to satisfy -{a.dim()} <= in_dim < {a.dim()}.")
        sizes.append(a.size(d))
    if not sizes:
        raise ValueError(where + "expected at least one tensor to vmap over: every in_dim is None")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return leaves, dims, spec, sizes[0]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that maps func over a dim of its inputs: nested tuples, lists and dicts of tensors. It runs slice by slice."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args, **kwargs):
        leaves, dims, spec, size = _vmap_inputs(func, in_dims, args)
        if not size:
            raise RuntimeError("vmap: a mapped dimension of size 0 is not supported")
        state = None if randomness == "different" else torch.get_rng_state()
        outs = []
        for i in range(size):
            if i and randomness == "same":
                torch.set_rng_state(state)
            out = func(*tree_unflatten([a if d is None else a.select(d, i) for a, d in zip(leaves, dims)], spec), **kwargs)
            flat, out_spec = tree_flatten(out)
            for t in flat:
                if not isinstance(t, torch.Tensor):
                    raise ValueError(f"vmap({getattr(func, '__name__', repr(func))}, ...): `{getattr(func, '__name__', repr(func))}` must only "
                                     f"return Tensors, got type {type(t)}. Did you mean to set out_dims= to None for output?")
            outs.append(flat)
            if not i and state is not None and randomness == "error" and not torch.equal(state, torch.get_rng_state()):
                raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                                   "randomness flags on vmap or perform the randomness operation out of vmap")
        single = out_spec.num_leaves == 1 and isinstance(out_dims, tuple) and len(out_dims) == 1 and out_spec.is_leaf()
        od = _broadcast_to_and_flatten(out_dims[0] if single else out_dims, out_spec)
        if od is None:
            raise ValueError(f"vmap({getattr(func, '__name__', repr(func))}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
                             f"the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {out_spec}.")
        return tree_unflatten([col[0] if d is None else torch.stack(col, d) for col, d in zip(zip(*outs), od)], out_spec)
    wrapper.__name__ = getattr(func, "__name__", "vmap")
    return wrapper


def stack_module_state(models):
    """(stacked parameters, stacked buffers) of models of one kind."""
    def stacked(dicts):
        return {k: torch.stack([d[k].detach() for d in dicts]) for k in dicts[0]}
    params = {k: v.requires_grad_() for k, v in stacked([dict(m.named_parameters()) for m in models]).items()}
    return params, stacked([dict(m.named_buffers()) for m in models])
