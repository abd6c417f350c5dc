"""Makes the npm package `torchlite` from js_bridge/npm and the wheel: wheels/dist/npm/torchlite, and an archive of it.

    python wheels/npm.py [--out DIR]

Needs the wheel for Pyodide 314 in wheels/dist (`make wheel`), and node with npm. The core for this Python is built
where it is not, since the types are written from the package as it is imported.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "native")]
import backend
import recipe
import runtime

ROOT = recipe.ROOT
SOURCE = ROOT / "js_bridge" / "npm"
TARGET = recipe.TARGETS["314"]
BUDGET = 22_000  # bytes of index.js after gzip: what a page loads before it asks for anything


def pyodide_version() -> str:
    packages = json.loads((ROOT / "wheels" / "package-lock.json").read_text())["packages"]
    return str(packages[f"node_modules/{TARGET.npm}"]["version"])


def wheel() -> pathlib.Path:
    found = ROOT / "wheels" / "dist" / f"{backend.name_version()}-{TARGET.tags}.whl"
    if not found.exists():
        raise runtime.Missing(f"{found} is missing: run `make wheel`")
    return found


def bundle(entry: str, out: pathlib.Path, wheel_name: str) -> None:
    command = [
        str(runtime.esbuild() / "bin" / "esbuild"),
        str(SOURCE / "src" / entry),
        *("--bundle", "--format=esm", "--target=es2022", "--loader:.py=text", "--log-level=warning"),
        # white space stays: with it go the comments that tell bundlers which imports are not theirs
        *("--minify-identifiers", "--minify-syntax"),
        f"--define:WHEEL_NAME={json.dumps('./' + wheel_name)}",
        f"--define:PYODIDE_VERSION={json.dumps(pyodide_version())}",
        f"--outfile={out}",
    ]
    subprocess.run(command, check=True, env=runtime.environment())


def describe(folder: pathlib.Path) -> None:
    """package.json: this project's version, and the Pyodide that node needs."""
    package = json.loads((SOURCE / "package.json").read_text())
    package["version"] = backend.project()["version"]
    package["dependencies"] = {"pyodide": pyodide_version()}
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")


def make(out: pathlib.Path) -> pathlib.Path:
    """The folder of the package."""
    folder = out / "torchlite"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = wheel()
    shutil.copy(file, folder)
    for name in ("index", "worker"):
        bundle(f"{name}.ts", folder / f"{name}.js", file.name)
    subprocess.run([sys.executable, str(ROOT / "native" / "build.py"), "host"], check=True, stdout=subprocess.DEVNULL)
    types = [sys.executable, str(SOURCE / "declarations.py"), str(folder / "index.d.ts")]
    subprocess.run(types, check=True)
    describe(folder)
    shutil.copy(SOURCE / "README.md", folder)
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def loader_size(folder: pathlib.Path) -> int:
    return len(gzip.compress((folder / "index.js").read_bytes(), 9))


def archive(folder: pathlib.Path) -> pathlib.Path:
    """The file that `npm install` and `npm publish` take; the same bytes for the same files."""
    name = f"torchlite-{backend.project()['version']}.tgz"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.iterdir()):
            info = tarfile.TarInfo(f"package/{path.name}")
            info.size = path.stat().st_size
            with open(path, "rb") as file:
                tar.addfile(info, file)
    out = folder.parent / name
    out.write_bytes(gzip.compress(data.getvalue(), 9, mtime=0))
    return out


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "wheels" / "dist" / "npm")
    a = p.parse_args(argv)
    try:
        folder = make(a.out)
    except runtime.Missing as e:
        print(f"npm: {e}", file=sys.stderr)
        return 1
    size = loader_size(folder)
    file = archive(folder)
    print(f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}: {file.stat().st_size / 1000:.0f} kB")
    print(f"index.js {size} bytes after gzip (budget {BUDGET})")
    return int(size > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
