"""`make demo` from a fresh clone: what it installs, and that the site is there."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "native"), str(ROOT / "wheels")]
import build
import runtime


def test_files_that_both_wasm_builds_share():
    relaxed = build.Wasm(relaxed=True)
    names = {f.name: relaxed.serving(f, build.SRC).name for f in build.sources()}
    assert names["gemm.c"] == names["pw_unary.c"] == "wasm-relaxed"
    assert names["index.c"] == names["module.c"] == "wasm"


def test_one_version_of_what_two_folders_install():
    """So that who builds one wheel needs the packages of the demo pages only."""
    assert runtime._locked(runtime.DEMOS, "pyodide") == runtime._locked(runtime.HERE, "pyodide-314")
    assert runtime._locked(runtime.DEMOS, "esbuild") == runtime._locked(ROOT / "js_bridge", "esbuild")


@pytest.mark.slow
def test_fresh_clone(tmp_path):
    if shutil.which("npm") is None or shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git, npm and a clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    command = [sys.executable, str(clone / "demos" / "start.py"), "--no-serve"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [line[:5] for line in done.stdout.splitlines() if line.startswith("[")] == ["[1/3]", "[2/3]", "[3/3]"]
    for page in ("index.html", "docs/start/page.html", "docs/reference/index.html"):
        assert (clone / "demos" / "_site" / page).exists()
    for folder in (".venv", "js_bridge/node_modules", "wheels/node_modules"):  # what only tests need
        assert not (clone / folder).exists()
