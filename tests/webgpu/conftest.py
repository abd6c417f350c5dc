"""Tests of the webgpu device on desktop CPython: they skip where node, the bridge's packages or a Vulkan driver are missing."""

from __future__ import annotations

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [p for p in (str(HERE), str(HERE.parent.parent)) if p not in sys.path]
import dawn  # noqa: E402
import remote  # noqa: E402


@pytest.fixture(scope="session")
def bridge():
    """The webgpu device of this process."""
    try:
        return remote.install()
    except dawn.runtime.Missing as e:
        pytest.skip(str(e))
