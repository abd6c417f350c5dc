"""Third-party packages on torchlite and on PyTorch: the same cases, their values compared.

    .venv/bin/python tests/packages/run.py [--write] [--cache FOLDER] [PACKAGE ...]

PACKAGE is a file of `cases`; without one, all. The first run installs the packages into FOLDER (.cache/packages), some
2 GB and five minutes; `--write` writes what came out to demos/docs/packages.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = ROOT / "demos" / "docs" / "packages.md"
TORCH = "2.13.0"
STUB = f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n"  # for pip and for importlib.metadata


def site(folder: pathlib.Path) -> pathlib.Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def install(folder: pathlib.Path) -> None:
    """An environment in which `import torch` is this tree; nothing in it is PyTorch's."""
    if (folder / "done").exists():
        return
    venv.create(folder, with_pip=True)
    info = site(folder) / f"torch-{TORCH}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(STUB)
    (info / "INSTALLER").write_text("pip")
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
    (site(folder) / "torchlite.pth").write_text(f"{ROOT}\nimport torchlite; torchlite.install_as_torch()\n")
    (folder / "constraints.txt").write_text(f"torch=={TORCH}\n")
    pip = [str(folder / "bin" / "pip"), "install", "-q", "-c", str(folder / "constraints.txt")]
    for line in (HERE / "requirements.txt").read_text().splitlines():  # one by one: one may fail
        if line and not line.startswith("#"):
            subprocess.run([*pip, *line.split()], check=False)
    (folder / "done").touch()


def results(python: str, package: str, env: dict[str, str]) -> dict[str, dict]:
    command = [python, str(HERE / "worker.py"), package]
    out = subprocess.run(command, env={**os.environ, **env}, cwd="/", capture_output=True, text=True, timeout=600)
    lines = [json.loads(line[5:]) for line in out.stdout.splitlines() if line.startswith("CASE ")]
    return {line["case"]: line for line in lines} or {"all": {"error": out.stderr[-300:]}}


def same(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=2e-3, abs_tol=2e-4) or (math.isnan(a) and math.isnan(b))
    return a == b


def verdict(lite: dict | None, real: dict) -> str:
    if "error" in real:
        return "PyTorch itself fails here: " + real["error"][:80]
    if lite is None or "error" in lite:
        return "stops: " + (lite or {}).get("error", "the process ended")[:110]
    return "same" if same(lite["value"], real["value"]) else "other values"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / ".cache" / "packages")
    parser.add_argument("packages", nargs="*")
    args = parser.parse_args()
    folder = args.cache.resolve()
    install(folder)
    files = sorted(p.stem for p in (HERE / "cases").glob("[a-z]*.py"))
    real = folder / "real"  # PyTorch of this environment, in front of the other packages
    real.mkdir(exist_ok=True)
    for found in pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/torch*"):
        if found.name == "torch" or found.name.startswith("torch-"):
            (real / found.name).exists() or (real / found.name).symlink_to(found)
    rows = []
    for package in args.packages or files:
        lite = results(str(folder / "bin" / "python"), package, {})
        reference = results(sys.executable, package, {"PYTHONPATH": f"{real}:{site(folder)}"})
        for case, value in reference.items():
            word = verdict(lite.get(case), value).replace("|", "\\|")
            rows.append((package, case, word))
            print(f"{package:24}{case:28}{word}", flush=True)
    good = sum(row[2] == "same" for row in rows)
    print(f"{good} of {len(rows)} cases give PyTorch's values")
    if args.write:
        text = (
            f"# Third-party packages\n\nWritten by `tests/packages/run.py --write`. {good} of {len(rows)} cases give "
        )
        text += f"PyTorch {TORCH}'s values.\n\n| package | case | result |\n| --- | --- | --- |\n"
        TABLE.write_text(text + "".join("| %s |\n" % " | ".join(row) for row in rows))
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
