"""Makes torchlite known to a Pyodide by name: `python -m torchlite.lock`.

    python -m torchlite.lock pyodide-lock.json WHEEL [WHEEL ...] [--packages URL] [--output FILE]

Reads the lock file of a Pyodide release (a file or an address) and writes it with torchlite in it. A page that loads
Pyodide with it (`loadPyodide({lockFileURL})`) finds the package without an address:

    await pyodide.loadPackagesFromImports("import torch")
    await micropip.install("torchlite")        # from Python
    packages = ["torch"]                        # in a PyScript configuration

WHEEL: the torchlite wheel of that Pyodide and, for packages that require `torch`, the wheel of that name; of several
torchlite wheels the one that fits is taken. A relative file name in a lock file counts from the folder of the lock
file. So the written file goes into the folder of the wheels, and `--packages` says where Pyodide's own packages are:
by default the folder that the lock file was read from, where that is an address.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import zipfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    Lock = dict[str, Any]


class LockError(Exception):
    """What keeps a lock file from being written; the text says what to do."""


def _split(wheel: str) -> tuple[str, str, list[str]]:
    """Distribution, version and platform tags of a wheel's file name."""
    parts = os.path.basename(wheel).removesuffix(".whl").split("-")
    if not wheel.endswith(".whl") or len(parts) not in (5, 6):
        raise LockError(f"{wheel} is not the name of a wheel")
    return parts[0].lower().replace("_", "-"), parts[1], parts[-1].split(".")


def _fits(platforms: list[str], abi: str) -> bool:
    return bool({"any", f"pyodide_{abi}_wasm32", f"pyemscripten_{abi}_wasm32"} & set(platforms))


def _imports(wheel: str) -> list[str]:
    """The modules that a wheel brings, from its top_level.txt."""
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if name.endswith(".dist-info/top_level.txt"):
                return z.read(name).decode().split()
    return []


def _requires(wheel: str) -> list[str]:
    """The distributions that a wheel requires."""
    with zipfile.ZipFile(wheel) as z:
        meta = next(n for n in z.namelist() if n.endswith(".dist-info/METADATA") and ".data/" not in n)
        lines = z.read(meta).decode().partition("\n\n")[0].splitlines()
    names = (line.removeprefix("Requires-Dist:").strip() for line in lines if line.startswith("Requires-Dist:"))
    return [name.partition(";")[0].partition("==")[0].strip().lower() for name in names if ";" not in name]


def extend(lock: Lock, wheels: Sequence[str], packages: str = "") -> Lock:
    """A copy of the contents of a pyodide-lock.json with an entry for each wheel that fits its Pyodide.

    packages: the address that relative file names of the other entries count from; they are made absolute with it.
    LockError where no torchlite wheel fits.
    """
    try:
        abi, old = lock["info"]["abi_version"], lock["packages"]
    except (KeyError, TypeError):
        raise LockError("this is not a pyodide-lock.json: it has no info.abi_version or no packages") from None
    new = {name: dict(entry) for name, entry in old.items()}
    if packages:
        for entry in new.values():
            if "://" not in entry["file_name"]:
                entry["file_name"] = packages.rstrip("/") + "/" + entry["file_name"]
    found = [w for w in wheels if _fits(_split(w)[2], abi)]
    if not any(_split(w)[0] == "torchlite" for w in found):
        there = ", ".join(os.path.basename(w) for w in wheels) or "none"
        raise LockError(f"no torchlite wheel for Pyodide's ABI {abi} among {there}")
    for wheel in found:
        name, version, _ = _split(wheel)
        with open(wheel, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        new[name] = {
            "depends": _requires(wheel),
            "file_name": os.path.basename(wheel),
            "imports": _imports(wheel),
            "install_dir": "site",
            "name": name,
            "package_type": "package",
            "sha256": digest,
            "unvendored_tests": False,
            "version": version,
        }
    return {**lock, "packages": new}


def _read(place: str) -> Lock:
    if "://" in place:
        from urllib.request import urlopen

        with urlopen(place) as answer:
            text = answer.read()
    else:
        with open(place, "rb") as file:
            text = file.read()
    try:
        return dict(json.loads(text))
    except ValueError:
        raise LockError(f"{place} is not JSON") from None


def main(argv: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(
        prog="python -m torchlite.lock", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("lock", help="the pyodide-lock.json of a Pyodide release, a file or an address")
    p.add_argument("wheels", nargs="+", metavar="WHEEL")
    p.add_argument("--packages", default="", metavar="URL", help="where Pyodide's own packages are")
    p.add_argument("--output", "-o", metavar="FILE", help="default: pyodide-lock.json beside the first wheel")
    a = p.parse_args(argv)
    output = a.output or os.path.join(os.path.dirname(a.wheels[0]), "pyodide-lock.json")
    try:
        lock = extend(_read(a.lock), a.wheels, a.packages or (a.lock.rpartition("/")[0] if "://" in a.lock else ""))
    except (LockError, OSError) as error:
        print(f"python -m torchlite.lock: {error}", file=sys.stderr)
        return 1
    with open(output, "w", encoding="utf-8") as file:
        json.dump(lock, file)
    names = [n for n in ("torchlite", "torch") if n in lock["packages"]]
    print(f"{output}: {len(lock['packages'])} packages, {' and '.join(names)} among them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
