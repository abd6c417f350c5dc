"""Builds the wheels for Pyodide into wheels/dist and a package index over them.

    python wheels/make.py [--target 314 029] [--out DIR] [--loose]

One wheel per generation of Pyodide (they differ in tags and bytecode, not in code),
and a stub `torch` wheel for indexes.
--loose lets kernel families without a file through.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import recipe
import runtime

ROOT = recipe.ROOT

BUDGET = 1_542_000  # bytes of one wheel without its WebGPU script; with it 1.6 MB
BUDGET_BRIDGE = 120_000  # bytes of that, compressed


def write_index(folder: pathlib.Path) -> pathlib.Path:
    """A PEP 503 index over the wheels of `folder`, as plain files under folder/simple."""
    simple = folder / "simple"
    by_name: dict[str, list[pathlib.Path]] = {}
    for wheel in sorted(folder.glob("*.whl")):
        by_name.setdefault(wheel.name.split("-")[0].replace("_", "-").lower(), []).append(wheel)
    for name, wheels in by_name.items():
        rows = []
        for w in wheels:
            digest = hashlib.sha256(w.read_bytes()).hexdigest()
            url = "../../" + w.name.replace("+", "%2B")
            rows.append(f'<a href="{html.escape(url)}#sha256={digest}">{html.escape(w.name)}</a><br>')
        page = simple / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<!DOCTYPE html>\n<html><body>\n" + "\n".join(rows) + "\n</body></html>\n")
    links = "\n".join(f'<a href="{n}/">{n}</a><br>' for n in by_name)
    (simple / "index.html").write_text(f"<!DOCTYPE html>\n<html><body>\n{links}\n</body></html>\n")
    return simple


def report(wheel: pathlib.Path) -> int:
    """Prints the size of a wheel and of its parts; returns the size."""
    size = wheel.stat().st_size
    parts: dict[str, int] = {}
    with zipfile.ZipFile(wheel) as z:
        for i in z.infolist():
            kind = pathlib.PurePosixPath(i.filename).suffix or "other"
            parts[kind] = parts.get(kind, 0) + i.compress_size
    text = ", ".join(f"{k} {v / 1000:.0f}" for k, v in sorted(parts.items(), key=lambda x: -x[1]) if v >= 1000)
    print(f"{wheel.relative_to(ROOT) if wheel.is_relative_to(ROOT) else wheel}: {size / 1000:.0f} kB (in kB: {text})")
    return size


def bridge_size(wheel: pathlib.Path) -> int:
    """Bytes that the WebGPU script takes in a wheel."""
    with zipfile.ZipFile(wheel) as z:
        return sum(i.compress_size for i in z.infolist() if i.filename == recipe.BRIDGE)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", nargs="*", choices=sorted(recipe.TARGETS), default=sorted(recipe.TARGETS, reverse=True))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "wheels" / "dist")
    p.add_argument("--loose", action="store_true")
    a = p.parse_args(argv)
    try:
        wheels = [recipe.make(recipe.TARGETS[t], a.out, strict=not a.loose) for t in a.target]
    except (recipe.BuildError, runtime.Missing) as e:
        print(f"wheel: {e}", file=sys.stderr)
        return 1
    sizes = [report(w) for w in wheels]
    report(recipe.make_torch_stub(a.out))
    write_index(a.out)
    bridges = [bridge_size(w) for w in wheels]
    if max(size - bridge for size, bridge in zip(sizes, bridges)) > BUDGET or max(bridges) > BUDGET_BRIDGE:
        print(f"wheel: over the budget of {BUDGET} bytes, or of {BUDGET_BRIDGE} for {recipe.BRIDGE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
