"""Finds the modules that a wheel for Pyodide keeps in three files.

`start.bin` has the bytecode of what `import torchlite` loads, `models.bin` that of the layers and optimizers that most
models use, `modules.bin` the source of everything else. A zip archive compresses each entry by itself: the wheel is a
tenth smaller with these entries than with 430, and a page writes three files when it installs it. The first line of
each file has the names of its modules in their order; wheels/recipe.py writes it. Elsewhere there are no such files,
and nothing is installed.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package's; this file is always one
_PACKAGE = __package__.partition(".")[0]


class _Finder:
    """Finds modules in one of the files, whose first line it reads when it is first asked."""

    suffix: str  # of the modules' own files
    loader: type[SourceFileLoader | SourcelessFileLoader]

    def __init__(self, name: str) -> None:
        self.file = os.path.join(FOLDER, name)
        self.index: dict[str, Any] = {}  # by the path that the module's own file would have

    def read_index(self) -> None:
        raise NotImplementedError

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
                loader: Any = self.loader(fullname, file)
                loader.finder = self
                return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inner)
        return None


class _Source(SourceFileLoader):
    """Reads a module at the path that its own file would have."""

    finder: _Sources

    def get_data(self, path: str) -> bytes:
        return self.finder.read(path)

    def path_stats(self, path: str) -> dict[str, float]:
        raise OSError("%s is in %s" % (path, self.finder.file))  # so nobody looks for its bytecode


class _Sources(_Finder):
    """Files one after the other. The first line has the size of each as well. Those that come after `bz2` and a number
    there are in a block of so many bytes, which bz2 has compressed."""

    suffix = ".py"
    loader = _Source
    _block: tuple[Any, bytes] = (None, b"")  # the last one that was read, and what is in it

    def read_index(self) -> None:
        with open(self.file, "rb") as file:
            parts = file.readline().decode().split()
            end = file.tell()
        block, start = None, end
        for name, size in zip(parts[::2], map(int, parts[1::2])):
            if name == "bz2":
                block, start, end = (end, size), 0, end + size
                continue
            self.index[os.path.join(FOLDER, name)] = block, start, size
            start += size
            if block is None:
                end = start

    def _bytes(self, start: int, size: int) -> bytes:
        with open(self.file, "rb") as file:
            file.seek(start)
            return file.read(size)

    def read(self, path: str) -> bytes:
        block, start, size = self.index[path]
        if block is None:
            return self._bytes(start, size)
        if self._block[0] != block:
            import bz2

            self._block = block, bz2.decompress(self._bytes(*block))
        return self._block[1][start : start + size]


class _Bytecode(SourcelessFileLoader):
    """The same for bytecode."""

    finder: _Codes

    def get_code(self, fullname: str) -> CodeType:
        return self.finder.take(self.path)


class _Codes(_Finder):
    """One marshalled tuple of code objects: a name or a constant that several modules have is in it once."""

    suffix = ".pyc"
    loader = _Bytecode

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.codes: dict[str, CodeType] = {}  # those that nobody has taken

    def read_index(self) -> None:
        from importlib.util import MAGIC_NUMBER

        with open(self.file, "rb") as file:
            magic, *names = file.readline().decode().split()
        if magic != MAGIC_NUMBER.hex():
            raise ImportError("this wheel of torchlite is for another version of Python: %s" % self.file)
        self.index = {os.path.join(FOLDER, name): at for at, name in enumerate(names)}

    def take(self, path: str) -> CodeType:
        if path not in self.codes:
            with open(self.file, "rb") as file:
                file.readline()
                codes = marshal.loads(file.read())  # marshal.load() would ask the file for each number: 36 ms, not 8
            self.codes = dict(zip(self.index, codes))
        return self.codes.pop(path)


_start, _models, _others = _Codes("start.bin"), _Codes("models.bin"), _Sources("modules.bin")


def install() -> None:
    """Puts the finder of what import loads first, since the import system would look for each of these modules in
    the file system, and those of the others last."""
    if os.path.exists(_start.file) and _start not in sys.meta_path:
        sys.meta_path.insert(0, _start)
        sys.meta_path += [_models, _others]


class start:
    """The part of `import torchlite` that reads most of its modules. The garbage collector waits until it is over, and
    then takes what is new for old: a sixth of the time would go to it, and there is nothing to find."""

    def __enter__(self) -> None:
        self.collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self.collects:
            if not gc.get_freeze_count():  # nobody froze anything, which unfreeze would undo
                gc.freeze()
                gc.unfreeze()
            gc.enable()
