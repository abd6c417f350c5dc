"""PyTorch's recorded answers against torchlite inside Pyodide on node, and how that differs from the host.

    python tests/pyodide/conformance.py [--target 314|029] [--groups a,b] [--only REGEX] [--max-samples N] [--host]
    [--compare]

The fixtures and their runner lie outside the project, in the folder conformance of TORCHLITE_SHARED (default:
../shared).
--host runs on this Python; --compare runs both: it fails where the host gives another answer than PyTorch that KNOWN
does not name, and where Pyodide fails at more answers than the host.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_node
from dist import NO_FIXTURES, ROOT, fixtures, runtime
from known_answers import KNOWN

CODE = """
import json, sys
sys.path.insert(0, "/conformance")
import run_conformance as R
from torchlite._core import native
options = json.loads(argv[0])
result = R.run("torchlite", "/conformance/fixtures/open", tiers={"public"}, **options)
result["native"] = native.variant
with open("/result/result.json", "w") as f:
    json.dump(result, f)
0
"""


def in_pyodide(options: dict[str, Any], target: str = "314", env: dict[str, str] | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as tmp:
        done = run_node.run(
            CODE,
            [json.dumps(options)],
            target=target,
            env=env,
            mounts={"/conformance": str(fixtures()), "/result": tmp},
        )
        result = pathlib.Path(tmp, "result.json")
        if done.returncode or not result.exists():
            raise SystemExit(f"the run inside Pyodide ended with status {done.returncode}")
        return json.loads(result.read_text())  # type: ignore[no-any-return]


def on_host(options: dict[str, Any]) -> dict[str, Any]:
    folder = fixtures()
    assert folder
    sys.path[:0] = [str(ROOT), str(folder)]
    import run_conformance  # type: ignore[import-not-found]

    fixtures_open = str(folder / "fixtures" / "open")
    found: dict[str, Any] = run_conformance.run("torchlite", fixtures_open, tiers={"public"}, **options)
    return found


def line(where: str, r: dict[str, Any]) -> str:
    samples = ", ".join(
        f"{k} {v['pct']}%" for k, v in r["samples"].items() if k in ("fwd", "bwd", "inplace", "out", "view", "errors")
    )
    return (
        f"conformance, {where}: {r['ops_all_forward_pass']} of {r['ops']} ops pass all forward samples "
        f"({r['ops_all_forward_pass_pct']}%), samples: {samples}; {r['seconds']} s"
    )


def differing(result: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Op and check -> how many of its answers are not PyTorch's."""
    return {
        (name, check): total - good
        for name, r in result["per_op"].items()
        for check, (good, total) in r["counts"].items()
        if good != total and check != "rng_exact"
    }


def worse(host: dict[str, Any], wasm: dict[str, Any]) -> list[str]:
    """What fails on the host and is not known, and what fails more often in Pyodide, with the first reason."""
    out = []
    there, here = differing(wasm), differing(host)
    for (name, check), n in here.items():
        if n > KNOWN.get((name, check), (0, ""))[0]:
            notes = "; ".join(map(str, host["per_op"][name].get("notes", [])[:1]))
            out.append(f"{name}: {check} on the host: {n} answers differ: {notes}")
    for (name, check), n in there.items():
        if n > here.get((name, check), 0):
            notes = "; ".join(map(str, wasm["per_op"][name].get("notes", [])[:1]))
            out.append(
                f"{name}: {check} in Pyodide: {n} answers differ, {here.get((name, check), 0)} on the host: {notes}"
            )
    for name, r in wasm["per_op"].items():
        if host["per_op"].get(name, {}).get("status") == "pass" and r["status"] != "pass":
            out.append(f"{name}: {r['status']}: {'; '.join(map(str, r.get('notes', [])[:1]))}")
    return out


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="314", choices=["314", "029"])
    p.add_argument("--groups")
    p.add_argument("--only")
    p.add_argument("--max-samples", type=int, default=0)
    p.add_argument("--host", action="store_true")
    p.add_argument("--compare", action="store_true")
    p.add_argument("--native", help="TORCHLITE_NATIVE for the run: simd128 or relaxed")
    p.add_argument("--out", type=pathlib.Path)
    a = p.parse_args(argv)
    if fixtures() is None:
        print(NO_FIXTURES)
        return 0
    options: dict[str, Any] = {"only": a.only, "groups": a.groups.split(",") if a.groups else None}
    if a.max_samples:
        options["max_samples"] = a.max_samples
    try:
        if a.host:
            result = on_host(options)
            print(line("host", result))
        else:
            result = in_pyodide(options, a.target, {"TORCHLITE_NATIVE": a.native} if a.native else None)
            print(line(f"Pyodide {a.target}, {result['native']}", result))
        if a.out:
            a.out.write_text(json.dumps(result))
        if a.compare:
            host = on_host(options)
            print(line("host", host))
            bad = worse(host, result)
            good = sum(r["status"] == "pass" for r in result["per_op"].values())
            print("\n".join(bad))
            print(f"{good} passed, {len(bad)} failed, 0 skipped (failed: not PyTorch's answer, or only on the host)")
            return 1 if bad else 0
    except runtime.Missing as e:
        print(f"conformance: {e}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
