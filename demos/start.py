"""Builds the demo site from a fresh clone and serves it: `make demo`.

    python demos/start.py [--no-serve] [--weights] [--tfjs] [options of serve.py]
    python demos/start.py --tool wheels/make.py [its options]      that file in the same environment

Needs Python >= 3.11 with headers, node and npm. What it downloads, once: a C compiler and the docs' builder (ziglang
and mkdocs-material, about 125 MB, into .build/env), Pyodide, PyScript and the editor (about 20 MB, into
demos/node_modules). The packages that tests need are not touched; where .venv has these already, that one is used.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import serve

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


def has(python: Path, *modules: str) -> bool:
    code = "import " + ", ".join(modules)
    return (
        python.exists()
        and not subprocess.run(
            [python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        ).returncode
    )


def install_packages(*modules: str) -> Path:
    """A Python that has the compiler and these modules: that of the tests where it has them, else one of our own."""
    for environment in (ROOT / ".venv", ENV):
        if has(python_of(environment), "ziglang", *modules):
            return python_of(environment)
    with open(ROOT / "pyproject.toml", "rb") as file:
        wanted = tomllib.load(file)["build-system"]["requires"]
    if modules:
        pinned = (ROOT / "tests" / "requirements.txt").read_text().splitlines()
        wanted += [line.partition("#")[0].strip() for line in pinned if line.startswith("mkdocs-material")]
    subprocess.run([sys.executable, "-m", "venv", ENV], check=True)
    pip = [python_of(ENV), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, *wanted], check=True)
    return python_of(ENV)


def install() -> Path:
    """The Python packages and those of npm, both at once."""
    import runtime

    step = Step("[1/3] a C compiler, Pyodide, PyScript, the editor and mkdocs (about 145 MB, the first time)")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        packages = pool.submit(runtime.npm_packages, ROOT / "demos")
        python = install_packages("material")
        try:
            packages.result()
        except runtime.Missing as error:
            raise SystemExit(f"\n{error}") from None
    step.done()
    return python


def build(options: list[str]) -> None:
    """The wheel and the site, in a Python that has the compiler. options: of build.py"""
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
    command = [sys.executable, ROOT / "demos" / "build.py", "--wheel", wheel, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"\n{done.stdout}")
    step.done(done.stdout.splitlines()[-1])


def main() -> None:
    served = serve.options(add_help=False)
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[served])
    options.add_argument("--no-serve", action="store_true", help="build only")
    options.add_argument("--weights", action="store_true", help="with the published weights of demos, some 110 MB more")
    options.add_argument("--tfjs", action="store_true", help="with TensorFlow.js, which the Speed page measures too")
    options.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--tool", metavar="FILE", help="run this file of the project and no more")
    given, others = options.parse_known_args()
    if given.tool:
        python = install_packages()
        os.execv(python, [str(python), str(ROOT / given.tool), *others])
    options.parse_args()  # an option that it does not know ends here, not after the build
    more = [f"--{name}" for name in ("weights", "tfjs") if getattr(given, name)]
    if given.build:
        build(more)
        return
    python = install()
    child = subprocess.run([python, __file__, "--build", *more], check=False)
    if child.returncode:
        raise SystemExit(child.returncode)
    if not given.no_serve:
        flags = [f"--{name.replace('_', '-')}" for name in ("isolated", "no_browser") if getattr(given, name)]
        os.execv(python, [str(python), str(ROOT / "demos" / "serve.py"), "--port", str(given.port), *flags])


if __name__ == "__main__":
    main()
