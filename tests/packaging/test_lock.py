"""python -m torchlite.lock: lock files of Pyodide with torchlite in them."""

import copy
import json
import pathlib
import subprocess
import sys

import pytest
from torchlite import lock as lock_tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "native"), str(ROOT / "wheels"), str(ROOT / "tests" / "pyodide")]
import backend
import dist
import recipe
import runtime

ENTRY = {"depends": [], "file_name": "a-1-py3-none-any.whl", "imports": ["a"], "name": "a", "version": "1"}
LOCK = {"info": {"abi_version": "2026_0", "python": "3.14.2"}, "packages": {"a": ENTRY}}
TAGS = {"2026_0": "cp312-abi3-pyemscripten_2026_0_wasm32", "2025_0": "cp312-abi3-pyodide_2025_0_wasm32"}


@pytest.fixture
def wheels(tmp_path):
    files = {"torchlite/__init__.py": b"", "torch/__init__.py": b""}
    made = [backend.write_wheel(tmp_path, tag, dict(files)) for tag in TAGS.values()]
    return [str(w) for w in [*made, recipe.make_torch_stub(tmp_path)]]


@pytest.mark.parametrize("abi", TAGS)
def test_entries(wheels, abi):
    old = copy.deepcopy(LOCK)
    old["info"]["abi_version"] = abi
    before = copy.deepcopy(old)
    new = lock_tool.extend(old, wheels)
    assert old == before
    assert new["info"] == old["info"] and new["packages"]["a"] == ENTRY
    ours, stub = new["packages"]["torchlite"], new["packages"]["torch"]
    assert abi in ours["file_name"] and ours["imports"] == ["torch", "torchlite"] and ours["depends"] == []
    assert stub["depends"] == ["torchlite"] and stub["imports"] == []
    assert len(ours["sha256"]) == 64 and ours["sha256"] != stub["sha256"]


def test_packages_elsewhere(wheels):
    new = lock_tool.extend(LOCK, wheels, "https://example.org/full/")
    assert new["packages"]["a"]["file_name"] == "https://example.org/full/a-1-py3-none-any.whl"
    assert "://" not in new["packages"]["torchlite"]["file_name"]
    assert lock_tool.extend(new, wheels, "https://example.com")["packages"]["a"] == new["packages"]["a"]


@pytest.mark.parametrize(
    "lock, names, words",
    [
        ({"packages": {}}, [], "not a pyodide-lock.json"),
        ({"info": {"abi_version": "2024_0"}, "packages": {}}, ["x"], "no torchlite wheel for Pyodide's ABI 2024_0"),
        (LOCK, ["torchlite.zip"], "torchlite.zip is not the name of a wheel"),
    ],
)
def test_mistakes(wheels, lock, names, words):
    with pytest.raises(lock_tool.LockError, match=words):
        lock_tool.extend(lock, wheels if names == ["x"] else names)


def test_command(wheels, tmp_path):
    source = tmp_path / "lock.json"
    source.write_text(json.dumps(LOCK))
    command = [sys.executable, "-m", "torchlite.lock", str(source)]
    done = subprocess.run([*command, *wheels], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "3 packages, torchlite and torch among them" in done.stdout
    assert set(json.loads((tmp_path / "pyodide-lock.json").read_text())["packages"]) == {"a", "torch", "torchlite"}
    done = subprocess.run([*command, wheels[-1]], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("python -m torchlite.lock: no torchlite wheel")


@pytest.mark.parametrize("target", recipe.TARGETS)
def test_by_name_in_pyodide(target, tmp_path):
    """loadPackagesFromImports, loadPackage and micropip find torchlite by name, with a lock made by the tool."""
    try:
        folder = dist.prepare(target)
        node = runtime.node()
    except runtime.Missing as e:
        pytest.skip(str(e))
    wheels = sorted((folder / "torchlite").glob("*.whl"))
    new = lock_tool.extend(json.loads((folder / "pyodide-lock.json").read_text()), [str(w) for w in wheels])
    for entry in new["packages"].values():  # node reads files: all names count from the distribution's folder
        if entry["name"] in ("torch", "torchlite"):
            entry["file_name"] = "torchlite/" + entry["file_name"]
    file = tmp_path / "pyodide-lock.json"
    file.write_text(json.dumps(new))
    program = ROOT / "tests" / "packaging" / "by_name.mjs"
    done = subprocess.run(
        [node, str(program), str(folder), str(file)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {way: 6 for way in ("imports", "package", "micropip", "stub")}
