"""torch.compiler: code runs as it is written."""


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


def list_backends(exclude_tags=()):
    return ["eager"]


from ._core import absent as _absent  # noqa: E402

__getattr__ = _absent.of(__name__)
