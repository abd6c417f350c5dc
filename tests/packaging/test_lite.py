"""wheels/lite.py: the package for JupyterLite holds the wheels that are there, and names its addon."""

import ast
import configparser
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wheels"))
import lite

VERSION = lite.backend.project()["version"]
WHEELS = [
    f"torchlite-{VERSION}-cp312-abi3-pyemscripten_2026_0_wasm32.whl",
    f"torchlite-{VERSION}-cp312-abi3-pyodide_2025_0_wasm32.pyemscripten_2025_0_wasm32.whl",
    f"torch-2.13.0+torchlite.{VERSION}-py3-none-any.whl",
]


def test_package(tmp_path):
    for name in (*WHEELS, f"torchlite-{VERSION}-cp311-abi3-linux_x86_64.whl", "torchlite-0.0.1-py3-none-any.whl"):
        (tmp_path / name).write_bytes(name.encode())
    package = lite.build(tmp_path, tmp_path / "out")
    assert package.name == f"torchlite_jupyterlite-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(package) as z:
        held = {name.rpartition("/")[2]: z.read(name) for name in z.namelist() if "/wheels/" in name}
        assert held == {name: name.encode() for name in WHEELS}
        info = f"torchlite_jupyterlite-{VERSION}.dist-info"
        entries = configparser.ConfigParser()
        entries.read_string(z.read(f"{info}/entry_points.txt").decode())
        module, _, name = entries["jupyterlite.addon.v0"]["torchlite"].partition(":")
        classes = [
            node.name for node in ast.parse(z.read(f"{module}/__init__.py")).body if isinstance(node, ast.ClassDef)
        ]
        assert name in classes
        assert f"Requires-Dist: {lite.REQUIRES}" in z.read(f"{info}/METADATA").decode()


def test_wheels_are_missing(tmp_path):
    (tmp_path / WHEELS[1]).write_bytes(b"")
    with pytest.raises(SystemExit, match="make wheel builds them"):
        lite.build(tmp_path, tmp_path)
