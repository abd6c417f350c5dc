"""Builds the demo site from a fresh clone and serves it: `make demo`.

    python demos/start.py [--no-serve] [options of serve.py]
    python demos/start.py --tool wheels/make.py [its options]      that file in the same environment

Needs Python >= 3.11 with headers, node and npm. What it downloads, once: a C compiler (ziglang, about 100 MB, into
.build/env) and Pyodide, PyScript and the editor (about 20 MB, into demos/node_modules). The packages that tests need
are not touched; where .venv has the compiler already, that one is used.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "wheels"))

ENV = ROOT / ".build" / "env"
WIDTH = 30  # of a progress bar


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class Step:
    """One line of the terminal: what is done, how far it is, and how long it took."""

    def __init__(self, text: str) -> None:
        self.text, self.began, self.drawn = text, time.monotonic(), 0
        print(text, end="", flush=True)

    def progress(self, part: float) -> None:
        filled = round(part * WIDTH)
        if sys.stdout.isatty() and filled != self.drawn:
            self.drawn = filled
            print(f"\r{self.text} [{'#' * filled:<{WIDTH}}]", end="", flush=True)

    def done(self, what: str = "") -> None:
        start = "\r\x1b[K" + self.text if self.drawn else ""
        print(f"{start}: {what + ', ' if what else ''}{time.monotonic() - self.began:.0f} s", flush=True)


def has_compiler(python: Path) -> bool:
    return (
        python.exists()
        and not subprocess.run(
            [python, "-c", "import ziglang"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        ).returncode
    )


def install_compiler() -> Path:
    """A Python that has the compiler: that of the tests where it is, else one of our own."""
    for environment in (ROOT / ".venv", ENV):
        if has_compiler(python_of(environment)):
            return python_of(environment)
    with open(ROOT / "pyproject.toml", "rb") as file:
        wanted = tomllib.load(file)["build-system"]["requires"]
    subprocess.run([sys.executable, "-m", "venv", ENV], check=True)
    pip = [python_of(ENV), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, *wanted], check=True)
    return python_of(ENV)


def install() -> Path:
    """The compiler and the npm packages, both at once."""
    import runtime

    step = Step("[1/3] a C compiler, Pyodide, PyScript and the editor (about 120 MB, the first time)")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        packages = pool.submit(runtime.npm_packages, ROOT / "demos")
        python = install_compiler()
        try:
            packages.result()
        except runtime.Missing as error:
            raise SystemExit(f"\n{error}") from None
    step.done()
    return python


def build() -> None:
    """The wheel and the site, in a Python that has the compiler."""
    import make as wheels
    import recipe

    step = Step("[2/3] torchlite for Pyodide")
    out = ROOT / "wheels" / "dist"
    try:
        wheel = recipe.make(recipe.TARGETS["314"], out, progress=step.progress)
    except (recipe.BuildError, recipe.runtime.Missing) as error:
        raise SystemExit(f"\n{error}") from None
    recipe.make_torch_stub(out)
    wheels.write_index(out)
    step.done(f"{wheel.stat().st_size / 1e6:.1f} MB")
    step = Step("[3/3] the site")
    command = [sys.executable, ROOT / "demos" / "build.py", "--wheel", wheel]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"\n{done.stdout}")
    step.done(done.stdout.splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--no-serve", action="store_true", help="build only")
    options.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--tool", metavar="FILE", help="run this file of the project and no more")
    mine, others = options.parse_known_args()
    if mine.tool:
        python = install_compiler()
        os.execv(python, [str(python), str(ROOT / mine.tool), *others])
    if mine.build:
        build()
        return
    python = install()
    child = subprocess.run([python, __file__, "--build"], check=False)
    if child.returncode:
        raise SystemExit(child.returncode)
    if not mine.no_serve:
        os.execv(python, [str(python), str(ROOT / "demos" / "serve.py"), *others])


if __name__ == "__main__":
    main()
