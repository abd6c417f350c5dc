"""torch.compiler: code runs as it is written."""

import contextlib

_STANCES = frozenset(
    "default eager_then_compile aot_eager_then_compile force_eager eager_on_recompile fail_on_recompile".split()
)


def is_compiling():
    return False


def is_dynamo_compiling():
    return False


def is_exporting():
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself."""
    return fn if fn is not None else lambda f: f


def allow_in_graph(fn):
    return fn


def assume_constant_result(fn):
    return fn


def reset():
    """Nothing is cached."""


def cudagraph_mark_step_begin():
    """No graphs here."""


class set_stance(contextlib.ContextDecorator):
    """How torch.compile acts: a call, a context or a decorator. Here it always gives the function as it is."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError("invalid torch.compile stance 'DynamoStance(stance=%r, backend=None)'" % (stance,))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def list_backends(exclude_tags=()):
    return ["eager"]


from ._core import absent as _absent

__getattr__ = _absent.of(__name__)
