"""annotate: gives the node of a traced value a type."""

from ._compatibility import compatibility
from .proxy import Proxy

__all__ = ["annotate"]


@compatibility(is_backward_compatible=False)
def annotate(val, type):
    """The value itself; the node of a Proxy takes the type."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                "Tried to annotate a value that already had a type on it! Existing type is %s and new type is %s. "
                "This could happen if you tried to annotate a function parameter value (in which case you should use "
                "the type slot on the function signature) or you called annotate on the same value twice"
                % (val.node.type, type)
            )
        val.node.type = type
    return val
