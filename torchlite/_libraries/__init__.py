"""Stand-ins for the compiled operators of other packages: torch.ops.load_library takes the module in place of the file.

Their wheels hold operators that were compiled for PyTorch. The packages' own Python is unchanged, and asks for these
operators by name, so what they compute is defined here with torchlite's ops, and runs on every device.

The wheel for pages has this file only. There the modules come with the wheel of the package that needs them, as
`torchlite_libraries`: wheels/portable.py puts them in place of what was compiled.
"""

from __future__ import annotations

import pathlib
from typing import Any

# folder and beginning of the file's name -> the modules that define the same operators; the first one is loaded
KNOWN = {
    ("torchvision", "_C"): ("vision", "boxes", "regions", "deformed"),
    ("torchvision", "image"): ("images",),
    ("torchaudio/lib", "_torchaudio"): ("audio",),
    ("torchaudio/lib", "libtorchaudio"): ("audio",),
}


def load(path: Any) -> bool:
    """Defines the operators of a library file; False where none stands in for it."""
    file = pathlib.PurePath(path)
    for (folder, stem), modules in KNOWN.items():
        if file.parent.as_posix().endswith(folder) and file.name.partition(".")[0] == stem:
            from importlib import import_module, util

            here = "%s.%s" % (__name__, modules[0])
            import_module(here if util.find_spec(here) else "torchlite_libraries." + modules[0])
            return True
    return False
