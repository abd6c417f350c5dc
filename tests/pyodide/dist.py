"""Folders that a test server can serve as a Pyodide distribution:
the npm package, the pure wheels that tests need, and our own wheels with a package index over them.

    python tests/pyodide/dist.py [314 029]      prints the folders
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "wheels"))
import recipe
import runtime

CACHE = ROOT / ".cache" / "pyodide"
PURE = ("micropip", "packaging", "tblib", "pytest", "pluggy", "iniconfig", "pygments")
NUMPY = "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"


def shared() -> pathlib.Path | None:
    """A folder beside the project with data that no package index has (conformance fixtures, numpy for Pyodide)."""
    folder = pathlib.Path(os.environ.get("TORCHLITE_SHARED", ROOT.parent / "shared"))
    return folder if folder.is_dir() else None


NO_FIXTURES = "conformance: skipped, there are no fixtures (set TORCHLITE_SHARED to the folder that holds conformance/)"


def fixtures() -> pathlib.Path | None:
    """The folder of PyTorch's recorded answers."""
    folder = shared()
    folder = folder / "conformance" if folder else None
    return folder if folder and (folder / "run_conformance.py").exists() else None


def numpy_wheel(target: str) -> pathlib.Path | None:
    folder = shared()
    wheel = folder / "wheels" / NUMPY if folder else None
    return wheel if wheel and wheel.exists() and target == "029" else None


def _download(requirement: str, python: str, folder: pathlib.Path) -> pathlib.Path:
    """A pure wheel from the package index, kept in .cache."""
    folder.mkdir(parents=True, exist_ok=True)
    name, version = requirement.split("==")
    have = list(folder.glob(f"{name.replace('-', '_')}-{version}-*none-any.whl"))
    if not have:
        cmd = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            python,
            "-d",
            str(folder),
            requirement,
        ]
        done = subprocess.run(cmd, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise runtime.Missing(f"`{' '.join(cmd)}` failed: {done.stdout}")
        have = list(folder.glob(f"{name.replace('-', '_')}-{version}-*none-any.whl"))
    return have[0]


def _sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prepare(target: str, wheels: pathlib.Path | None = None) -> pathlib.Path:
    """The distribution folder of one Pyodide generation ("314", "029"), made on the first call."""
    t = recipe.TARGETS[target]
    npm = runtime.pyodide(t.npm)
    lock = json.loads((npm / "pyodide-lock.json").read_text())
    numpy = numpy_wheel(target)
    key = hashlib.sha256(json.dumps([(npm / "package.json").read_text(), PURE, str(numpy), 3]).encode()).hexdigest()[
        :12
    ]
    dist = CACHE / f"{target}-{key}"
    if not (dist / "ready").exists():
        shutil.rmtree(dist, ignore_errors=True)
        dist.mkdir(parents=True)
        for p in npm.iterdir():
            if p.is_file() and not p.name.endswith((".map", ".d.ts", ".html")):
                shutil.copy(p, dist / p.name)
        for name in PURE:
            entry = lock["packages"][name]
            wheel = _download(f"{name}=={entry['version']}", t.python, ROOT / ".cache" / "pypi")
            shutil.copy(wheel, dist / wheel.name)
            # Pyodide repacks the wheels it distributes, so the index's file has another hash than the lock says
            entry |= {"file_name": wheel.name, "sha256": _sha256(wheel)}
        lock["packages"]["pytest"]["depends"] = ["pluggy", "iniconfig", "packaging", "pygments"]
        if numpy:
            shutil.copy(numpy, dist / numpy.name)
            lock["packages"]["numpy"] |= {"file_name": numpy.name, "sha256": _sha256(numpy)}
        (dist / "pyodide-lock.json").write_text(json.dumps(lock))
        (dist / "ready").write_text("")
    _sync_wheels(dist / "torchlite", wheels or ROOT / "wheels" / "dist")
    return dist


def _sync_wheels(to: pathlib.Path, wheels: pathlib.Path) -> None:
    if not any(wheels.glob("*.whl")):
        raise runtime.Missing(f"there are no wheels in {wheels}: run `make wheel`")

    def content(folder: pathlib.Path) -> dict[str, bytes]:
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    want = content(wheels)
    # tests put lock files there, which a run beside theirs must leave alone
    if {name: data for name, data in content(to).items() if name in want or name.endswith(".whl")} == want:
        return
    fresh = to.with_name(f"{to.name}.{os.getpid()}")  # a run beside this one may be reading the old ones
    shutil.copytree(wheels, fresh)
    if to.exists():
        old = to.with_name(f"{to.name}.old.{os.getpid()}")
        to.rename(old)
        shutil.rmtree(old)
    fresh.rename(to)


def wheel(target: str, dist: pathlib.Path) -> pathlib.Path:
    """Our wheel in a distribution folder."""
    return next((dist / "torchlite").glob(f"torchlite-*-{recipe.TARGETS[target].tags}.whl"))


if __name__ == "__main__":
    for name in sys.argv[1:] or list(recipe.TARGETS):
        print(prepare(name))
