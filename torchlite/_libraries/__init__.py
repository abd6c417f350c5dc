"""Stand-ins for the compiled operators of other packages: torch.ops.load_library takes the module in place of the file.

Their wheels hold operators that were compiled for PyTorch. The packages' own Python is unchanged, and asks for these
operators by name, so what they compute is defined here with torchlite's ops, and runs on every device.
"""

from __future__ import annotations

import pathlib
from typing import Any

# folder and beginning of the file's name -> the module that defines the same operators
KNOWN = {
    ("torchvision", "_C"): "vision",
    ("torchvision", "image"): "images",
    ("torchaudio/lib", "_torchaudio"): "audio",
    ("torchaudio/lib", "libtorchaudio"): "audio",
}


def load(path: Any) -> bool:
    """Defines the operators of a library file; False where none stands in for it."""
    file = pathlib.PurePath(path)
    for (folder, stem), module in KNOWN.items():
        if file.parent.as_posix().endswith(folder) and file.name.partition(".")[0] == stem:
            from importlib import import_module

            import_module("%s.%s" % (__name__, module))
            return True
    return False
