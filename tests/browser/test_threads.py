"""Threads for large products in real pages: in a window and in a worker, with and without isolation, and under a policy
that forbids workers. The policies here forbid eval."""

from __future__ import annotations

import os

import pytest
from policies import BLOB, STRICT

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="once is enough"),
]

SETUP = """
import asyncio, torch
from torchlite import _C
from torchlite._core import page_threads
a = torch.arange(420 * 420.0).view(420, 420) / 1e5
def product(n):
    before = torch.get_num_threads()
    _C.set_threads(n)
    try:
        return a @ a
    finally:
        _C.set_threads(before)
want = product(1)
def taken():
    "whether workers took parts of some product, all of which were right"
    parts = 0
    for _ in range(300):
        assert torch.equal(product(2), want)
        parts |= page_threads._pool.debug.exports.results()
    return parts > 0
"""
USED = SETUP + "torch.set_num_threads(2); product(2); [page_threads._pool.workers(), taken()]"
# entered synchronously, Python does not wait for the workers: they are there when it comes again
ASKED = SETUP + "torch.set_num_threads(2); right = torch.equal(product(2), want); [page_threads._pool is None, right]"
LATER = "for _ in range(400):\n    if page_threads._pool is None: await asyncio.sleep(0.01)\n" + "taken()"
ONE = SETUP + "default = torch.get_num_threads(); torch.set_num_threads(2); right = torch.equal(product(2), want)\n"


@pytest.mark.parametrize("where", ["window", "worker"])
def test_isolated(policy, where):
    before = "" if where == "window" else "globalThis.torchlite_import = (url) => import(url);"
    assert policy(where, BLOB, [("async", USED)], before, isolated=True) == [[1, True]]


@pytest.mark.slow
def test_entered_synchronously(policy):
    assert policy("window", BLOB, [("sync", ASKED), ("async", LATER)], isolated=True) == [[True, True], True]


@pytest.mark.slow
def test_no_shared_memory(policy):
    assert policy("window", BLOB, [("async", ONE + "[default, right, page_threads._task is None]")]) == [
        [1, True, True]
    ]


@pytest.mark.slow
def test_no_workers(policy):
    code = ONE + "[right, page_threads._pool is None, bool(page_threads.problem)]"
    assert policy("window", STRICT, [("async", code)], isolated=True) == [[True, True, True]]
