"""Writes goldens.json: what every program here prints under PyTorch. Run it with a Python that has torch."""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OWN = {"make_goldens.py", "compare.py", "test_programs.py"}


def main(names):
    path = HERE / "goldens.json"
    goldens = json.loads(path.read_text()) if path.exists() else {}
    programs = {p.stem: p for p in sorted(HERE.glob("*.py")) if p.name not in OWN}
    for name, program in programs.items():
        if names and name not in names:
            continue
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True, check=True
        )
        goldens[name] = done.stdout
    path.write_text(
        json.dumps(
            {k: goldens[k].split("\n") if isinstance(goldens[k], str) else goldens[k] for k in sorted(programs)},
            indent=0,
        )
        + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
