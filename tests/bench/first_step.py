"""Seconds from opening the landing page to the first line that its training prints (100 steps), and where they go: on a
first visit, the next one, and one after that. Run is pressed as soon as it can be. The files come from this machine, so
the network costs nothing; their megabytes are told apart.

    python demos/build.py
    python tests/bench/first_step.py [--browser chromium] [--times 3]

Ours are torchlite's wheel ("install"), `import torch` and the steps; Python is Pyodide's download, compilation and
start. Each time has a fresh profile; between two visits of a profile the page is left alone.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import threading
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "demos")]

import serve
import visits

PARTS = ("page", "Python", "install", "import", "steps")
# Asked again and again: a first visit loads the page twice, and the second page presses Run by itself.
LOOK = """(() => {
  if (!globalThis.demo) return null;
  const mark = (name) => (marks[name] ??= Date.now() / 1000);
  if (!globalThis.marks) {
    globalThis.marks = {};
    demo.engine.addEventListener("progress", ({ detail }) => {
      if (detail.stage === "install") mark("Python");
      if (detail.stage === "import") mark("install");
    });
    demo.engine.addEventListener("state", () => demo.engine.state === "ready" && mark("import"));
    demo.engine.addEventListener("output", () => mark("steps"));
  }
  const button = document.getElementById("run");
  if (!sessionStorage.pressed && !button.disabled) {
    sessionStorage.pressed = "yes";
    button.click();
  }
  if (demo.engine.state !== "off") mark("page");
  return marks.steps ? marks : null;
})()"""


def steps(page: Any, opened: float) -> dict[str, float]:
    """The seconds of each part, and 1 under "copied" where Python came from a copy of its memory."""
    marks = page.wait(LOOK, 120, every=0.01)
    at = [opened, *(marks[part] for part in PARTS)]
    page.eval("sessionStorage.removeItem('pressed')")
    row = {part: after - before for part, before, after in zip(PARTS, at, at[1:], strict=False)}
    return row | {"copied": float(page.eval("demo.engine.about.copied"))}


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--browser", default="chromium", choices=["chromium", "firefox"])
    p.add_argument("--times", type=int, default=3)
    a = p.parse_args()
    server = serve.make_server(quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows = [visits.visits(a.browser, f"http://localhost:{server.server_port}/", 3, steps) for _ in range(a.times)]
    print(f"{'':8}" + "".join(f"{part:>9}" for part in (*PARTS, "all", "ours")))
    for at, name in enumerate(("first", "second", "third")):
        cells = [statistics.median(row[at][part] for row in rows) for part in PARTS]
        copied = all(row[at]["copied"] for row in rows)
        note = "  Python from a copy of its memory" if copied else ""
        print(f"{name:8}" + "".join(f"{cell:9.2f}" for cell in (*cells, sum(cells), sum(cells[2:]))) + note)
    sizes = json.loads((ROOT / "demos" / "_site" / "files.json").read_text())["sizes"]
    wheel = sum(size for path, size in sizes.items() if "torchlite" in path)
    print(f"downloads of the first visit: {sum(sizes.values()) / 1e6:.1f} MB, of which torchlite {wheel / 1e6:.1f}")


if __name__ == "__main__":
    main()
