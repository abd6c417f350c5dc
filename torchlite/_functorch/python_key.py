"""make_fx and its parts, where functorch had them."""

from ..fx.experimental.proxy_tensor import PythonKeyTracer, decompose, dispatch_trace, make_fx

__all__ = ["PythonKeyTracer", "dispatch_trace", "make_fx", "pythonkey_decompose"]

pythonkey_decompose = decompose
