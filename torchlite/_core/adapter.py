"""What `import torch` does for WebGPU in a page: it asks whether there is a GPU, and goes on.
Nothing is loaded or opened."""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


answer = None  # True or False once the browser has said
problem = "this browser or runtime has no WebGPU"


def _is(adapter: Any) -> None:
    global answer, problem
    answer = hasattr(adapter, "requestDevice")  # null otherwise, which has several forms in Python
    problem = "WebGPU is there, but it offers no adapter (no usable GPU, or it is blocked)"


def ask() -> Any:
    global answer, problem
    import js

    gpu = getattr(getattr(js, "navigator", None), "gpu", None)
    if gpu is not None and hasattr(gpu, "requestAdapter"):
        gpu.requestAdapter().then(_is, _is)
        return
    answer = False
    if getattr(js, "isSecureContext", True) is False:
        problem = "browsers have WebGPU on secure pages only (https, or localhost)"
