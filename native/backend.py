"""The build backend of pyproject.toml (PEP 517, PEP 660), standard library and ziglang only.

`pip install .` compiles the core for the running Python; under `pyodide build` it makes the wheel for Pyodide. The same
writer serves the wheel recipe in wheels/. Wheels and sdists are the same bytes for the same inputs.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
from typing import Any, Callable, Mapping, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archive
import build as native_build

ROOT = native_build.ROOT
DATA_SUFFIXES = {".py", ".pyi", ".txt", ".js", ".mjs", ".wgsl", ".json", ".typed"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]  # type: ignore[no-any-return]


def name_version() -> str:
    p = project()
    return f"{p['name']}-{p['version']}"


def metadata(described: bool = True) -> bytes:
    """described: with what a package index shows."""
    p = project()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {p['name']}",
        f"Version: {p['version']}",
        f"Summary: {p['description']}",
        f"Requires-Python: {p['requires-python']}",
        f"License-Expression: {p['license']}",
        *(f"License-File: {n}" for n in p["license-files"]),
    ]
    readme = ROOT / p.get("readme", "README.md")
    if described:
        lines += ["Keywords: " + ",".join(p.get("keywords", []))]
        lines += [f"Classifier: {c}" for c in p.get("classifiers", [])]
    if described and readme.exists():
        lines += ["Description-Content-Type: text/markdown", "", readme.read_text()]
    return ("\n".join(lines) + "\n").encode()


def package_files() -> dict[str, bytes]:
    """The Python side of the package: archive name -> content."""
    files = {}
    for p in sorted((ROOT / "torchlite").rglob("*")):
        if p.is_file() and p.suffix in DATA_SUFFIXES and "__pycache__" not in p.parts:
            files[p.relative_to(ROOT).as_posix()] = p.read_bytes()
    return files


def _record_hash(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(
    folder: pathlib.Path,
    tags: str,
    files: Mapping[str, bytes],
    *,
    dist: str | None = None,
    meta: bytes | None = None,
    pure: bool = False,
    described: bool = True,
    deflate: Callable[[bytes], bytes] = archive.deflate,
) -> pathlib.Path:
    """Writes a wheel named by `tags` ("cp312-abi3-plat1.plat2") and returns its path."""
    dist = dist or name_version()
    info = dist + ".dist-info"
    python, abi, platforms = tags.split("-")
    wheel = ["Wheel-Version: 1.0", "Generator: torchlite-backend", f"Root-Is-Purelib: {str(pure).lower()}"]
    wheel += [f"Tag: {python}-{abi}-{p}" for p in platforms.split(".")]
    everything = dict(sorted(files.items()))
    everything[f"{info}/METADATA"] = meta or metadata(described)
    if not meta:
        everything |= {f"{info}/licenses/{n}": (ROOT / n).read_bytes() for n in project()["license-files"]}
    tops = {name.partition("/")[0] for name in files}
    modules = sorted(top for top in tops if not top.endswith((".data", ".dist-info")))
    if modules:  # micropip.freeze() reads there what the wheel can be imported as
        everything[f"{info}/top_level.txt"] = "".join(m + "\n" for m in modules).encode()
    everything[f"{info}/WHEEL"] = ("\n".join(wheel) + "\n").encode()
    record = "".join(f"{n},{_record_hash(b)},{len(b)}\n" for n, b in everything.items()) + f"{info}/RECORD,,\n"
    everything[f"{info}/RECORD"] = record.encode()
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{dist}-{tags}.whl"
    entries = [(name, data, 0o755 if name.endswith((".so", ".pyd")) else 0o644) for name, data in everything.items()]
    out.write_bytes(archive.zip_bytes(entries, deflate))
    return out


def host_tags() -> str:
    """The tag of a wheel for the running Python. The core keeps to the limited API of the headers it was compiled with:
    3.11's headers give code that runs on 3.11 and later, newer ones code for 3.12 and later."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("torchlite's core uses the limited API, which free-threaded builds of CPython do not have yet")
    python = "cp311" if sys.version_info < (3, 12) else "cp312"
    return f"{python}-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def in_pyodide_build() -> bool:
    return os.environ.get("PYODIDE") == "1"


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    if in_pyodide_build():
        sys.path.insert(0, str(ROOT / "wheels"))
        import recipe

        return recipe.make_in_pyodide_build(pathlib.Path(wheel_directory)).name
    files = package_files()
    with tempfile.TemporaryDirectory() as tmp, native_build.locked():
        for out in native_build.build_host(pathlib.Path(tmp), strict=True):
            files["torchlite/" + out.name] = out.read_bytes()
    return write_wheel(pathlib.Path(wheel_directory), host_tags(), files).name


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    with native_build.locked():
        native_build.build_host(ROOT / "torchlite")
    files = {"__editable__.torchlite.pth": f"{ROOT}\n".encode()}
    return write_wheel(pathlib.Path(wheel_directory), host_tags(), files).name


def _source_files() -> Sequence[pathlib.Path]:
    try:
        out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        names = [n for n in out.split("\0") if n]
        if names:
            return [ROOT / n for n in sorted(names) if (ROOT / n).is_file()]
    except (OSError, subprocess.CalledProcessError):
        pass
    skip = {".git", ".build", ".cache", "node_modules", "__pycache__", "dist", "_site", ".venv"}
    return sorted(
        p
        for p in ROOT.rglob("*")
        if p.is_file() and not skip & set(p.relative_to(ROOT).parts) and p.suffix not in (".so", ".pyc", ".pyd")
    )


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    base = name_version()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        entries = [(f"{base}/PKG-INFO", metadata(), 0o644)]
        entries += [
            (f"{base}/{p.relative_to(ROOT).as_posix()}", p.read_bytes(), p.stat().st_mode & 0o777)
            for p in _source_files()
        ]
        for name, data, mode in entries:
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), mode, 1577836800
            tar.addfile(info, io.BytesIO(data))
    out = pathlib.Path(sdist_directory) / f"{base}.tar.gz"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(buffer.getvalue(), 9, mtime=0))
    return out.name


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel
