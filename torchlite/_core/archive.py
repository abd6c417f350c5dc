"""Finds the modules that a wheel for Pyodide keeps in one file.

Such a wheel has bytecode for what `import torchlite` loads, and the source of everything else in `modules.bin`: as one
entry it is a quarter smaller to download than as some 300. Its first line is JSON, [start, size] of each file counted
from the second line on; wheels/recipe.py writes it. Elsewhere there is no such file, and nothing is installed.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package's; this file is always one
_PACKAGE = __package__.partition(".")[0]
_ARCHIVE = os.path.join(FOLDER, "modules.bin")
_index: dict[str, tuple[int, int]] = {}  # path -> start and size in the file, read by the first import that needs it


def _read_index() -> None:
    import json

    with open(_ARCHIVE, "rb") as file:
        index = json.loads(file.readline())
        first = file.tell()
    for name, (start, size) in index.items():
        _index[os.path.join(FOLDER, name)] = first + start, size


class _Loader(SourceFileLoader):
    """Reads a module at the path that its own file would have."""

    def get_data(self, path: str) -> bytes:
        start, size = _index[path]
        with open(_ARCHIVE, "rb") as file:
            file.seek(start)
            return file.read(size)

    def path_stats(self, path: str) -> dict[str, float]:
        raise OSError("%s is in %s" % (path, _ARCHIVE))  # so nobody looks for its bytecode


class _Finder:
    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PACKAGE + "."):
            return None
        from importlib.util import spec_from_file_location

        if not _index:
            _read_index()
        folder = os.path.join(FOLDER, *fullname.split(".")[1:])
        for file, inner in ((folder + ".py", None), (os.path.join(folder, "__init__.py"), [folder])):
            if file in _index:
                loader = _Loader(fullname, file)
                return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inner)
        return None


def install() -> None:
    """Puts the finder last: files outside the archive come first, as does all that is not torchlite's."""
    if os.path.exists(_ARCHIVE):
        sys.meta_path.append(_Finder)
