"""What WebGPU under node needs: the npm package `webgpu` (Dawn) of js_bridge, and a Vulkan library with a driver.
The software driver is that of Debian's chromium package; VK_ICD_FILENAMES names another one."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JS = ROOT / "js_bridge"
sys.path.insert(0, str(ROOT / "wheels"))
import runtime

CHROMIUM = ("/usr/lib/chromium", "/usr/lib64/chromium-browser", "/opt/google/chrome")


def modules() -> pathlib.Path:
    """node_modules of js_bridge, installed where they are not."""
    return runtime.npm_packages(JS)


def deno() -> str:
    """Deno, which has a WebGPU of its own:
    in DENO, in the PATH or among the npm packages of js_bridge, installed where they lack it."""
    found = os.environ.get("DENO") or shutil.which("deno")
    if found:
        return found
    program = next((p for p in sorted(modules().glob("@deno/*/deno*")) if p.name in ("deno", "deno.exe")), None)
    if program is None:
        raise runtime.Missing(
            "Deno is not installed: put it in the PATH or name it in DENO; "
            "the npm package deno has none for this platform, or the npm registry is not reachable"
        )
    program.chmod(0o755)
    return str(program)


def bun() -> str:
    """Bun: in BUN, in the PATH or among the npm packages of js_bridge."""
    found = os.environ.get("BUN") or shutil.which("bun")
    if found:
        return found
    program = next(iter(sorted(modules().glob("@oven/bun-*/bin/bun"))), None)
    if program is None:
        raise runtime.Missing(
            "Bun is not installed: put it in the PATH or name it in BUN; among the npm packages it is for Linux and "
            "macOS on ARM only"
        )
    program.chmod(0o755)
    return str(program)


def lavapipe() -> str:
    """The description of Mesa's software Vulkan driver, for VK_ICD_FILENAMES: it has shader-f16.
    Dawn does not take it, Deno does."""
    found = next(iter(sorted(pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))), None)
    if found is None:
        raise runtime.Missing(
            "Mesa's software Vulkan driver, which has shader-f16, is not installed: apt-get install mesa-vulkan-drivers"
        )
    return str(found)


def environment() -> dict[str, str]:
    """The environment node must be started with: the dynamic linker reads LD_LIBRARY_PATH only then."""
    env = runtime.environment()
    if "VK_ICD_FILENAMES" in env or "VK_DRIVER_FILES" in env or sys.platform != "linux":
        return env
    for folder in CHROMIUM:
        icd = pathlib.Path(folder, "vk_swiftshader_icd.json")
        if icd.exists() and pathlib.Path(folder, "libvulkan.so.1").exists():
            env["LD_LIBRARY_PATH"] = os.pathsep.join([folder, *filter(None, [env.get("LD_LIBRARY_PATH")])])
            env["VK_ICD_FILENAMES"] = str(icd)
            break
    return env
