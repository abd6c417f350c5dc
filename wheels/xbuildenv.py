"""A cross-build environment for pyodide-build, made from the npm package of Pyodide and this Python's headers.

    python wheels/xbuildenv.py [--target 029] [--out FILE]
    pyodide xbuildenv install --path FOLDER --url file://FILE
    pyodide build --xbuildenv-path FOLDER

Run it, and pyodide build, with the same minor version of Python as that Pyodide has. Where Pyodide's own archive can be
downloaded, pyodide-build fetches it by itself and this script is not needed.
"""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import re
import sys
import sysconfig
import tarfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import recipe
import runtime

ROOT = recipe.ROOT

MAKEFILE = """export PYVERSION = {python}
export PYMAJOR = {major}
export PYMINOR = {minor}
export PYMICRO = {micro}
export PYODIDE_EMSCRIPTEN_VERSION = {emscripten}
export PYODIDE_ABI_VERSION = {abi}
export PLATFORM_TRIPLET = wasm32-emscripten
export SYSCONFIG_NAME = {sysconfig}
export HOSTINSTALLDIR = $(PYODIDE_ROOT)/packages/.artifacts
export TARGETINSTALLDIR = $(PYODIDE_ROOT)/cpython/installs/python-{python}
export CPYTHONINSTALL = $(TARGETINSTALLDIR)
export PYTHONINCLUDE = $(TARGETINSTALLDIR)/include/python{major}.{minor}
export SYSCONFIGDATA_DIR = $(TARGETINSTALLDIR)/sysconfigdata
export CFLAGS_BASE = -fPIC
export CXXFLAGS_BASE = -fPIC
export LDFLAGS_BASE =
.output_vars:
\t@env
"""


def make(target: str, out: pathlib.Path) -> pathlib.Path:
    t = recipe.TARGETS[target]
    npm = runtime.pyodide(t.npm)
    info = json.loads((npm / "pyodide-lock.json").read_text())["info"]
    major, minor, micro = info["python"].split(".")
    if tuple(sys.version_info[:2]) != (int(major), int(minor)):
        raise SystemExit(f"xbuildenv: Pyodide {target} has Python {major}.{minor}; run this with python{major}.{minor}")
    with zipfile.ZipFile(npm / "python_stdlib.zip") as z:
        name = next(n for n in z.namelist() if re.match(r"_sysconfigdata.*\.py$", n))
        config = z.read(name)
    python = f"xbuildenv/pyodide-root/cpython/installs/python-{info['python']}"
    files = {
        "xbuildenv/pyodide-root/Makefile.envs": MAKEFILE.format(
            python=info["python"],
            major=major,
            minor=minor,
            micro=micro,
            abi=info["abi_version"],
            emscripten=info["platform"].removeprefix("emscripten_").replace("_", "."),
            sysconfig=name.removesuffix(".py"),
        ).encode(),
        "xbuildenv/pyodide-root/pyproject.toml": b"[tool._pyodide]\n",
        "xbuildenv/requirements.txt": b"",
        f"{python}/sysconfigdata/{name}": config,
    }
    for p in npm.iterdir():
        if p.is_file() and p.suffix in (".json", ".js", ".mjs", ".wasm", ".zip"):
            files[f"xbuildenv/pyodide-root/dist/{p.name}"] = p.read_bytes()
    include = pathlib.Path(sysconfig.get_paths()["include"])
    for p in include.rglob("*.h"):
        files[f"{python}/include/python{major}.{minor}/{p.relative_to(include).as_posix()}"] = p.read_bytes()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out, "w:gz", compresslevel=1) as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return out


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="029", choices=sorted(recipe.TARGETS))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / ".cache" / "xbuildenv.tar.gz")
    a = p.parse_args()
    print(make(a.target, a.out))
