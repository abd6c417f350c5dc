"""What a call of the JavaScript API costs over the same call in Python, in node and in Chromium's window.

    python tests/bench/javascript.py [--browser]

Makes the npm package first (wheels/npm.py).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("wheels", "tests/browser", "tests/pyodide")]
import dist
import npm
import pages
import runtime

IN_NODE = """
const { load } = await import(process.argv[1]);
const { costs } = await import(process.argv[2]);
console.log(JSON.stringify(await costs(await load({ indexURL: process.argv[3] }))));
"""
IN_PAGE = """
const { load } = await import("/npm/index.js");
const { costs } = await import("/tests/cost.mjs");
return await costs(await load({ indexURL: "/dist/" }));
"""


def in_node(package: pathlib.Path) -> list[list]:
    files = [package / "index.js", ROOT / "tests" / "npm" / "cost.mjs", runtime.pyodide("pyodide-314")]
    command = [runtime.node(), "--input-type=module", "-e", IN_NODE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=runtime.environment())
    return json.loads(done.stdout)


def in_page(package: pathlib.Path) -> list[list]:
    roots = {"/dist/": dist.prepare("314"), "/npm/": package, "/tests/": ROOT / "tests" / "npm"}
    driver = pages.chromium()
    try:
        with pages.serve(roots, {"/empty.html": pages.EMPTY}) as base:
            driver.get(f"{base}/empty.html")
            return pages.run_async(driver, IN_PAGE)
    finally:
        driver.quit()


def show(title: str, rows: list[list]) -> None:
    print(f"{title:30}  JavaScript   Python  more (us)")
    for name, here, python in rows:
        print(f"{name:30} {here:10.2f} {python:9.2f} {here - python:6.2f}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--browser", action="store_true", help="in Chromium's window as well")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = npm.make(pathlib.Path(folder))
        show("node", in_node(package))
        if a.browser:
            show("Chromium, window", in_page(package))


if __name__ == "__main__":
    main()
