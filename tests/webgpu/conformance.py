"""PyTorch's recorded answers with every tensor on webgpu, and how that differs from the CPU.

    python tests/webgpu/conformance.py [--where host|node|chromium|firefox] [--groups a,b] [--only REGEX] [--dtypes
    float32,..]
                                       [--every N] [--max-samples N] [--seconds S] [--fresh] [--no-cpu] [--out FILE]
                                       [--verbose]

host: this Python, the device in a node process; node: Pyodide on node with Dawn; the browsers: Pyodide in a page.
A run without --groups, --only or --every keeps a journal in .out and goes on where the last one stopped (--seconds ends
it early, --fresh starts anew).
Software GPUs are slow: a whole run takes long. --every 10 takes each tenth op of the list, of all families.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
import tempfile
import time
import zipfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT), str(HERE.parent / "pyodide"), str(HERE.parent / "browser")]
import dawn
import dist as distribution
from dist import NO_FIXTURES, fixtures
from known_answers import KNOWN

OUT = ROOT / ".out"
CHECKS = ("bwd", "inplace", "out", "view", "errors", "variants")
CHUNK = 60  # seconds of one call into a browser

IN_PYODIDE = """
import json, sys
sys.path[:0] = ["/conformance", "/project/tests/webgpu"]
import torchlite, run_conformance, on_device
if not await torchlite.webgpu.ready():
    raise SystemExit(torchlite.webgpu.why_not())
with open("/result/result.json", "w") as f:
    json.dump(on_device.run(run_conformance, "/conformance/fixtures/open", **json.loads(argv[0])), f)
0
"""

IN_PAGE = """
import sys, json
sys.path[:0] = ["/conformance"]
import torchlite, on_device, importlib
if not await torchlite.webgpu.ready():
    raise RuntimeError(torchlite.webgpu.why_not())
sys.modules.pop("run_conformance", None)
import run_conformance
json.dumps(on_device.run(run_conformance, "/conformance/open", journal="/conformance/journal", **json.loads(OPTIONS)))
"""


def each(n: int, only: str | None, groups: list[str] | None) -> str:
    """A pattern for every n-th of the ops that these options name."""
    names = []
    for path in sorted((fixtures() / "fixtures" / "open").glob("*.zip")):  # type: ignore[operator]
        if not groups or path.stem in groups:
            with zipfile.ZipFile(path) as z:
                ops = json.loads(z.read("index.json"))["ops"]
            names += [e["name"] for e in ops if e["tier"] == "public" and re.search(only or "", e["name"])]
    return "^(%s)$" % "|".join(map(re.escape, names[::n]))


def on_host(options: dict[str, Any]) -> dict[str, Any]:
    import on_device
    import remote
    import run_conformance  # type: ignore[import-not-found]

    remote.install()
    return on_device.run(run_conformance, str(fixtures() / "fixtures" / "open"), **options)  # type: ignore[operator]


def on_node(options: dict[str, Any], target: str) -> dict[str, Any]:
    import run_node

    with tempfile.TemporaryDirectory() as tmp:
        mounts = {"/conformance": str(fixtures()), "/result": tmp}
        if options.get("journal"):
            journal = pathlib.Path(options["journal"])
            mounts["/journal"], options = str(journal.parent), {**options, "journal": "/journal/" + journal.name}
        done = run_node.run(IN_PYODIDE, [json.dumps(options)], target=target, mounts=mounts, webgpu=True)
        result = pathlib.Path(tmp, "result.json")
        if done.returncode or not result.exists():
            raise SystemExit(
                f"the run inside Pyodide ended with status {done.returncode}; run again to go on behind that op"
            )
        return json.loads(result.read_text())  # type: ignore[no-any-return]


def in_browser(browser: str, options: dict[str, Any], target: str) -> dict[str, Any]:
    import firefox
    import pages

    d = distribution.prepare(target)
    answers = fixtures()
    assert answers
    groups = options.get("groups")
    names = [p.name for p in sorted((answers / "fixtures" / "open").glob("*.zip")) if not groups or p.stem in groups]
    files = {
        "/conformance/run_conformance.py": "/shared/run_conformance.py",
        "/conformance/on_device.py": "/webgpu/on_device.py",
        **{f"/conformance/open/{n}": f"/shared/fixtures/open/{n}" for n in names},
    }
    journal, seconds = options.pop("journal", None), options.pop("seconds", 0)
    kept = pathlib.Path(journal).read_text() if journal and pathlib.Path(journal).exists() else ""
    end = time.monotonic() + seconds if seconds else float("inf")
    with pages.serve({"/dist/": d, "/shared/": answers, "/webgpu/": HERE}, {"/empty.html": pages.EMPTY}) as base:
        driver = pages.chromium() if browser == "chromium" else firefox.FirefoxBiDi()
        try:
            driver.get(base + "/empty.html")
            pages.run_async(
                driver,
                f"""
                const {{loadPyodide}} = await import('{base}/dist/pyodide.mjs');
                const pyodide = globalThis.pyodide = await loadPyodide({{indexURL: '{base}/dist/'}});
                await pyodide.loadPackage('{base}/dist/torchlite/{distribution.wheel(target, d).name}');
                pyodide.FS.mkdirTree('/conformance/open');
                for (const [to, from] of Object.entries({json.dumps(files)}))
                    pyodide.FS.writeFile(to, new Uint8Array(await (await fetch('{base}' + from)).arrayBuffer()));
                pyodide.FS.writeFile('/conformance/journal', {json.dumps(kept)});""",
            )
            while True:
                text = json.dumps({**options, "seconds": CHUNK})
                result = json.loads(pages.python(driver, f"OPTIONS = {text!r}\n{IN_PAGE}"))
                if journal:
                    pathlib.Path(journal).write_text(pages.python(driver, "open('/conformance/journal').read()"))
                if result["done"] or time.monotonic() > end:
                    return result  # type: ignore[no-any-return]
        finally:
            driver.quit()


def on_cpu(options: dict[str, Any]) -> dict[str, Any]:
    """The same on this Python's CPU, in a process of its own: the runner is changed in this one."""
    import subprocess

    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import run_conformance as R; "
        "options = json.loads(sys.argv[2]); print(json.dumps(R.run('torchlite', sys.argv[3], "
        "tiers={'public'}, **options)))"
    )
    args = [
        json.dumps([str(ROOT), str(fixtures())]),
        json.dumps({k: v for k, v in options.items() if k not in ("journal", "seconds")}),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *args, str(fixtures() / "fixtures" / "open")],  # type: ignore[operator]
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def reason(r: dict[str, Any], kinds: tuple[str, ...] = ("fwd",)) -> str:
    notes = [n for n in r.get("notes", []) if n.split(" #")[0].split(" ")[0] in kinds] or r.get("notes", [])
    return str(notes[0]) if notes else ""


def report(result: dict[str, Any], cpu: dict[str, Any] | None, verbose: bool) -> list[str]:
    """Prints where the device falls behind; returns the lines of ops that pass on the CPU and not on the device,
    or that have a wrong value or gradient."""
    per, lines = result["per_op"], []
    for name, r in per.items():
        c = cpu["per_op"].get(name) if cpu else None
        if r["status"] not in ("pass", "errors-only", "empty") and (c is None or c["status"] == "pass"):
            lines.append(f"{name}: {r['status']} {r['counts'].get('fwd', [0, 0])}: {reason(r)}")
        elif r.get("wrong") and (name, "bwd") not in KNOWN:
            lines.append(f"{name}: wrong: {'; '.join(r['wrong'])}: {reason(r, ('bwd',))}")
    print("\n".join(lines))
    if verbose and cpu:
        for name, r in per.items():
            for kind, (good, total) in sorted(r["counts"].items()):
                was = cpu["per_op"].get(name, {}).get("counts", {}).get(kind)
                if kind in CHECKS and was and total - good > was[1] - was[0]:
                    print(f"  {name} {kind}: {good} of {total}, on the CPU {was[0]}: {reason(r, (kind,))}")
    falls: dict[str, int] = {}
    for r in per.values():
        for op, n in r.get("fallbacks", {}).items():
            falls[op] = falls.get(op, 0) + n
    if falls:
        most = sorted(falls.items(), key=lambda x: -x[1])
        print(
            f"{len(falls)} ops were run by the CPU: "
            + ", ".join(f"{k} {n}" for k, n in most[: None if verbose else 40])
        )
    samples = ", ".join(
        f"{k} {v['pass']}/{v['total']}"
        for k, v in result["samples"].items()
        if k in ("fwd", "bwd", "inplace", "out", "view", "errors")
    )
    empty = sum(r["status"] in ("empty", "errors-only") for r in per.values())
    left = sum(r.get("not_on_device", 0) for r in per.values())
    none = sum(not r.get("fallbacks") for r in per.values() if r["status"] == "pass")
    print(
        f"webgpu ({result['device']}): {result['ops_all_forward_pass']} of {result['ops']} ops pass, "
        f"{none} of them without the CPU; {samples}; {left} samples left out (dtypes that the device has not; "
        f"nothing is left of {empty} ops); {result['seconds']} "
        f"s{'' if result.get('done', True) else '; stopped, run again to go on'}"
    )
    counts: dict[str, dict[str, int]] = {}
    for name, r in per.items():
        for what, found in r.get("outcomes", {}).items():
            for outcome, n in found.items():
                counts.setdefault(what, {})[outcome] = counts.get(what, {}).get(outcome, 0) + n
        was = cpu["per_op"].get(name, {}).get("status") if cpu else None
        if r.get("wrong"):
            print(
                f"  wrong on webgpu: {name} {'; '.join(r['wrong'])} ({was} on the CPU): {'; '.join(r.get('notes', []))}"
            )
    for what, c in sorted(counts.items()):
        print(f"  {what}: {', '.join(f'{c.get(k, 0)} {k}' for k in ('passed', 'refused', 'wrong'))}")
    if cpu:
        print(
            f"cpu: {cpu['ops_all_forward_pass']} of {cpu['ops']} ops pass; by dtype on webgpu: "
            + ", ".join(f"{k} {v['pass']}/{v['total']}" for k, v in result["by_dtype"].items())
        )
    return lines


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--where", default="host", choices=["host", "node", "chromium", "firefox"])
    p.add_argument("--target", default="314", choices=["314", "029"])
    p.add_argument("--groups")
    p.add_argument("--only")
    p.add_argument("--dtypes")
    p.add_argument("--every", type=int, default=1, metavar="N", help="each N-th op only")
    p.add_argument("--max-samples", type=int, default=0)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--no-cpu", action="store_true", help="without the comparison with the CPU")
    p.add_argument(
        "--no-default-device",
        action="store_true",
        help="does not make webgpu the default device: factory functions stay on the CPU",
    )
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--out", type=pathlib.Path)
    a = p.parse_args(argv)
    if fixtures() is None:
        print(NO_FIXTURES)
        return 0
    sys.path.insert(0, str(fixtures()))
    if a.every > 1:
        a.only = each(a.every, a.only, a.groups.split(",") if a.groups else None)
    options: dict[str, Any] = {
        "only": a.only,
        "groups": a.groups.split(",") if a.groups else None,
        "max_samples": a.max_samples,
        "dtypes": a.dtypes.split(",") if a.dtypes else None,
    }
    plain = dict(options)
    options["default"] = not a.no_default_device
    if a.seconds:
        options["seconds"] = a.seconds
    if not (a.only or a.groups):
        journal = OUT / f"webgpu-{a.where}-{a.dtypes or 'all'}-{a.max_samples}.jsonl"
        OUT.mkdir(exist_ok=True)
        if a.fresh:
            journal.unlink(missing_ok=True)
        options["journal"] = str(journal)
    try:
        if a.where == "host":
            result = on_host(options)
        else:
            result = on_node(options, a.target) if a.where == "node" else in_browser(a.where, options, a.target)
    except dawn.runtime.Missing as e:
        print(f"conformance on webgpu: {e}", file=sys.stderr)
        return 3
    result["where"] = a.where
    if a.out:
        a.out.write_text(json.dumps(result))
    lines = report(result, None if a.no_cpu else on_cpu(plain), a.verbose)
    good = sum(r["status"] == "pass" for r in result["per_op"].values())
    print(f"{good} passed, {len(lines)} failed, 0 skipped (failed: wrong, or passes only on the CPU)")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
