"""Wheels of other packages, made portable: their Python and torchlite's operators, and nothing compiled."""

from __future__ import annotations

import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "wheels"), str(ROOT / "native")]
import portable

NATIVE_WHEEL = {
    "torchvision/__init__.py": b"import torch\n",
    "torchvision/_C.so": b"\x7fELF",
    "torchvision/image.so": b"\x7fELF",
    "torchvision/other.so": b"\x7fELF",
    "torchvision.libs/libpng16.1c0b398e.so.16": b"\x7fELF",
    "torchvision-0.28.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: torchvision\nVersion: 0.28.0\n",
    "torchvision-0.28.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux\n",
    "torchvision-0.28.0.dist-info/RECORD": b"",
    "torchvision-0.28.0.dist-info/LICENSE": b"BSD",
}


def test_a_portable_wheel(tmp_path):
    source = tmp_path / "torchvision-0.28.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(source, "w") as z:
        for name, data in NATIVE_WHEEL.items():
            z.writestr(name, data)
    assert portable.main(["--out", str(tmp_path / "dist"), str(source)]) == 0
    made = tmp_path / "dist" / "torchvision-0.28.0-py3-none-any.whl"
    with zipfile.ZipFile(made) as z:
        files = {name: z.read(name) for name in z.namelist()}
    info = "torchvision-0.28.0.dist-info/"
    assert b"Tag: py3-none-any" in files[info + "WHEEL"] and b"Root-Is-Purelib: true" in files[info + "WHEEL"]
    assert files[info + "LICENSE"] == b"BSD" and files[info + "METADATA"] == NATIVE_WHEEL[info + "METADATA"]
    assert files["torchvision/_C.so"] == files["torchvision/image.so"] == portable.EMPTY
    assert files["torchlite_libraries/boxes.py"] == (ROOT / "torchlite/_libraries/boxes.py").read_bytes()
    assert [n for n in files if portable.is_native(n)] == ["torchvision/_C.so", "torchvision/image.so"]
    assert "torchvision-0.28.0-py3-none-any.whl" in (tmp_path / "dist/simple/torchvision/index.html").read_text()


def test_modules_that_stand_in_are_there():
    for modules in portable._libraries.KNOWN.values():
        assert all((portable.SOURCES / (name + ".py")).is_file() for name in modules)
    sources = {p.stem for p in portable.SOURCES.glob("*.py")} - {"__init__"}
    assert sources == {name for modules in portable._libraries.KNOWN.values() for name in modules}
