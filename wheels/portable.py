"""Makes wheels of other packages portable: their Python as it is, for Pyodide, and no compiled code.

    python wheels/portable.py [--out DIR] [torchvision==0.28.0 torchaudio==2.11.0 ...]

A name is downloaded by pip; the path of a wheel is taken as it is. Compiled libraries are left out. Those for which
torchlite has operators of its own (torchlite/_libraries) become libraries without content, since packages look for them
before they ask torch.ops.load_library. The wheel gets the modules with these operators, as `torchlite_libraries`, so
that pages without the package do not load them. The package index in DIR/simple then has the wheels too.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "native"))
import backend
import make
import recipe

# by its file: the package itself would load the core
SOURCES = recipe.ROOT / "torchlite" / "_libraries"
_spec = importlib.util.spec_from_file_location("libraries", SOURCES / "__init__.py")
assert _spec and _spec.loader
_libraries = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_libraries)

NAMES = ("torchvision==0.28.0", "torchaudio==2.11.0")  # those for PyTorch of recipe.TORCH_VERSION
# A WebAssembly library without content: Pyodide loads what ends in .so when it installs a wheel. The section dylink.0
# says that it needs no memory and no table.
EMPTY = b"\0asm\1\0\0\0" + b"\0\x0f\x08dylink.0" + b"\1\4\0\0\0\0"
NATIVE = (".so", ".pyd", ".dylib", ".dll", ".a", ".o")


def stand_ins(name: str) -> tuple[str, ...]:
    """The modules of torchlite with the operators of a library file of a wheel."""
    folder, _, file = name.rpartition("/")
    found: tuple[str, ...] = _libraries.KNOWN.get((folder, file.partition(".")[0]), ())
    return found if is_native(name) else ()


def is_native(name: str) -> bool:
    return name.endswith(NATIVE) or ".so." in name or name.partition("/")[0].endswith(".libs")


def portable(wheel: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """The wheel without what was compiled, in `out`."""
    with zipfile.ZipFile(wheel) as z:
        entries = {i.filename: z.read(i) for i in z.infolist() if not i.is_dir()}
    info = next(name.partition("/")[0] for name in entries if name.endswith(".dist-info/WHEEL"))
    meta = entries[info + "/METADATA"]
    written_anew = {"%s/%s" % (info, name) for name in ("METADATA", "WHEEL", "RECORD", "top_level.txt")}
    files = {}
    for name, data in entries.items():
        modules = stand_ins(name)
        if modules:
            files[name.partition(".")[0] + ".so"] = EMPTY
            files |= {"torchlite_libraries/%s.py" % m: (SOURCES / (m + ".py")).read_bytes() for m in modules}
        elif not is_native(name) and name not in written_anew:
            files[name] = data
    dist = info.removesuffix(".dist-info")
    made: pathlib.Path = backend.write_wheel(out, "py3-none-any", files, dist=dist, meta=meta, pure=True)
    return made


def downloaded(name: str, folder: pathlib.Path) -> pathlib.Path:
    if name.endswith(".whl"):
        return pathlib.Path(name)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    # the Python of a wheel is the same for all platforms
    subprocess.run([*pip, "-d", str(folder), name], check=True)
    return next(folder.glob(re.split("[=<>]", name)[0].replace("-", "_") + "-*.whl"))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=recipe.ROOT / "wheels" / "dist")
    parser.add_argument("names", nargs="*", default=NAMES)
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names:
            make.report(portable(downloaded(name, pathlib.Path(folder)), args.out))
    make.write_index(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
