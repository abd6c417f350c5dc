"""Functions that packages call in torch._C."""

from __future__ import annotations

from .future import collect_all as _collect_all  # noqa: F401


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _get_tracing_state() -> None:
    """No tracer runs."""


def _is_fwd_grad_enabled() -> bool:
    """Whether ops carry tangents along in an open dual level."""
    from ..autograd import forward_ad

    return forward_ad._is_fwd_grad_enabled()


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Lets ops carry tangents along, or not."""
    from ..autograd import forward_ad

    forward_ad._switch(mode)


def _are_functorch_transforms_active() -> bool:
    """False: torch.func calls the functions themselves."""
    return False


def _jit_set_profiling_executor(value: bool) -> bool:
    """The old value; there is no executor."""
    return False


_jit_set_profiling_mode = _jit_set_profiling_executor


def _jit_set_emit_hooks(module_hook: object, function_hook: object) -> None:
    """Nothing is compiled, so that no hook would run."""


def _jit_clear_class_registry() -> None:
    """No class is compiled."""


class _InferredType:
    """What _jit_try_infer_type found: a type, or why there is none."""

    def __init__(self, found: object, reason: str = "") -> None:
        self._found, self._reason = found, reason

    def success(self) -> bool:
        return self._found is not None

    def type(self) -> object:
        if self._found is None:
            raise RuntimeError(
                "Tried to get the type from an InferredType but the type is null. Reason: " + self._reason
            )
        return self._found

    def reason(self) -> str:
        return self._reason


def _jit_try_infer_type(value: object) -> _InferredType:
    """The type of a value in the language of schemas, if it has one."""
    from .function_schema import inferred

    try:
        return _InferredType(inferred(value))
    except TypeError as e:
        return _InferredType(None, str(e))
