"""Collects what pages and notebooks load of Pyodide 314, with torchlite, for a server of your own.

    python wheels/offline.py FOLDER [NAME ...]

FOLDER gets Pyodide, the wheels of torchlite from wheels/dist, micropip, the packages NAME with what they need, and a
lock file in which these are. npm and pip fetch them. A package has to be pure Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Iterable

import runtime

sys.path.insert(0, str(runtime.ROOT))
from torchlite import lock as lock_tool

FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"]
DIST = runtime.HERE / "dist"


def needed(packages: lock_tool.Lock, names: Iterable[str]) -> list[str]:
    """The packages of a lock file that these need, themselves included."""
    found: list[str] = []
    left = list(names)
    while left:
        name = left.pop().lower().replace("_", "-")
        if name not in found:
            found.append(name)
            left += packages[name]["depends"]
    return found


def download(requirement: str, python: str, folder: pathlib.Path) -> pathlib.Path:
    """The wheel of a package, by pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", python, "--platform", "any"]
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([*command, "--dest", place, requirement], capture_output=True, text=True, check=False)
        found = list(pathlib.Path(place).glob("*.whl"))
        if done.returncode or len(found) != 1:
            raise SystemExit(f"pip finds no wheel in pure Python for {requirement}\n{done.stderr}")
        return pathlib.Path(shutil.copy(found[0], folder))


def collect(folder: pathlib.Path, names: Iterable[str], wheels: Iterable[pathlib.Path]) -> list[str]:
    """Fills a folder; the names of the packages that are in it. A name that Pyodide does not have may be NAME==1.2."""
    source = runtime.pyodide("pyodide-314")
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(source / name, folder)
    lock = json.loads((source / "pyodide-lock.json").read_text())
    packages = lock["packages"]
    python = ".".join(lock["info"]["python"].split(".")[:2])
    wanted = ["micropip", *names]
    others = [name for name in wanted if name not in packages]
    there = needed(packages, [name for name in wanted if name in packages])
    for name in there:
        entry = packages[name]
        wheel = download(f"{name}=={entry['version']}", python, folder)
        # Pyodide packs its wheels itself, so the index's copy has another hash.
        entry |= {"file_name": wheel.name, "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    added = [download(name, python, folder) for name in others]
    added += [pathlib.Path(shutil.copy(wheel, folder)) for wheel in wheels]
    if added:
        lock = lock_tool.extend(lock, [str(wheel) for wheel in added])
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    return [*there, *(wheel.name.partition("-")[0] for wheel in added)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    wheels = [*DIST.glob("torchlite-*pyemscripten_2026_0*.whl"), *DIST.glob("torch-*.whl")]
    if len(wheels) != 2:
        raise SystemExit(f"the wheels of torchlite for Pyodide 314 are not in {DIST}: make wheel builds them")
    print(f"{options.folder}: Pyodide, {', '.join(collect(options.folder, options.names, wheels))}")


if __name__ == "__main__":
    main()
