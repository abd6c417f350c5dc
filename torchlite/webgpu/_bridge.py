"""The WebGPU runtime (js_bridge) as Python reaches it. `current` is the bridge in use; `require()` gives it or says why there is none.

Two classes have its interface: PageBridge for Pyodide, and one over a node process for tests on the desktop.
"""

CLOSED, READY, LOST = 0, 1, 2

current = None


class Unsupported(RuntimeError):
    """There is no kernel for these parameters."""


class DeviceLostError(RuntimeError):
    """The GPU device is gone, with all tensors on it; torch.webgpu.reset() starts a new one."""

    __module__ = "torch.webgpu"


def error(name, message):
    """The Python exception for an error of the bridge."""
    if name == "OutOfMemoryError":
        from torchlite import OutOfMemoryError
        return OutOfMemoryError(message)
    return {"DeviceLostError": DeviceLostError, "UnsupportedError": Unsupported}.get(name, RuntimeError)(message)


def figures(stats):
    """The bridge's figures by Python's kind of names, as integers."""
    return {"".join("_" + c.lower() if c.isupper() else c for c in name): int(n) for name, n in stats.items()}


def require():
    """The bridge; RuntimeError where there is none."""
    if current is None:
        raise RuntimeError("device webgpu is not available; use device='cpu'")
    return current
