"""torch.func: function transforms built on autograd, and functional calls of modules."""

import contextlib
import functools

import torchlite as torch

from . import _C
from ._core import errors as _errors
from .autograd._node import Transposing, as_leaf, edge
from .utils._pytree import tree_flatten, tree_unflatten


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with the given tensors in place of its parameters and buffers."""
    from .nn.utils.stateless import _functional_call

    if isinstance(parameter_and_buffer_dicts, (list, tuple)):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        merged = {k: v for d in parameter_and_buffer_dicts for k, v in d.items()}
        keys = [k for d in parameter_and_buffer_dicts for k in d]
        repeated = [k for k in merged if keys.count(k) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        parameter_and_buffer_dicts = merged
    elif not isinstance(parameter_and_buffer_dicts, dict):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def _numbers(argnums, count):
    """argnums as positions; PyTorch's errors."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    found = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
        found.append(n % count)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(found)}")
    return found


def _fresh(leaves):
    """New tensors that gradients are taken of:
    views where the given ones have a history, which an outer transform follows."""
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    return [t.view_as(t) if t.requires_grad else as_leaf(t.detach()) for t in leaves]


def _others(tree, fresh):
    """Arguments that no gradient is taken of: the function may write to them, and leaves them no history."""
    leaves, spec = tree_flatten(tree)
    own = {id(t) for t in fresh}
    plain = [isinstance(t, torch.Tensor) and not t.requires_grad and id(t) not in own for t in leaves]
    leaves = [t.detach() if p else t for t, p in zip(leaves, plain)]
    return tree_unflatten(leaves, spec), [t for t, p in zip(leaves, plain) if p]


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)


@contextlib.contextmanager
def _transform(fresh):
    """While a transformed function runs: it may write to its own inputs (`fresh`) and to what it makes itself."""
    outer, levels = _C.func_level(), [(t, _C.storage_level(t)) for t in fresh]
    try:
        _C.func_level(outer + 1, [(t, outer + 1) for t in fresh])
        with torch.autograd.graph.disable_saved_tensors_hooks(_NO_HOOKS):
            yield
    finally:  # one call, since an interrupt comes after a call
        _C.func_level(outer, levels)


def _outside(tensors, fresh):
    """Whether their history leads to another leaf than those of `fresh`:
    to an outer transform's, or to one that a function closes over."""
    inner, seen = {id(t) for t in fresh}, set()
    todo = [e for e in map(edge, tensors) if e is not None]
    while todo:
        node = todo.pop()[0]
        if isinstance(node, torch.Tensor):
            if id(node) not in inner:
                return True
        elif node not in seen:
            seen.add(node)
            todo += [e for e in node.next if e is not None]
    return False


def _shown(tree, fresh, keep):
    """A tree of tensors as the caller gets it: with a history only where that leads out of the transform."""
    leaves, spec = tree_flatten(tree)
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
        level = _C.func_level()  # the caller's now: another transform does not write to it
        if _C.storage_level(t) > level:
            _C.func_level(level, [(t, level)])
    return tree_unflatten([t if keep and _outside([t], fresh) else t.detach() for t in leaves], spec)


def _two(out, has_aux, name):
    if has_aux and not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return out if has_aux else (out, None)


def _checked(tree, name):
    """(leaves, spec) of what a function returned, which has to hold tensors only."""
    leaves, spec = tree_flatten(tree)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(t)}")
    return leaves, spec


def _gradients(outs, ins, cotangents, create_graph):
    """Gradients of those outputs that have a graph, zeros where there is none; the graph stays."""
    pairs = [(o, c) for o, c in zip(outs, cotangents) if o.requires_grad]
    if not pairs:
        return [torch.zeros_like(t) for t in ins]
    return torch.autograd.grad(
        [o for o, _ in pairs],
        ins,
        [c for _, c in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )


def _named(func):
    """functools.wraps, for a callable without a name too."""
    return functools.wraps(func) if hasattr(func, "__name__") else lambda wrapper: wrapper


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient with respect to argument argnums, value)."""

    @_named(func)
    def wrapper(*args, **kwargs):
        nums = _numbers(argnums, len(args))
        leaves, spec = tree_flatten([args[n] for n in nums])
        recorded, name = torch.is_grad_enabled(), "grad_and_value(f)(*args)"
        with torch.enable_grad():
            fresh = _fresh(leaves)
            call = list(args)
            for n, tree in zip(nums, tree_unflatten(fresh, spec)):
                call[n] = tree
            (call, more), written = _others((call, kwargs), fresh)
            with _transform([*fresh, *written]):
                out, aux = _two(func(*call, **more), has_aux, name)
            if not isinstance(out, torch.Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
            if out.dim() != 0:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. "
                    "Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            keep = recorded and _outside([out], fresh)
            found = (
                torch.autograd.grad(out, fresh, create_graph=keep, allow_unused=True, materialize_grads=True)
                if out.requires_grad
                else [torch.zeros_like(t) for t in fresh]
            )
            g = tree_unflatten(_shown(list(found), fresh, keep), spec)
            value = _shown(out, fresh, keep)
            aux = _shown(aux, fresh, recorded) if has_aux else None
        g = tuple(g) if isinstance(argnums, tuple) else g[0]
        return (g, (value, aux)) if has_aux else (g, value)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func with respect to argument argnums."""
    inner = grad_and_value(func, argnums, has_aux)

    @_named(func)
    def wrapper(*args, **kwargs):
        g, value = inner(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return wrapper


class _Star:
    def __repr__(self):
        return "*"


def _drawn(spec):
    return repr(tree_unflatten([_Star() for _ in range(spec.num_leaves)], spec))


def vjp(func, *primals, has_aux=False):
    """(func(*primals), function from cotangents to gradients); primals and outputs may be trees of tensors."""
    return _vjp(func, primals, has_aux, ())


def _vjp(func, primals, has_aux, written):
    """vjp; `written`: other tensors that the function may write to."""
    flat, spec = tree_flatten(primals)
    recorded = torch.is_grad_enabled()
    with torch.enable_grad():
        ins = _fresh(flat)
        with _transform([*ins, *written]):
            out, aux = _two(func(*tree_unflatten(ins, spec)), has_aux, "vjp(f, *primals)")
    outs, out_spec = _checked(out, "vjp(f, *primals)")
    for t in outs:
        if not (t.is_floating_point() or t.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, "
                f"got Tensor with dtype {t.dtype}"
            )
    keep = recorded and _outside(outs, ins)

    def pull(cotangents, retain_graph=True, create_graph=None):
        given, given_spec = tree_flatten(cotangents)
        if given_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {_drawn(given_spec)}, primal output: {_drawn(out_spec)}"
            )
        create = torch.is_grad_enabled() if create_graph is None else create_graph
        create = create and (keep or any(c.requires_grad for c in given))
        return tree_unflatten(_shown(list(_gradients(outs, ins, given, create)), ins, create), spec)

    shown = _shown(out, ins, keep)
    return (shown, pull, _shown(aux, ins, recorded)) if has_aux else (shown, pull)


_STRUCTURES = (
    "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. "
    "For example, if primals is a tuple of 3 tensors, tangents also must be. "
    "Got primals with structure %s and tangents with structure %s"
)


class _Start(torch.autograd.Function):
    """The same tensor, but no leaf: the function may write to it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return _C.alias(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g


def _forward(func, primals, has_aux=False, strict=False, written=()):
    """(outputs, function from a tree of tangents to J tangents, auxiliary output).
    J t is the gradient of u -> u J, which is linear in u. `written`: other tensors that the function may write to."""
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = tree_flatten(primals)
    if not flat:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    for t in flat:
        if not isinstance(t, torch.Tensor):
            raise RuntimeError(f"{name}: Expected primals to only contain Tensors, got {type(t)}")
    recorded = torch.is_grad_enabled()
    with torch.enable_grad():
        ins = _fresh(flat)
        with _transform([*ins, *written]):
            out, aux = _two(func(*tree_unflatten([_Start.apply(t) for t in ins], spec)), has_aux, name)
        outs, out_spec = _checked(out, name)
        if strict and not all(o.requires_grad for o in outs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                "This is not allowed with strict=True."
            )
        us = [as_leaf(torch.zeros_like(o)) if o.requires_grad else None for o in outs]
        with Transposing():
            back = _gradients(outs, ins, us, True)
    keep = recorded and _outside(outs, ins)

    def push(tangents):
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(_STRUCTURES % (spec, given_spec))
        for t, v in zip(flat, given):
            if not isinstance(v, torch.Tensor):
                raise RuntimeError(f"{name}: Expected tangents to only contain Tensors, got {type(v)}")
            if v.shape != t.shape:
                raise _errors.other_tangent_size(t, v)
        create = keep or recorded and any(v.requires_grad for v in given)
        real = [u for u in us if u is not None]
        found = iter(_gradients(back, real, given, create) if real else ())
        return tree_unflatten(
            _shown(
                [torch.zeros_like(o) if u is None else next(found) for o, u in zip(outs, us)], [*ins, *real], create
            ),
            out_spec,
        )

    return _shown(out, ins, keep), push, _shown(aux, ins, recorded) if has_aux else None


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), J tangents), by two passes in reverse mode"""
    specs = tree_flatten(primals)[1], tree_flatten(tangents)[1]
    if isinstance(primals, tuple) and specs[0] != specs[1]:
        raise RuntimeError(_STRUCTURES % specs)
    out, push, aux = _forward(func, primals, has_aux, strict)
    moved = push(tangents)
    return (out, moved, aux) if has_aux else (out, moved)


def linearize(func, *primals):
    """(func(*primals), function from tangents to J tangents)"""
    out, push, _ = _forward(func, primals)
    return out, lambda *tangents: push(tangents)


def _real_only(name, tree, what):
    for i, t in enumerate(tree_flatten(tree)[0]):
        if isinstance(t, torch.Tensor) and t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def _basis(outs, start, count):
    """`count` cotangents: ones at the elements of all outputs, one after the other from `start`, zeros elsewhere."""
    found, before = [], 0
    for o in outs:
        rows = torch.zeros(count, o.numel(), dtype=o.dtype, device=o.device)
        first = max(start, before)
        last = min(start + count, before + o.numel())
        if first < last:
            at = torch.arange(first, last, device=o.device)
            rows[at - start, at - before] = 1
        found.append(rows.reshape(count, *o.shape))
        before += o.numel()
    return found


def _rows(pull, outs, inputs, chunk_size):
    """For each input the gradients (elements of all outputs, *shape of the input), a chunk of them at once."""
    total = sum(o.numel() for o in outs)
    if not total:
        return [t.new_zeros(0, *t.shape) for t in inputs]
    step = min(chunk_size or total, total)
    parts = []
    for start in range(0, total, step):
        given = _basis(outs, start, min(step, total - start))
        if chunk_size == 1:  # no vmap, so nothing that it cannot do
            parts.append([g.unsqueeze(0) for g in pull(*(c[0] for c in given))])
        else:
            parts.append(vmap(pull)(*given))
    return [torch.cat(column) if len(column) > 1 else column[0].contiguous() for column in zip(*parts)]


def _picked(func, nums, args, name, has_aux):
    """(function of the arguments `nums` alone, the other tensors that it may write to)"""
    given, written = _others([None if i in nums else a for i, a in enumerate(args)], ())

    def picked(*trees):
        call = list(given)
        for n, tree in zip(nums, trees):
            call[n] = tree
        out = func(*call)
        _real_only(name, out[0] if has_aux and isinstance(out, tuple) and out else out, "outputs")
        return out

    return picked, written


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of func, row by row: for functions of many numbers to few."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_named(func)
    def wrapper(*args):
        return _jacobian_by_rows(func, args, argnums, has_aux, "jacrev", chunk_size)

    return wrapper


def _jacobian_by_rows(func, args, argnums, has_aux, name, chunk_size=None):
    _real_only(name, args, "inputs")
    nums = _numbers(argnums, len(args))
    picked, written = _picked(func, nums, args, name, has_aux)
    trees = [args[n] for n in nums]
    made = _vjp(picked, trees, has_aux, written)
    outs, out_spec = tree_flatten(made[0])
    inputs, in_spec = tree_flatten(tuple(trees))

    def pull(*cotangents):
        return tuple(tree_flatten(made[1](tree_unflatten(list(cotangents), out_spec)))[0])

    rows = _rows(pull, outs, inputs, chunk_size)
    blocks, start = [], 0
    for out in outs:
        columns = [row[start : start + out.numel()].reshape((*out.shape, *t.shape)) for row, t in zip(rows, inputs)]
        block = tree_unflatten(columns, in_spec)
        blocks.append(block if isinstance(argnums, tuple) else block[0])
        start += out.numel()
    j = tree_unflatten(blocks, out_spec)
    return (j, made[2]) if has_aux else j


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of func, column by column: for functions of few numbers to many.

    `func` runs once and not inside vmap, so `randomness` does not matter."""

    @_named(func)
    def wrapper(*args):
        _real_only("jacfwd", args, "inputs")
        nums = _numbers(argnums, len(args))
        picked, written = _picked(func, nums, args, "jacfwd", has_aux)
        trees = tuple(args[n] for n in nums)
        made, push, aux = _forward(picked, trees, has_aux, written=written)
        inputs, in_spec = tree_flatten(trees)
        outs, out_spec = tree_flatten(made)
        total = sum(t.numel() for t in inputs)
        columns = [o.new_zeros(0, *o.shape) for o in outs]
        if total:
            columns = vmap(lambda *given: tuple(tree_flatten(push(tree_unflatten(list(given), in_spec)))[0]))(
                *_basis(inputs, 0, total)
            )
        blocks = []
        for column in columns:
            parts = zip(column.split([t.numel() for t in inputs]), inputs)
            block = tree_unflatten([_block(part, t) for part, t in parts], in_spec)
            blocks.append(block if isinstance(argnums, tuple) else block[0])
        j = tree_unflatten(blocks, out_spec)
        return (j, aux) if has_aux else j

    return wrapper


def _block(columns, t):
    """The derivatives for t, of shape (*shape of the output, *shape of t), from one per number of t."""
    part = columns.movedim(0, -1)
    return part.unflatten(-1, t.shape) if t.dim() else part.squeeze(-1)


def hessian(func, argnums=0):
    """A function that returns the Hessian of func: jacfwd of its jacrev.

    It is computed by rows, the cheaper way here, and has the layout that columns give."""
    first = jacrev(func, argnums)

    @_named(func)
    def wrapper(*args):
        inputs = [args[n] for n in _numbers(argnums, len(args))]
        leaves = tree_flatten(inputs)[0] * len(tree_flatten(inputs)[0])
        blocks, spec = tree_flatten(_jacobian_by_rows(first, args, argnums, False, "jacfwd"))
        made = []
        for block, t in zip(blocks, leaves):
            out = block.shape[: block.dim() - t.dim()]
            made.append(_block(block.reshape(-1, t.numel()).t().contiguous().reshape(-1, *out), t))
        return tree_unflatten(made, spec)

    return wrapper


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    from ._functorch import vmap as made

    return made.vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


def functionalize(func, *, remove="mutations"):
    """A function that does what `func` does without ops in place, which become ops that return; it still writes to its
    inputs, at the end. remove="mutations_and_views": views become copies as well."""
    from ._functorch import functionalization

    return functionalization.functionalize(func, remove=remove)


def debug_unwrap(tensor, *, recurse=True):
    """The tensor of all examples that one of vmap stands for, without the wrappers of all vmaps or of the inner one."""
    while hasattr(tensor, "_level") and isinstance(tensor, torch.Tensor):
        tensor = tensor._value  # type: ignore[attr-defined]
        if not recurse:
            break
    return tensor


def replace_all_batch_norm_modules_(root):
    """The module, whose BatchNorm modules keep no running statistics any more."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models):
    """(stacked parameters, stacked buffers) of models of one kind."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(dicts):
        return {k: leaf(k, [d[k] for d in dicts]) for k in dicts[0]}

    def leaf(name, tensors):
        if len({t.requires_grad for t in tensors}) > 1:
            raise RuntimeError("Expected %s from each model to have the same .requires_grad" % name)
        whole = torch.stack([t.detach() for t in tensors])
        return as_leaf(whole) if tensors[0].requires_grad else whole

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
