"""TorchDispatchModes and classes with a __torch_dispatch__: who sees the ops below autograd, by PyTorch's names.
The core asks here (native/src/core/op.c).

What PyTorch composes of other ops is taken apart above autograd, so that a mode sees the parts, and the graph has them.
An op that PyTorch does not have is its body here; a kernel without a body that PyTorch does not have is not seen.
Not seen by modes, though PyTorch shows it: the detach of autograd. Classes see it.
"""

from __future__ import annotations


from .. import _C
from . import composed as _composed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

stack: list[Any] = []  # the innermost mode last
batching = False  # whether vmap was ever used
by_example = [True]  # whether vmap runs an op without a rule once per example


def minds_draws() -> bool:
    """Whether vmap asks for each op that draws random numbers; `_functorch.batched` puts its own here."""
    return False


def refresh() -> None:
    """Tells the core how many modes are on. A vmap that minds random numbers counts as one."""
    _C.dispatch_modes(len(stack) + minds_draws())


# ops without a kernel of their own in PyTorch (CompositeImplicitAutograd), where they have a body here
_COMPOSED = frozenset(
    """absolute adaptive_avg_pool1d adjoint alpha_dropout arccos arccosh arcsin arcsinh arctan arctan2 arctanh argsort
    argwhere atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear broadcast_to chunk clip column_stack
    combinations concat concatenate conj contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d corrcoef cosine_embedding_loss cosine_similarity cov cross cross_entropy_loss ctc_loss
    cumulative_trapezoid det diag diagflat diff divide dropout dsplit dstack embedding_bag expand_as
    feature_alpha_dropout feature_dropout fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft
    fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft
    fft_rfft2 fft_rfftn fill_diagonal_ fix flatten fliplr flipud float_power frobenius_norm ger greater greater_equal
    group_norm hinge_embedding_loss hsplit hstack imag inner instance_norm inverse isclose isfinite isreal istft kl_div
    kron l1_loss layer_norm less less_equal linalg_cholesky linalg_cond linalg_det linalg_diagonal linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_lu_factor linalg_matmul linalg_matrix_norm
    linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_slogdet linalg_solve linalg_solve_ex
    linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linear log_sigmoid logdet
    lu_solve margin_ranking_loss matmul matrix_exp matrix_power max_pool1d max_pool1d_with_indices max_pool2d
    max_pool3d moveaxis movedim msort multilabel_margin_loss multiply nanmean nanquantile narrow negative nll_loss
    nll_loss2d nll_loss_nd norm_except_dim not_equal nuclear_norm one_hot orgqr outer pad pairwise_distance pdist
    pinverse poisson_nll_loss positive prelu qr quantile ravel real repeat_interleave reshape reshape_as resolve_conj
    resolve_neg rms_norm row_stack rrelu scaled_dot_product_attention selu slogdet square stft subtract sum_to_size svd
    take_along_dim tensor_split tensordot tile to trapezoid trapz triplet_margin_loss true_divide type_as unflatten
    vander view_as vsplit vstack max.other min.other softmax.int log_softmax.int where.ScalarOther where.ScalarSelf
    where.Scalar where split.sizes std std.dim var var.dim std_mean std_mean.dim var_mean var_mean.dim
    gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell""".split()
)
# what PyTorch's functions hand on for these: a number goes to the overload for tensors
_SHOWN_AS = {
    "_to_dtype": ("_to_copy", "default"),
    "_t2": ("t", "default"),
    "_im2col": ("im2col", "default"),
    "_col2im": ("col2im", "default"),
    "_scaled": ("mul", "Scalar"),
    "floor_divide.Scalar": ("floor_divide", "default"),
    "add.Scalar": ("add", "Tensor"),
    "sub.Scalar": ("sub", "Tensor"),
    "mul.Scalar": ("mul", "Tensor"),
    "div.Scalar": ("div", "Tensor"),
    "div.Scalar_mode": ("div", "Tensor_mode"),
}
_found: dict[tuple[Any, str, bool], Any] = {}
_composing = [False]  # whether ops are those of a composition, which PyTorch calls as they are written


def _overload(ov: Any, form: str) -> Any:
    """The OpOverload of an overload of the core; form: "", "inplace" or "out". None where PyTorch has none."""
    key = (ov, form, _composing[0])
    if key not in _found:
        from .. import _ops

        head = ov.schema.partition("(")[0]
        name = head.partition(".")[0]
        made = None
        as_written = _composing[0] and "." in head
        if head in _SHOWN_AS and not as_written and (form != "out" or head != "_to_dtype"):
            packet, short = _SHOWN_AS[head]
            if form == "out":
                short = short.replace("Tensor", "out")
            made = getattr(getattr(_ops.ops.aten, packet + ("_" if form == "inplace" else "")), short)
        else:
            spec_name = ov.spec.name + ("_" if form == "inplace" else "")
            for wanted in dict.fromkeys((spec_name, name, name + "_" if form == "inplace" else name)):
                for short, entry in _ops._entries(wanted).items():
                    fits = entry.overload is ov and bool(entry.outs) == (form == "out")
                    if made is None and fits and not callable(entry):
                        made = getattr(getattr(_ops.ops.aten, wanted), short)
        _found[key] = made
    return _found[key]


def _shown(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _arguments(func: Any, ov: Any, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as PyTorch hands them on: those that have their default are left out."""
    given = {p[0]: v for p, v in zip(ov.params, values)}
    if values:  # PyTorch calls it input in one form of an op, and self in another
        given.setdefault("self", values[0])
    positional: list[Any] = []
    last = 0
    named: dict[str, Any] = {}
    for a in func._schema.arguments:
        if a.name not in given:
            continue
        value = _shown(given[a.name])
        default = a.default_value if a.has_default_value() else ov
        same = value is default or type(value) is type(default) and value == default
        if a.kwarg_only:
            if not same:
                named[a.name] = value
            continue
        positional.append(value)
        if not same:
            last = len(positional)
    if "pin_memory" in given and given["pin_memory"] is None and not _composing[0]:
        from . import device as _device

        if given.get("device") is None and not any(isinstance(v, _C.TensorBase) for v in values):
            named["device"] = _device.default()
        named["pin_memory"] = False
    return tuple(positional[:last]), named


def _refused(func: Any, modes: list[Any], classes: list[type]) -> TypeError:
    lines = ["Multiple dispatch failed for 'torch._ops.%s'; all __torch_dispatch__ handlers returned " % func]
    lines[0] += "NotImplemented:\n"
    lines += ["  - mode object %r" % mode for mode in modes]
    lines += ["  - tensor subclass %r" % cls for cls in classes]
    return TypeError("\n".join(lines) + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def dispatches(t: Any) -> bool:
    """Whether a tensor's class has a __torch_dispatch__ of its own."""
    return isinstance(t, _C.TensorBase) and handler_of(type(t)) is not None


def handler_of(cls: type) -> Any:
    """A class's __torch_dispatch__, or None."""
    found = getattr(cls, "__torch_dispatch__", None)
    return None if found is None or getattr(found, "_tl_plain", False) else found


def _classes(values: Any, found: list[type]) -> list[type]:
    """The classes of the arguments that have a handler, a subclass before its bases, else from left to right."""
    for v in values:
        if isinstance(v, (list, tuple)):
            _classes(v, found)
        elif dispatches(v) and type(v) not in found:
            at = next((i for i, c in enumerate(found) if issubclass(type(v), c)), len(found))
            found.insert(at, type(v))
    return found


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: tuple[Any, ...] = ()) -> Any:
    """What the modes say, the innermost first, then the classes of the arguments. A mode is off while it runs, and
    nothing that a handler calls is recorded."""
    held: list[Any] = []
    composing, _composing[0] = _composing[0], False
    classes = [] if _off[0] else _classes((args, tuple(kwargs.values())), [])
    try:
        with _C.GradMode(False):
            while stack:
                held.append(stack.pop())
                refresh()
                rule = func.python_key_table.get(type(held[-1])) or type(held[-1]).__torch_dispatch__
                result = rule(held[-1], func, tuple(classes), args, kwargs)
                if result is not NotImplemented:
                    return result
            for cls in classes:
                rule = func.python_key_table.get(cls)
                given = (func, tuple(classes), args, kwargs)
                result = handler_of(cls)(*given) if rule is None else rule(cls, *given)
                if result is not NotImplemented:
                    return result
        raise _refused(func, held, classes)
    finally:
        stack.extend(reversed(held))
        refresh()
        _composing[0] = composing


_off = [0]  # above 0: no class is asked


class DisableTorchDispatch:
    """Inside, neither modes nor classes are asked: an op runs on the tensor's own memory."""

    def __enter__(self) -> None:
        self._modes = list(stack)
        stack.clear()
        _off[0] += 1
        _C.dispatch_modes(0)
        _C.dispatch_off(1)

    def __exit__(self, *exc: Any) -> None:
        stack[:] = self._modes
        _off[0] -= 1
        refresh()
        _C.dispatch_off(-1)


def _composed_by(rule: Any, args: tuple[Any, ...]) -> Any:
    before, _composing[0] = _composing[0], True
    try:
        return rule(*args)
    finally:
        _composing[0] = before


def _unnamed(ov: Any, args: tuple[Any, ...]) -> Any:
    """An op that only torchlite has, run by the innermost mode, which need not know its name."""
    mode = stack.pop()
    refresh()
    try:
        return mode.unnamed(lambda *values: _C.call_overload(ov, values), args)
    finally:
        stack.append(mode)
        refresh()


def ask(ov: Any, args: tuple[Any, ...], below: bool) -> Any:
    """The result of a call while a mode is on, or with a tensor whose class has a handler; NotImplemented: it goes on
    as without one."""
    if batching:
        mapped, result = _mapped(ov, args, below)
        if mapped or not stack and not _classes(args, []):
            return result
    if not below:
        head = ov.schema.partition("(")[0]
        if ov.inplace:
            rule = _composed.BODIES.get(ov.spec.name + "_")
            if rule is None:
                return NotImplemented
            return args[0] if _composed_by(rule, args) is not NotImplemented else NotImplemented
        if head.endswith(".vec"):
            return _composed.upsample(ov.spec.name, *args)
        if head.endswith(".correction") or not (head in _COMPOSED or ov.spec.name in _COMPOSED):
            return NotImplemented
        result = _composed_by(_composed.BODIES[head], args) if head in _composed.BODIES else NotImplemented
        return ov.body(*args) if result is NotImplemented and ov.body is not None else result
    if ov.spec.name == "grid_sampler":
        from .. import _ops

        func = getattr(_ops.ops.aten, "grid_sampler_%dd" % (args[0].dim() - 2)).default
    else:
        func = _overload(ov, "inplace" if ov.inplace else "")
    if func is None:
        if ov.body is not None and not ov.inplace:
            return ov.body(*args)
        if stack and hasattr(stack[-1], "unnamed") and not ov.spec.view and "(a!)" not in ov.schema:
            return _unnamed(ov, args)
        if any(getattr(mode, "sees_all", False) for mode in stack):
            raise NotImplementedError(
                "%s: PyTorch has no such operator, so a trace cannot hold it; write it with operators of PyTorch"
                % ov.spec.name
            )
        return NotImplemented
    written = args[0] if "(a!) self" in ov.schema else None
    before = written._version if written is not None else 0
    result = call(func, *_arguments(func, ov, args))
    if written is not None and written._version == before:
        written._bump_version()
    if ov.inplace or written is not None:
        return args[0]
    if ov.spec.view:
        _set_bases(args[0], result)
    if isinstance(result, list):
        return tuple(result)
    if ov.schema.endswith("-> Tensor") and not isinstance(result, _C.TensorBase):
        raise TypeError(
            "Unable to cast Python instance of type %s to C++ type 'at::Tensor': the result of __torch_dispatch__ for "
            "%s" % (type(result), func)
        )
    return result


def _set_bases(source: Any, result: Any) -> None:
    """Makes what a class gave for a view of `source` its views, so that a write to one reaches the history of all."""
    from ..autograd._node import set_view_base

    views: Any = result if isinstance(result, (tuple, list)) else (result,)
    dispatches = isinstance(source, _C.TensorBase) and source._dispatches
    for t in views if dispatches else ():
        if t is not source and t._dispatches and t._base is None and t._raw_grad_fn is None:
            set_view_base(t, source)


def _mapped(ov: Any, args: tuple[Any, ...], below: bool) -> tuple[bool, Any]:
    """Whether a call is vmap's, and what that says. It comes before modes and classes, which see the ops on the tensors
    of all examples."""
    from .._functorch import batched, drawing, rules

    level = batched.innermost(args)
    if minds_draws() and (level is None or level is not batched.running()[-1]):
        result = drawing.unmapped(ov, args)
        if result is not NotImplemented:
            return True, result
    if level is None:
        return False, NotImplemented
    if not below:
        return True, rules.above(ov, args, level)
    result = rules.run(ov, args, level)
    if ov.spec.view:
        _set_bases(args[0], result)
    return True, result


def is_mapped(t: Any) -> bool:
    """Whether a tensor stands for the examples of a vmap."""
    from .._functorch.batched import BatchedTensor

    return batching and isinstance(t, BatchedTensor)


def all_examples(t: Any) -> Any:
    """The numbers of `t` for all examples of all running vmaps: for checks that raise if any example is wrong."""
    if batching:
        from .._functorch.batched import BatchedTensor
        from .._functorch.functionalization import FunctionalTensor, synced

        while isinstance(t, (BatchedTensor, FunctionalTensor)):
            t = t._value if isinstance(t, BatchedTensor) else synced(t)
    return t


def on_all_examples(fn: Any, t: Any) -> Any:
    """fn(t), computed at once for all examples of all running vmaps; fn takes any number of dims in front."""
    if batching:
        from .._functorch.batched import BatchedTensor, make

        if isinstance(t, BatchedTensor):
            return make(on_all_examples(fn, t._value), t._level, t._batched)
    return fn(t)


def ask_out(ov: Any, args: tuple[Any, ...], outs: tuple[Any, ...]) -> bool:
    """Whether a mode or a class took a call with out=."""
    asked = stack or _classes((args, outs), [])
    func = _overload(ov, "out") if asked else None
    if func is None:
        return False
    positional, named = _arguments(func, ov, args)
    call(func, positional, {**named, **dict(zip(func._entry.outs, outs))})
    return True


def lift(t: Any) -> Any:
    """What the modes make of a tensor that was made of data."""
    from .. import _ops

    result = call(_ops.ops.aten.lift_fresh.default, (_C.alias(t) if t.requires_grad else t,), {})
    if t.requires_grad:
        result.requires_grad = True
    return result


def alias(t: Any) -> Any:
    """What autograd keeps of a tensor whose class has a handler: PyTorch asks that for aten.detach."""
    from .. import _ops

    result = call(_ops.ops.aten.detach.default, (t,), {})
    if not isinstance(result, _C.TensorBase):
        raise TypeError("aten.detach of %s returned %s" % (type(t).__name__, type(result).__name__))
    return _C.share_version(result, t)


def write(t: Any, name: str, overload: str, *args: Any) -> Any:
    """t.copy_(source) and its like, below autograd, where one of them has such a class or a mode is on."""
    from .. import _ops

    before = t._version
    call(getattr(getattr(_ops.ops.aten, name), overload), (t, *args), {})
    if t._version == before:
        t._bump_version()
    return t


def resized(t: Any, size: Any, memory_format: Any) -> bool:
    """Whether a mode or a tensor's class did t.resize_(size)."""
    if not stack and (_off[0] or not t._dispatches):
        return False
    from .. import _ops

    call(
        _ops.ops.aten.resize_.default,
        (t, list(size)),
        {} if memory_format is None else {"memory_format": memory_format},
    )
    return True


def taken(t: Any, overload: Any, *args: Any) -> bool:
    """Whether a mode, or a tensor's class, was asked for what changes `t` below the dispatcher, set_ for one."""
    if not stack and (_off[0] or not t._dispatches):
        return False
    call(overload, (t, *args), {})
    return True


def set_asked(t: Any, source: Any, offset: int, size: Any, stride: Any) -> bool:
    """Whether a mode, or the tensor's class, was asked for t.set_(source, ...)."""
    from .. import _ops

    forms = _ops.ops.aten.set_
    if source is None:
        return taken(t, forms.default)
    if not isinstance(source, _C.TensorBase):  # a storage, which no schema here knows
        return False
    if size is None:
        return taken(t, forms.source_Tensor, source)
    return taken(t, forms.source_Tensor_storage_offset, source, offset, list(size), list(stride or ()))


_GEOMETRY = {
    "sizes": "sym_size",
    "strides": "sym_stride",
    "numel": "sym_numel",
    "storage_offset": "sym_storage_offset",
    "dim": "dim",
    "is_contiguous": "is_contiguous",
}


def geometry(t: Any, what: str) -> Any:
    """What the class of a tensor says of its sizes, strides and the like."""
    from .. import _ops

    said = call(getattr(_ops.ops.aten, _GEOMETRY[what]).default, (t,), {})
    if what == "sizes":
        return _C.Size(said)
    return tuple(said) if what == "strides" else said


def item(t: Any) -> Any:
    """The number of a tensor of such a class, or while a mode is on."""
    if not stack and not t._dispatches:  # a vmap that minds random numbers counts as a mode
        with DisableTorchDispatch():
            return t.item()
    from .. import _ops

    return call(_ops.ops.aten._local_scalar_dense.default, (t,), {})


used = [False]  # whether there ever was a tensor of such a class


def note(t: Any) -> Any:
    """Makes ops ask the class of this tensor."""
    used[0] = True
    return _C.dispatching(t)


_C.register("dispatch_alias", alias)
_C.register("dispatch_item", item)
_C.register("dispatch_geometry", geometry)
_C.register("torch_dispatch", ask)
