"""Finds the modules that a wheel for Pyodide keeps in two files.

`start.bin` has the bytecode of what `import torchlite` loads, `modules.bin` the source of everything else. A zip
archive compresses each entry by itself: the wheel is a tenth smaller with two entries than with 430, and a page writes
two files when it installs it. The first line of either file has the name and size of each part, in their order;
wheels/recipe.py writes it. Elsewhere there are no such files, and nothing is installed.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package's; this file is always one
_PACKAGE = __package__.partition(".")[0]


class Finder:
    """Finds modules in one of the two files, whose index it reads when it is first asked."""

    def __init__(self, name: str, suffix: str) -> None:
        self.file = os.path.join(FOLDER, name)
        self.suffix = suffix  # of the modules' own files
        self.index: dict[str, tuple[int, int]] = {}  # path -> start and size in the file
        self.data = b""  # the whole file, while `import torchlite` reads all of it

    def read_index(self) -> None:
        with open(self.file, "rb") as file:
            parts = file.readline().decode().split()
            start = file.tell()
        for name, size in zip(parts[::2], map(int, parts[1::2])):
            self.index[os.path.join(FOLDER, name)] = start, size
            start += size

    def read(self, path: str) -> bytes:
        start, size = self.index[path]
        if self.data:
            return self.data[start : start + size]
        with open(self.file, "rb") as file:
            file.seek(start)
            return file.read(size)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PACKAGE + "."):
            return None
        from importlib.util import spec_from_file_location

        if not self.index:
            self.read_index()
        folder = os.path.join(FOLDER, *fullname.split(".")[1:])
        for name, inner in ((folder, None), (os.path.join(folder, "__init__"), [folder])):
            file = name + self.suffix
            if file in self.index:
                kind = _Source if self.suffix == ".py" else _Bytecode
                loader = kind(fullname, file)
                loader.finder = self
                return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inner)
        return None


class _Source(SourceFileLoader):
    """Reads a module at the path that its own file would have."""

    finder: Finder

    def get_data(self, path: str) -> bytes:
        return self.finder.read(path)

    def path_stats(self, path: str) -> dict[str, float]:
        raise OSError("%s is in %s" % (path, self.finder.file))  # so nobody looks for its bytecode


class _Bytecode(SourcelessFileLoader):
    """The same for bytecode."""

    finder: Finder

    def get_data(self, path: str) -> bytes:
        return self.finder.read(path)


_start = Finder("start.bin", ".pyc")
_others = Finder("modules.bin", ".py")


def install() -> None:
    """Puts the finder of what import loads first, since the import system would look for each of these modules in
    the file system, and that of the others last."""
    if os.path.exists(_start.file) and _start not in sys.meta_path:
        sys.meta_path.insert(0, _start)
        sys.meta_path.append(_others)
        with open(_start.file, "rb") as file:
            _start.data = file.read()


class start:
    """The part of `import torchlite` that reads most of its modules. The garbage collector waits until it is over, and
    then takes what is new for old: a sixth of the time would go to it, and there is nothing to find. The bytecode is
    forgotten; what is loaded again is read from the file."""

    def __enter__(self) -> None:
        self.collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self.collects:
            if not gc.get_freeze_count():  # nobody froze anything, which unfreeze would undo
                gc.freeze()
                gc.unfreeze()
            gc.enable()
        _start.data = b""
