"""Tests of the webgpu device: on desktop CPython over a node process, and inside Pyodide (run_node.py --webgpu)
on the page's own.
They skip where node, the bridge's packages or a Vulkan driver are missing."""

from __future__ import annotations

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PYODIDE = sys.platform == "emscripten"
if not PYODIDE:
    sys.path.insert(1, str(HERE.parent.parent))
collect_ignore = ["test_bridge.py", "test_faults.py"] if PYODIDE else []  # about the node process, and with its help


@pytest.fixture(scope="session")
def bridge():
    """The webgpu device of this process."""
    if PYODIDE:
        import torchlite as torch
        from torchlite.webgpu.transport import bridge as _bridge

        if not torch.webgpu.is_available():
            pytest.skip(torch.webgpu.why_not())
        return _bridge.current
    import dawn
    import remote

    try:
        return remote.install()
    except dawn.runtime.Missing as e:
        pytest.skip(str(e))


@pytest.fixture
def on_the_gpu(request):
    """No op of the test falls back to the CPU, except for those in its file's ON_THE_CPU."""
    from torchlite.webgpu import fallback

    before = dict(fallback.fallbacks)
    yield
    assert {k for k, n in fallback.fallbacks.items() if n != before.get(k)} <= getattr(
        request.module, "ON_THE_CPU", set()
    )
