"""Makes .venv with everything that building and testing needs; called by make, does nothing when it is up to date.

python3 tests/setup_env.py
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "tests" / "requirements.txt"
TORCH = "torch==2.13.0"
MESA = "mesa-vulkan-drivers"  # a software Vulkan driver with shader-f16
APT = {"node": "nodejs npm", "chromium": "chromium", "chromedriver": "chromium-driver", "firefox-esr": "firefox-esr"}


def venv_python() -> pathlib.Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python_packages() -> None:
    want = hashlib.sha256(REQUIREMENTS.read_bytes() + TORCH.encode()).hexdigest()
    stamp = VENV / "torchlite-requirements"
    if stamp.exists() and stamp.read_text() == want:
        return
    print("setting up .venv ...", flush=True)
    if not venv_python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pip = [str(venv_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    if subprocess.run([*pip, TORCH], check=False).returncode:
        print(f"note: {TORCH} could not be installed; tests that compare with it will skip", file=sys.stderr)
        want = ""  # try again next time
    stamp.write_text(want)


def system_packages() -> None:
    """Browsers, node and a Vulkan driver, where this is a machine that lets us install them; else says what to type."""
    missing = [pkg for exe, pkg in APT.items() if shutil.which(exe) is None]
    if sys.platform == "linux" and not any(pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")):
        missing.append(MESA)
    if not missing:
        return
    command = "apt-get install -y --no-install-recommends " + " ".join(missing)
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {' '.join(missing)} ...", flush=True)
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=env, stdout=subprocess.DEVNULL)
        done = subprocess.run([*command.split(), "-qq"], check=False, env=env, stdout=subprocess.DEVNULL)
        if done.returncode == 0:
            return
    print(
        f"note: {', '.join(missing)} not found, tests that need them will skip. To have them: {command}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    python_packages()
    if "--no-system" not in sys.argv:
        system_packages()
