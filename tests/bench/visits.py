"""Seconds until Python is ready in a demo page, on a first visit, the next one, and one after that: Python's start, the
wheel, `import torch`. The files come from this machine, so the network costs nothing.

    python demos/build.py
    python tests/bench/visits.py [--page digits] [--browser chromium] [--times 3]

Each time has a fresh profile; between two visits of a profile the page is left alone, as by somebody who reads it.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "demos")]

import page_driver
import serve

Row = TypeVar("Row")
LEFT_ALONE = 16.0  # seconds
READY = "globalThis.demo?.engine.about ?? null"


def visits(browser: str, address: str, n: int, look: Callable[[Any, float], Row]) -> list[Row]:
    """What look(page, when it was opened) gives at each of n visits of a fresh profile."""
    found = []
    page = page_driver.open_browser(browser)
    try:
        for _ in range(n):
            opened = time.time()
            page.open(address)
            found.append(look(page, opened))
            time.sleep(LEFT_ALONE)
            page.open("about:blank")
    finally:
        page.quit()
    return found


def ready(page: Any, opened: float) -> tuple[float, bool]:
    about = page.wait(READY, 120)
    return about["seconds"], about["copied"]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--page", default="digits")
    p.add_argument("--browser", default="chromium", choices=["chromium", "firefox"])
    p.add_argument("--times", type=int, default=3)
    a = p.parse_args()
    server = serve.make_server(quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://localhost:{server.server_port}/{a.page}/"
    rows = [visits(a.browser, address, 3, ready) for _ in range(a.times)]
    for at, name in enumerate(("first", "second", "third")):
        seconds = [row[at][0] for row in rows]
        note = ", from a copy of Python's memory" if all(row[at][1] for row in rows) else ""
        print(f"{name:8}{statistics.median(seconds):6.2f} s, {min(seconds):.2f} to {max(seconds):.2f}{note}")
    ratios = [row[1][0] / row[0][0] for row in rows]
    print(f"second / first: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
