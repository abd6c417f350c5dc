"""Activation checkpointing: a part of the model is run again in backward instead
of keeping its intermediate results."""

import contextlib

import sys

import torchlite as torch

from ..autograd import _inplace

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "set_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """The second run did not do what the first did."""


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


def noop_context_fn():
    """Two contexts that do nothing."""
    return _Nothing(), _Nothing()


def get_device_states(*args):
    """Random states of accelerators: there are none apart from the CPU's."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """The inverse of `get_device_states`."""


def detach_variable(inputs):
    """The inputs cut off from their graph, with the same requires_grad."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    out = []
    for x in inputs:
        if isinstance(x, torch.Tensor):
            y = x.detach()
            y.requires_grad = x.requires_grad
            x = y
        out.append(x)
    return tuple(out)


def check_backward_validity(inputs):
    """Warns when no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, torch.Tensor)):
        import warnings

        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class _Surroundings:
    """The random state and autocast at the first run, held again during the second."""

    def __init__(self, keep):
        self.state = torch.get_rng_state() if keep else None
        casting = _autocasting()
        self.cast = None if casting is None else casting.surroundings()

    def __enter__(self):
        casting = _autocasting()
        self.before = None if casting is None else casting.surround(self.cast)
        if self.state is not None:
            self.now = torch.get_rng_state()
            torch.set_rng_state(self.state)

    def __exit__(self, *exc):
        if self.before is not None:
            _autocasting().surround(self.before)
        if self.state is not None:
            torch.set_rng_state(self.now)


def _autocasting():
    """What autocast works with, once it was used."""
    return sys.modules.get("torchlite._core.autocasting")


class CheckpointFunction(torch.autograd.Function):
    """The reentrant form: runs forward without a graph, and forward and backward together in backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random = _Surroundings(preserve_rng_state)
        ctx.inputs, ctx.at, tensors = list(args), [], []
        for i, a in enumerate(args):
            if isinstance(a, torch.Tensor):
                tensors.append(a)
                ctx.at.append(i)
                ctx.inputs[i] = None
        ctx.save_for_backward(*tensors)
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if torch.autograd.graph.tasks[-1].inputs is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set use_reentrant=False, "
                "or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, t in zip(ctx.at, ctx.saved_tensors):
            inputs[i] = t
        inputs = detach_variable(tuple(inputs))
        with ctx.random, torch.enable_grad():
            outputs = ctx.run_function(*inputs)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, torch.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None) + tuple(x.grad if isinstance(x, torch.Tensor) else None for x in inputs)


class _Done(Exception):
    """The second run has saved all that the first did."""


class _Frame:
    """One checkpointed call: what its first run saved (by number only) and, once needed, the tensors of the second."""

    def __init__(self, run, check, early_stop, args):
        self.run, self.check, self.early_stop = run, check, early_stop
        self.inputs = [(a, a._version) for a in args if isinstance(a, torch.Tensor) and not a.is_inference()]
        self.meta = []
        self.tensors: list = []  # what the second run gave, for one backward pass
        self.key = None
        self.completed = False  # the first run has ended: it may ask for gradients before

    def pack(self, x):
        self.meta.append(_metadata(x))
        return len(self.meta) - 1

    def unpack(self, i):
        tasks = torch.autograd.graph.tasks
        if not tasks:
            return self.again()[i]
        if self.key is not tasks[-1].key or i >= len(self.tensors):
            self.key = tasks[-1].key
            self.tensors = self.again()
        return self.tensors[i]

    def again(self):
        for t, version in self.inputs:
            if t._version != version:
                raise _inplace.changed_error(t, version, None, None)
        found: list[torch.Tensor] = []

        def keep(x):
            if len(found) >= len(self.meta) and self.completed:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                    "original forward pass."
                )
            found.append(x.detach())
            if self.early_stop and len(found) == len(self.meta):
                raise _Done
            return len(found) - 1

        try:
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda j: found[j]), torch.enable_grad():
                self.run()
        except _Done:
            pass
        if len(found) != len(self.meta) and self.completed:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation.\nNumber of tensors saved during forward: {len(self.meta)}\nNumber of "
                f"tensors saved during recomputation: {len(found)}."
            )
        if self.check:
            bad = [
                f"tensor at position {k}:\nsaved metadata: {m}\nrecomputed metadata: {r}"
                for k, (m, r) in enumerate(zip(self.meta, map(_metadata, found)))
                if m != r
            ]
            if bad:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different "
                    "metadata than during the forward pass.\n" + "\n".join(bad)
                )
        return found


def _metadata(x):
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class DefaultDeviceType:
    """The device type whose state is kept where no argument is on a device."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        if DefaultDeviceType._default_device_type is None:
            found = torch.accelerator.current_accelerator(True)
            DefaultDeviceType._default_device_type = found.type if found is not None else "cpu"
        return DefaultDeviceType._default_device_type


def _infer_device_type(*args):
    """The type of the devices, other than the CPU, that the tensors in the arguments are on."""
    from ._pytree import tree_leaves

    kinds = [t.device.type for t in tree_leaves(args) if isinstance(t, torch.Tensor) and t.device.type != "cpu"]
    if len(set(kinds)) > 1:
        import warnings

        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored. "
            "Consequently, if any checkpointed functions involve randomness, this may result in incorrect gradients. "
            "(Note that if CUDA devices are among the devices detected, it will be prioritized; otherwise, the first "
            "device encountered will be selected.)\nDevice types: %s first device type: %s"
            % (sorted(set(kinds)), kinds[0]),
            stacklevel=2,
        )
    if not kinds:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in kinds else kinds[0]


_early_stop: list[bool] = []  # what the surrounding set_checkpoint_early_stop() contexts say


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Inside, checkpoint() stops its second runs as soon as all saved tensors are there again, or never,
    whatever its early_stop says."""
    depth = len(_early_stop)
    try:
        _early_stop.append(enable)
        yield
    finally:
        del _early_stop[depth:]


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """Runs `function(*args, **kwargs)`, keeping only its inputs; backward runs it again.

    use_reentrant=False is the better form: it works with any inputs, keyword arguments and `autograd.grad`.
    """
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    random = _Surroundings(preserve)

    def again():
        with random, second:
            function(*args, **kwargs)

    frame = _Frame(again, determinism_check == "default", _early_stop[-1] if _early_stop else early_stop, args)
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Checkpoints a Sequential (or list) in `segments` pieces; the last piece is run as usual."""
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
            "explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed. "
            "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
            "you can pass use_reentrant=True. Refer to docs for more details on the differences "
            "between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def piece(start, end):
        def forward(x):
            for j in range(start, end + 1):
                x = functions[j](x)
            return x

        return forward

    size = len(functions) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(piece(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return piece(end + 1, len(functions) - 1)(input)


from .._core import absent as _absent

_lacking = _absent.of(__name__)
_SELECTIVE = [
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "SAC_IGNORED_OPS",
]
__all__ += _SELECTIVE


def __getattr__(name):
    if name in _SELECTIVE:
        from . import _selective

        return getattr(_selective, name)
    return _lacking(name)
