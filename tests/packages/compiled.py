"""The compiled operators of torchvision and torchaudio beside a PyTorch without CUDA.

Their wheels are linked with CUDA's libraries, and are not loaded where these are missing. They call them for tensors
on a GPU only, so libraries of the same names whose functions return 0 are enough for the CPU.
"""

from __future__ import annotations

import ctypes
import pathlib
import re
import subprocess
import sys

NAMES = re.compile(
    rb"(?<=\0)(?:_ZNK?(?:2at|3c10)4cuda\w+|(?:__)?cuda[A-Z]\w+|(?:aoti_torch_get|torch)_\w*cuda\w*)(?=\0)"
)
RUNTIME = re.compile(rb"libcudart\.so\.\d+(?=\0)")


def make(libraries: list[pathlib.Path], folder: pathlib.Path) -> None:
    """Writes CUDA's libraries that these are linked with into a folder."""
    text = b"".join(library.read_bytes() for library in libraries)
    names, runtime = {name.decode() for name in NAMES.findall(text)}, RUNTIME.search(text)
    assert runtime, "no library is linked with CUDA's runtime"
    folder.mkdir(exist_ok=True)
    version = folder / "version"
    version.write_text("%s { global: *; };\n" % runtime[0].decode())
    parts = {
        runtime[0].decode(): {name for name in names if "cuda" in name[:6]},
        "libc10_cuda.so": set(),
        "libtorch_cuda.so": {name for name in names if "cuda" not in name[:6]},
    }
    for file, functions in parts.items():
        source = folder / "source.c"
        source.write_text("".join("long %s(void) { return 0; }\n" % name for name in sorted(functions)))
        command = [sys.executable, "-m", "ziglang", "cc", "-w", "-shared", "-fno-builtin", "-o", str(folder / file)]
        versioned = ["-Wl,--version-script=%s" % version] if "cudart" in file else []
        subprocess.run([*command, str(source), "-Wl,-soname,%s" % file, *versioned], check=True)


def load(folder: str) -> None:
    """Loads them, so that the operators' libraries find them by name."""
    for file in sorted(pathlib.Path(folder).glob("lib*.so*")):
        ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
