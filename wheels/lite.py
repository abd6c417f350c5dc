"""Builds a package for JupyterLite out of the wheels in wheels/dist, which make wheel makes.

    python wheels/lite.py [--wheels DIR] [--out DIR]

It is installed beside JupyterLite; the sites that are built there have torchlite (see jupyterlite/addon.py).
"""

from __future__ import annotations

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "native"))
import backend

NAME = "torchlite-jupyterlite"
REQUIRES = "jupyterlite-pyodide-kernel>=0.8,<0.9"
ENTRY = "[jupyterlite.addon.v0]\ntorchlite = torchlite_jupyterlite:TorchliteAddon\n"


def build(wheels: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    version = backend.project()["version"]
    found = sorted([*wheels.glob(f"torchlite-{version}-*pyemscripten_*.whl"), *wheels.glob(f"torch-*.{version}-*.whl")])
    if not any("2026_0" in wheel.name for wheel in found) or not any(w.name.startswith("torch-") for w in found):
        raise SystemExit(f"the wheels of torchlite {version} for Pyodide are not in {wheels}: make wheel builds them")
    dist = f"{NAME.replace('-', '_')}-{version}"
    files = {f"torchlite_jupyterlite/wheels/{wheel.name}": wheel.read_bytes() for wheel in found}
    files["torchlite_jupyterlite/__init__.py"] = (ROOT / "wheels" / "jupyterlite" / "addon.py").read_bytes()
    files[f"{dist}.dist-info/entry_points.txt"] = ENTRY.encode()
    meta = [
        *("Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {version}"),
        "Summary: PyTorch code in the notebooks of a JupyterLite site, by torchlite",
        *("Requires-Python: >=3.9", f"Requires-Dist: {REQUIRES}"),
    ]
    return backend.write_wheel(out, "py3-none-any", files, dist=dist, meta="\n".join([*meta, ""]).encode(), pure=True)


def main() -> None:
    dist = ROOT / "wheels" / "dist"
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheels", type=pathlib.Path, default=dist)
    # in a folder of its own: no page installs it
    parser.add_argument("--out", type=pathlib.Path, default=dist / "jupyterlite")
    options = parser.parse_args()
    wheel = build(options.wheels, options.out)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
