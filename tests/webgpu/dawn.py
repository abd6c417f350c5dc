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


def program(name: str, files: str, why: str) -> str:
    """A JavaScript runtime: the variable of its name in capitals, in the PATH, or among the npm packages of js_bridge,
    which are installed where they are not. `why`: when these have none."""
    found = os.environ.get(name.upper()) or shutil.which(name)
    if found:
        return found
    file = next((p for p in sorted(modules().glob(files)) if p.stem == name), None)
    if file is None:
        raise runtime.Missing(f"{name} is not installed: put it in the PATH or name it in {name.upper()}; {why}")
    file.chmod(0o755)
    return str(file)


def deno() -> str:
    """Deno, which has a WebGPU of its own."""
    return program("deno", "@deno/*/deno*", "the npm package deno has none for this platform")


def bun() -> str:
    """Bun."""
    return program("bun", "@oven/bun-*/bin/bun", "its npm packages here are those for Linux and macOS on ARM")


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
