"""Loads the native core and puts it in place as `torchlite._C`.

A wheel for Pyodide carries the core twice: `_C.abi3.so` (SIMD128, runs everywhere) and, as the difference from it,
`_C_relaxed.patch` (relaxed SIMD, fused multiply-add). The second is no .so because Pyodide loads every .so of a wheel
when it is installed, and an engine without relaxed SIMD rejects that one. The environment variable TORCHLITE_NATIVE
overrides the choice: `simd128`, `relaxed`, or the path of a build. On x86-64 Linux `_C.abi3.so` hands over to
`_C.v3.so` where the processor has AVX2 and FMA (native/src/core/newer.c); `baseline` keeps the first.
"""

from __future__ import annotations


import os
import sys

from .archive import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


PACKAGE = __package__.rpartition(".")[0]

# WebAssembly text: (func (param v128 v128 v128) (result v128)
#   (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2)))
_RELAXED_PROBE = bytes.fromhex("0061736d01000000 01080160037b7b7b017b 03020100 0a0d010b00200020012002fd85020b")

variant = "host"  # "host", "simd128", "relaxed" or a path


def has_relaxed_simd() -> Any:
    """Whether this JavaScript engine runs relaxed SIMD."""
    try:
        import js
        from pyodide.ffi import to_js

        return bool(js.WebAssembly.validate(to_js(_RELAXED_PROBE)))
    except Exception:
        return False


def _relaxed_file() -> Any:
    """Makes the relaxed-SIMD build from the other one (native/wasm_patch.py made the difference); returns its path."""
    from struct import unpack_from

    with open(os.path.join(FOLDER, "_C.abi3.so"), "rb") as f:
        base = f.read()
    with open(os.path.join(FOLDER, "_C_relaxed.patch"), "rb") as f:
        patch = f.read()
    (n,) = unpack_from("<I", patch, 4)
    steps = unpack_from(f"<{3 * n}I", patch, 8)
    at = 8 + 12 * n
    parts: list[bytes] = []
    for i in range(0, len(steps), 3):
        start, copy, insert = steps[i : i + 3]
        parts += (base[start : start + copy], patch[at : at + insert])
        at += insert
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "torchlite_relaxed.wasm")
    with open(path, "wb") as f:
        f.write(b"".join(parts))
    return path


def _load_file(path: str) -> Any:
    from importlib.machinery import ExtensionFileLoader, ModuleSpec

    name = PACKAGE + "._C"
    loader = ExtensionFileLoader(name, path)
    spec = ModuleSpec(name, loader, origin=path)
    spec.has_location = True
    module = loader.create_module(spec)
    module.__spec__, module.__loader__, module.__file__, module.__package__ = spec, loader, path, PACKAGE
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _load() -> ModuleType:
    global variant
    done = sys.modules.get(PACKAGE + "._C")
    if done is not None:
        return done
    wanted = os.environ.get("TORCHLITE_NATIVE", "")
    if wanted and wanted not in ("simd128", "relaxed", "baseline"):
        variant = wanted
        return _load_file(wanted)
    if sys.platform == "emscripten":
        patch = os.path.join(FOLDER, "_C_relaxed.patch")
        if wanted != "simd128" and os.path.exists(patch) and (wanted == "relaxed" or has_relaxed_simd()):
            try:
                module = _load_file(_relaxed_file())
            except (ImportError, OSError):
                if wanted == "relaxed":
                    raise
            else:
                variant = "relaxed"
                return module
        variant = "simd128"
    try:
        from .. import _C
    except ImportError as e:
        suffix = ".pyd" if os.name == "nt" else ".abi3.so"
        built = os.path.exists(os.path.join(FOLDER, "_C" + suffix))
        if sys.platform == "emscripten":
            hint = "it is for another platform or version of Pyodide: install the wheel whose tag matches yours"
        elif built:
            hint = "it was built for another Python or from a broken source: run `python native/build.py host` again"
        else:
            hint = (
                "it is not built: run `python native/build.py host` in the source tree (needs the package ziglang), "
                "or `pip install .`"
            )
        raise ImportError(f"torchlite's native core could not be loaded; {hint} ({e})") from e
    return _C


_C = _load()
sys.modules[PACKAGE].__dict__["_C"] = _C
