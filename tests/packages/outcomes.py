"""A pytest plugin: a line `OUTCOME test` for each test into the file OWN_TESTS_OUT, as soon as the test has ended.

A line `start test` comes before it, so that a test in which the process ended is known. Tests that the file names
already are left out, so that the next process goes on behind that one.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
from typing import Any

import pytest

OUT = pathlib.Path(os.environ["OWN_TESTS_OUT"])
random.seed(0)  # some tests are named after what they draw while they are collected
LIMIT = 120  # seconds a test; what takes longer counts as failed


def pytest_collection_modifyitems(items: list[Any]) -> None:
    known = {line.partition(" ")[2].rstrip("\n") for line in OUT.open(encoding="utf-8")} if OUT.exists() else set()
    items[:] = [item for item in items if name(item) not in known]


def name(item: Any) -> str:
    return str(item.nodeid).replace("\n", " ")


def write(outcome: str, item: Any) -> None:
    with OUT.open("a", encoding="utf-8") as file:
        file.write(f"{outcome} {name(item)}\n")


def too_long(*_: object) -> None:
    raise TimeoutError(f"longer than {LIMIT} s")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Any:
    import torch

    torch.manual_seed(0)
    write("start", item)
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = (yield).get_result()
    if report.when == "call" or report.outcome != "passed":
        write("xfailed" if hasattr(report, "wasxfail") else report.outcome, item)
