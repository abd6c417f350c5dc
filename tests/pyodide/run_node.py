"""Runs tests or a script inside Pyodide on node, with our wheel installed.

    python tests/pyodide/run_node.py [--target 314|029] tests/unit/ops/test_joining.py -k name ...     pytest in Pyodide
    python tests/pyodide/run_node.py --script file.py [args ...]                             any script
    python tests/pyodide/run_node.py -c "import torch; print(torch.ones(2))"
    python tests/pyodide/run_node.py --webgpu -c "import torch; print(torch.ones(2, device='webgpu'))"
    python tests/pyodide/run_node.py --deno tests/webgpu/test_core.py                        the same in Deno,
    with Deno's WebGPU

The current folder is not the source tree, so that the wheel is what is imported.
Tests that compare with real PyTorch skip there: in pytest runs the name `torch` is taken away from the wheel, so that
nothing is compared with itself.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "webgpu"))
import dawn
import dist as distribution
from dist import ROOT, runtime

PYTEST = """
import os, shutil, sys, site
here = site.getsitepackages()[0]
shutil.rmtree(os.path.join(here, "torch"), ignore_errors=True)
import pytest
options = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "-c", "/project/pyproject.toml", "--rootdir", "/project"]
int(pytest.main([*options, *argv]))
"""
SCRIPT = """
import os, sys, runpy
sys.argv = list(argv)
sys.path.insert(0, os.path.dirname(argv[0]))
code = 0
try:
    runpy.run_path(argv[0], run_name="__main__")
except SystemExit as e:                     # asyncio would let it through to node, as an error
    code = e.code if isinstance(e.code, int) else 0 if e.code is None else print(e.code, file=sys.stderr) or 1
code
"""
COMMAND = """
import os, sys
sys.argv = ["-c", *argv[1:]]
await __import__("pyodide").code.eval_code_async(argv[0], {"__name__": "__main__"})
0
"""


def run(
    code: str,
    argv: list[str],
    *,
    target: str = "314",
    packages: tuple[str, ...] = (),
    mounts: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    install: bool = True,
    timeout: float | None = None,
    capture: bool = False,
    webgpu: bool = False,
    deno: bool = False,
    wheels: pathlib.Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh Pyodide; the list `argv` is a global of it. /project is the source tree.
    With `webgpu` there is navigator.gpu, from Dawn. `deno` runs it in Deno, which has a navigator.gpu of its own."""
    folder = distribution.prepare(target, wheels)
    wheel = distribution.wheel(target, folder)
    job = {
        "dist": str(folder),
        "wheel": str(wheel) if install else None,
        "wheelName": wheel.name,
        "packages": ["micropip", *packages],
        "mounts": {"/project": str(ROOT), **(mounts or {})},
        "env": {
            "PYTHONDONTWRITEBYTECODE": "1",
            **{k: v for k, v in os.environ.items() if k.startswith("TORCHLITE_")},
            **(env or {}),
        },
        "argv": argv,
        "code": code,
        "webgpu": str(dawn.modules() / "webgpu" / "index.js") if webgpu and not deno else None,
    }
    script = str(pathlib.Path(__file__).with_name("runner.mjs"))
    if deno:
        cmd = [dawn.deno(), "run", "--no-config", "--no-lock", "--allow-all", "--v8-flags=--stack-size=4000", script]
    else:
        cmd = [runtime.node(), "--stack-size=4000", script]
    return subprocess.run(
        cmd,
        input=json.dumps(job),
        text=True,
        check=False,
        timeout=timeout,
        env=dawn.environment() if webgpu or deno else runtime.environment(),
        capture_output=capture,
    )


def inside(arg: str) -> str:
    """A path of the source tree as Pyodide sees it."""
    path = pathlib.Path(arg.split("::")[0])
    if arg and not arg.startswith("-") and path.exists() and path.resolve().is_relative_to(ROOT):
        rest = arg[len(str(path)) :] if arg.startswith(str(path)) else ""
        return "/project/" + path.resolve().relative_to(ROOT).as_posix() + rest
    return arg


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="314", choices=["314", "029"])
    p.add_argument("--script", action="store_true")
    p.add_argument("-c", dest="command")
    p.add_argument("--webgpu", action="store_true", help="navigator.gpu from Dawn; needs a Vulkan driver")
    p.add_argument("--deno", action="store_true", help="in Deno, with Deno's own WebGPU; needs a Vulkan driver")
    p.add_argument("--packages", default="", help="comma list of Pyodide packages to load, e.g. numpy")
    a, rest = p.parse_known_args(argv)
    packages = tuple(x for x in a.packages.split(",") if x)
    options: dict[str, Any] = {"target": a.target, "packages": packages, "webgpu": a.webgpu, "deno": a.deno}
    try:
        if a.command is not None:
            return run(COMMAND, [a.command, *rest], **options).returncode
        args = [inside(r) for r in rest]
        if a.script:
            return run(SCRIPT, args, **options).returncode
        if not any(x.startswith("/project/") for x in args):
            args = [
                *(
                    f"/project/tests/{n}"
                    for n in ("unit", "ops", "hostile", "programs")
                    if (ROOT / "tests" / n).is_dir()
                ),
                *args,
            ]
        return run(PYTEST, args, **{**options, "packages": ("pytest", *packages)}).returncode
    except runtime.Missing as e:
        print(f"run_node: {e}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
