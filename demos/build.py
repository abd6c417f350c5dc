"""Puts the demo site together in demos/_site: static files for any web server.

    python demos/build.py [--wheel FILE]

Needs node with npm (the first run installs what package-lock.json names), pip, and the torchlite wheel for Pyodide in
wheels/dist (or --wheel).
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SITE = HERE / "_site"
MODULES = HERE / "node_modules"
WHEELS = HERE.parent / "wheels" / "dist"
DOWNLOADS = HERE.parent / ".cache" / "demo-wheels"

PAGES = ["index.html", "home.js", "home.css", "style.css", "icon.svg", "shared", "digits", "pyscript"]
LEFT_OUT = {"make_data.py", "editor.js"}  # editor.js is bundled
PYODIDE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"]
TOOL_WHEELS = ["micropip", "packaging"]  # PyScript installs wheels with these; the Digits page does without


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wheel", type=Path, help="the torchlite wheel (default: the newest one in wheels/dist)")
    wheel = options.parse_args().wheel or newest_wheel()

    install_modules()
    runtime = SITE / "runtime"
    shutil.rmtree(SITE, ignore_errors=True)
    runtime.mkdir(parents=True)
    shutil.copy(wheel, runtime)
    copy_pyodide(runtime / "pyodide")
    copy_pyscript(runtime / "pyscript")
    copy_pages(wheel.name)
    bundle_editor()
    write_manifest(runtime, wheel.name)
    write_service_worker()

    files = [path for path in SITE.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{os.path.relpath(SITE)}: {len(files)} files, {size:.1f} MB, {wheel.name}")


def newest_wheel():
    found = sorted(WHEELS.glob("torchlite-*pyemscripten_2026_0_wasm32.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"no torchlite wheel for Pyodide in {os.path.relpath(WHEELS)}: build it first, or name one with --wheel")
    return found[-1]


def install_modules():
    """Runs `npm ci` when the lock file has changed since the last time."""
    mark = MODULES / ".installed"
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == lock:
        return
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, check=True)
    mark.write_text(lock)


def copy_pyodide(target):
    """The runtime, and a lock file of nothing but the packages that lie beside it."""
    target.mkdir()
    for name in PYODIDE:
        shutil.copy(MODULES / "pyodide" / name, target)
    lock = json.loads((MODULES / "pyodide" / "pyodide-lock.json").read_text())
    packages = {name: lock["packages"][name] for name in TOOL_WHEELS}
    for name, package in packages.items():
        wheel = download(name, package["version"])
        shutil.copy(wheel, target / package["file_name"])
        # Pyodide packs these wheels itself, so the index's copy has another hash.
        package["sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock["packages"] = packages
    (target / "pyodide-lock.json").write_text(json.dumps(lock))


def download(name, version):
    pattern = f"{name}-{version}-py3-none-any.whl"
    if not (DOWNLOADS / pattern).exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.14", "--dest", str(DOWNLOADS), f"{name}=={version}"]
        subprocess.run(command, check=True)
    return DOWNLOADS / pattern


def copy_pyscript(target):
    """PyScript without its editors, terminals and source maps."""
    target.mkdir()
    unused = ("codemirror", "xterm", "py-editor", "py-terminal", "py-game", "pyodide_graph", "zip-", "mpy-", "service")
    for path in (MODULES / "@pyscript" / "core" / "dist").iterdir():
        if path.suffix in (".js", ".css") and not path.name.startswith(unused):
            shutil.copy(path, target)


def copy_pages(wheel):
    for name in PAGES:
        source, target = HERE / name, SITE / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=lambda _, names: LEFT_OUT.intersection(names) | {"__pycache__"} & set(names))
        else:
            shutil.copy(source, target)
    for page in SITE.rglob("*.html"):
        page.write_text(page.read_text().replace("{{wheel}}", wheel))


def bundle_editor():
    command = [str(MODULES / ".bin" / "esbuild"), "shared/editor.js", "--bundle", "--format=esm", "--minify"]
    command += ["--target=es2022", "--legal-comments=inline", "--log-level=warning"]
    command.append(f"--outfile={SITE / 'shared' / 'editor.js'}")
    subprocess.run(command, cwd=HERE, check=True)


def write_manifest(runtime, wheel):
    """What the worker needs to know to start Python and to show how far the downloads are."""
    names = ["pyodide/pyodide.asm.wasm", "pyodide/python_stdlib.zip", wheel]
    sizes = {f"runtime/{name}": (runtime / name).stat().st_size for name in names}
    (runtime / "files.json").write_text(json.dumps({"wheel": wheel, "sizes": sizes}))


def write_service_worker():
    hashes = {
        path.relative_to(SITE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        for path in sorted(SITE.rglob("*"))
        if path.is_file()
    }
    marker = "const FILES = {};"
    source = (HERE / "sw.js").read_text()
    assert source.count(marker) == 1
    (SITE / "sw.js").write_text(source.replace(marker, f"const FILES = {json.dumps(hashes, indent=0)};"))


if __name__ == "__main__":
    main()
