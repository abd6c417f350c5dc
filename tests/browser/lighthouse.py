"""Lighthouse on pages of the demo site: performance on a simulated phone, accessibility, best practices.

    python tests/browser/lighthouse.py [--least 95] [page ...]      e.g. gpt/index.html

Needs Chromium and the built site (make demo); npm installs Lighthouse into .cache/lighthouse. By hand, not in CI: the
figures of performance depend on the machine, so a page that has less than --least is measured up to three times, and
the last counts. Reports: .out/lighthouse. Ends with 1 if a page has less at last.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "wheels"), str(ROOT / "demos")]
import runtime
import serve

VERSION = "13.5.0"
FOLDER = ROOT / ".cache" / "lighthouse"
OUT = ROOT / ".out" / "lighthouse"
PAGES = ["index.html", "playground/index.html", "docs/index.html"]
KINDS = ["performance", "accessibility", "best-practices"]


def install() -> pathlib.Path:
    package = FOLDER / "node_modules" / "lighthouse"
    if not package.exists() or json.loads((package / "package.json").read_text())["version"] != VERSION:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "package.json").write_text('{"private": true}')
        command = [
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            f"lighthouse@{VERSION}",
        ]
        subprocess.run(command, cwd=FOLDER, check=True)
    return package / "cli" / "index.js"


def measure(program: pathlib.Path, base: str, page: str) -> dict:
    report = OUT / f"{page.replace('/', '-')}.json"
    chrome = "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage"
    # without the reload of a first visit (demos/shared/offline.js), in whose middle Lighthouse would look
    address = f"{base}/{page}?isolate=0"
    command = [runtime.node(), str(program), address, "--quiet", "--output=json", f"--output-path={report}"]
    env = os.environ | {"CHROME_PATH": shutil.which("chromium") or ""}
    subprocess.run([*command, f"--only-categories={','.join(KINDS)}", chrome], env=env, check=True)
    return json.loads(report.read_text())


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--least", type=int, default=95)
    options.add_argument("pages", nargs="*", default=PAGES)
    options = options.parse_args()
    program = install()
    OUT.mkdir(parents=True, exist_ok=True)
    server = serve.make_server(quiet=True, keep_alive=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    poor = False
    for page in options.pages:
        for _ in range(3):
            report = measure(program, f"http://localhost:{server.server_port}", page)
            scores = {kind: round(100 * (report["categories"][kind]["score"] or 0)) for kind in KINDS}
            if min(scores.values()) >= options.least:
                break
        print(f"{page}: " + ", ".join(f"{kind} {score}" for kind, score in scores.items()), flush=True)
        for kind in KINDS:
            for entry in report["categories"][kind]["auditRefs"]:
                audit = report["audits"][entry["id"]]
                if entry["weight"] and (audit["score"] if audit["score"] is not None else 1) < 0.9:
                    print(f"    {kind}: {audit['title']} {audit.get('displayValue', '')}")
        poor |= min(scores.values()) < options.least
    server.shutdown()
    return int(poor)


if __name__ == "__main__":
    sys.exit(main())
