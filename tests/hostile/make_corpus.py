"""Files that strangers might send: more than 1200, made anew each time, the same each time.

python tests/hostile/make_corpus.py FOLDER      writes them as files, to look at
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import container_files
import numpy_files
import odd_files
import pickle_files
from cases import CASES

for module, parts in (
    (pickle_files, ("opcodes", "nesting", "work", "memory", "tensors", "storages")),
    (container_files, ("zips", "old", "tensors_files", "damage")),
    (numpy_files, ("arrays", "sparse", "pax")),
    (odd_files, ("calls", "states", "shared", "headers", "versions", "sizes")),
):
    for part in parts:
        getattr(module, part)()
assert len({c.name for c in CASES}) == len(CASES)

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for c in CASES:
        (folder / c.name).write_bytes(c.make())
    print(len(CASES), "files in", folder)
