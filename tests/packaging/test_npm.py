"""The npm package: what is in it, its types for a strict TypeScript program, and its behaviour in node."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "wheels"), str(ROOT / "tests" / "webgpu")]
import dawn
import npm
import runtime

NODE = ROOT / "tests" / "npm"
TESTS = NODE / "api.test.mjs"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return npm.make(tmp_path_factory.mktemp("npm"))


def run(command: list[str], package: pathlib.Path, **more: str) -> subprocess.CompletedProcess:
    env = {**dawn.environment(), "PACKAGE": str(package), "PYODIDE": str(runtime.pyodide("pyodide-314")), **more}
    return subprocess.run([*command, str(TESTS)], env=env, capture_output=True, text=True, check=False)


def test_what_is_in_it(package):
    names = sorted(path.name for path in package.iterdir())
    wheel = npm.wheel().name
    assert names == sorted(["LICENSE", "README.md", "index.d.ts", "index.js", "package.json", "worker.js", wheel])
    about = json.loads((package / "package.json").read_text())
    assert about["version"] == npm.backend.project()["version"]
    assert about["dependencies"] == {"pyodide": npm.pyodide_version()}
    # bundlers take a file along whose address is written so
    assert re.search(rf'new URL\("\./{re.escape(wheel)}", import\.meta\.url\)', (package / "index.js").read_text())
    assert npm.loader_size(package) <= npm.BUDGET


def test_the_archive_has_the_same_bytes_each_time(package):
    first = npm.archive(package).read_bytes()
    assert npm.archive(package).read_bytes() == first


def test_in_node(package):
    done = run([runtime.node(), "--test"], package)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_ten_thousand_steps_without_a_scope(package):
    done = run([runtime.node(), "--test", "--test-name-pattern=forgets"], package, STEPS="10000")
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deno", "bun"])
def test_elsewhere(package, name):
    try:
        program = getattr(dawn, name)()
    except runtime.Missing as error:
        pytest.skip(str(error))
    options = {"deno": ["test", "-A", "--no-config", "--no-lock"], "bun": ["test", "--timeout=60000"]}
    done = run([program, *options[name]], package)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-5000:]
    assert "what JavaScript forgets" in said  # the tests were found


def test_a_strict_typescript_program(package, tmp_path):
    """Every line that is marked as an error must be one."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "torchlite").symlink_to(package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    source = tmp_path / "program.ts"
    source.write_text((NODE / "program.ts").read_text())
    tsc = runtime.npm_packages(ROOT / "js_bridge") / ".bin" / "tsc"
    options = "--noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2022".split()
    options += "--module nodenext --lib ES2022,DOM,DOM.Iterable".split()
    env = {**os.environ, "PATH": f"{pathlib.Path(runtime.node()).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(tsc), *options, str(source)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:5000]
