"""Writes goldens.json, and examples.json for the Playground's examples: what every program prints under PyTorch.
Run it with a Python that has torch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PLAYGROUND = HERE.parents[1] / "demos" / "playground"
OWN = {"make_goldens.py", "compare.py", "test_programs.py"}


def record(path, programs, names):
    goldens = json.loads(path.read_text()) if path.exists() else {}
    env = {**os.environ, "PYTHONPATH": str(PLAYGROUND / "python")}
    for name, program in programs.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:  # some save files
            done = subprocess.run(
                [sys.executable, "-W", "ignore", str(program)],
                capture_output=True,
                text=True,
                check=True,
                cwd=folder,
                env=env,
            )
        goldens[name] = done.stdout
    path.write_text(
        json.dumps(
            {k: goldens[k].split("\n") if isinstance(goldens[k], str) else goldens[k] for k in sorted(programs)},
            indent=0,
        )
        + "\n"
    )


def main(names):
    record(HERE / "goldens.json", {p.stem: p for p in sorted(HERE.glob("*.py")) if p.name not in OWN}, names)
    examples = {p.stem: p for p in sorted((PLAYGROUND / "examples").glob("*.py"))}
    record(HERE.parent / "demos" / "examples.json", examples, names)


if __name__ == "__main__":
    main(sys.argv[1:])
