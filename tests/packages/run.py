"""Third-party packages on torchlite and on PyTorch: the same cases, their values compared.

    .venv/bin/python tests/packages/run.py [--pyodide] [--imports] [--write] [--cache FOLDER] [PACKAGE ...]

PACKAGE is a file of `cases`; without one, all. The first run installs the packages into FOLDER (.cache/packages), some
2 GB and five minutes. `--pyodide` runs the cases inside Pyodide on node as well, with those installed packages that
hold nothing compiled, and numpy; `--imports` measures the import of each package beside PyTorch's, in seconds of the
processor, the least of three. What Pyodide's distribution has and this machine has not (Pillow, SciPy) is there without
content; see stand_ins.py. `--write` writes what came out to demos/docs/packages.md: with PACKAGEs, their rows only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

import compiled

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "pyodide"))
TABLE = ROOT / "demos" / "docs" / "packages.md"
TORCH = "2.13.0"
TIMES = 3  # of a measurement, whose least counts
Rows = dict[tuple[str, str], list[str]]  # package, case -> the words for this Python and for Pyodide
Times = dict[str, tuple[float | None, float | None]]  # package -> seconds of its import here and under PyTorch
Own = dict[str, tuple[str, int, int]]  # package -> version, its tests that PyTorch passes, these that pass here
STUB = f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n"  # for pip and for importlib.metadata


def site(folder: pathlib.Path) -> pathlib.Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def install(folder: pathlib.Path) -> None:
    """An environment in which `import torch` is this tree; nothing in it is PyTorch's."""
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True)
    # each time: another clone may have made the folder
    (site(folder) / "torchlite.pth").write_text(f"{ROOT}\nimport torchlite; torchlite.install_as_torch()\n")
    if (folder / "done").exists():
        return
    info = site(folder) / f"torch-{TORCH}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(STUB)
    (info / "INSTALLER").write_text("pip")
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n")
    (folder / "constraints.txt").write_text(f"torch=={TORCH}\n")
    pip = [str(folder / "bin" / "pip"), "install", "-q", "-c", str(folder / "constraints.txt")]
    for line in (HERE / "requirements.txt").read_text().splitlines():  # one by one: one may fail
        if line and not line.startswith("#"):
            subprocess.run([*pip, *line.split()], check=False)
    (folder / "done").touch()


def pytorch_env(folder: pathlib.Path) -> dict[str, str]:
    """The variables with which this Python imports the packages, and PyTorch of its own environment."""
    real = folder / "real"
    real.mkdir(exist_ok=True)
    for found in pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/torch*"):
        if found.name == "torch" or found.name.startswith("torch-"):
            (real / found.name).exists() or (real / found.name).symlink_to(found)
    return {"PYTHONPATH": f"{real}:{site(folder)}"}


def cuda_libraries(folder: pathlib.Path) -> dict[str, str]:
    """The variables with which torchvision and torchaudio find the libraries that they are linked with."""
    audio = sorted((site(folder) / "torchaudio" / "lib").glob("*.so"))
    compiled.make([site(folder) / "torchvision" / "_C.so", *audio], folder / "cuda")
    return {"LD_PRELOAD": ":".join(map(str, sorted((folder / "cuda").glob("lib*.so*"))))}


def results(python: str, package: str, env: dict[str, str]) -> dict[str, dict]:
    command = [python, str(HERE / "worker.py"), package]
    out = subprocess.run(command, env={**os.environ, **env}, cwd="/", capture_output=True, text=True, timeout=1800)
    lines = [json.loads(line[5:]) for line in out.stdout.splitlines() if line.startswith("CASE ")]
    return {line["case"]: line for line in lines} or {"all": {"error": out.stderr[-300:]}}


COPIED = ("yaml", "markupsafe")  # of compiled distributions whose Python part is enough
COMPILED = (".so", ".pyd")
FOR_PAGES = ("httpx2-jsfetch",)  # what others require there only
LEFT_OUT = ("transformers",)  # it wants compiled ones, and others use it where it is found


def pure(folder: pathlib.Path) -> pathlib.Path:
    """A folder that Pyodide mounts: what is installed here and holds nothing compiled, by links to the same files, and
    the portable wheels of torchvision and torchaudio."""
    made = folder / "pure"
    if not (made / "done").exists():
        shutil.rmtree(made, ignore_errors=True)
        here = site(folder)

        def link(name: str) -> None:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).exists() or os.link(here / name, made / name)

        for info in importlib.metadata.distributions(path=[str(here)]):
            names = [str(f) for f in info.files or () if not str(f).startswith("..") and (here / str(f)).is_file()]
            copied = not {name.partition("/")[0] for name in names}.isdisjoint(COPIED)
            left_out = info.metadata["Name"] in LEFT_OUT or any(name.endswith(COMPILED) for name in names)
            if copied or not left_out:
                for name in names:
                    name.endswith((*COMPILED, ".pyc", ".pth")) or link(name)
        with tempfile.TemporaryDirectory() as wheels:
            command = [sys.executable, str(ROOT / "wheels" / "portable.py"), "--out", wheels]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", wheels, *FOR_PAGES]
            subprocess.run(command, check=True)
            for wheel in pathlib.Path(wheels).glob("*.whl"):
                zipfile.ZipFile(wheel).extractall(made)
        (made / "done").touch()
    return made


def in_pyodide(package: str, folder: pathlib.Path) -> dict[str, dict]:
    """The results of a package's cases inside Pyodide 0.29 on node, with numpy."""
    import run_node

    lock = pathlib.Path(run_node.runtime.pyodide("pyodide-029")) / "pyodide-lock.json"
    mounts = {"/pure": str(pure(folder))}
    env = {"PYTHONPATH": "/pure", "LOCK": "/project/" + str(lock.relative_to(ROOT))}
    argv = ["/project/tests/packages/worker.py", package]
    done = run_node.run(
        run_node.SCRIPT, argv, target="029", packages=("numpy",), mounts=mounts, env=env, timeout=900, capture=True
    )
    lines = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("CASE ")]
    return {line["case"]: line for line in lines}


def there(value: dict | None, real: dict) -> str:
    """The word for a case inside Pyodide."""
    if value is None:
        return "stops"
    missing = re.search(r"No module named '([\w.]+)'|requires? .*?(\w+) ", value.get("error", ""))
    if missing and "ModuleNotFoundError" in value["error"]:
        return "needs " + missing[1].partition(".")[0]
    return verdict(value, real).replace("|", "\\|")


def import_time(python: str, name: str, env: dict[str, str]) -> float | None:
    """Seconds of the processor in a process that imports torch and NAME, the least of three; None where it fails."""
    command, found = [python, "-W", "ignore", "-c", f"import torch, {name}"], []
    for _ in range(TIMES):
        before = _seconds_of_children()
        done = subprocess.run(command, env={**os.environ, **env}, cwd="/", capture_output=True, check=False)
        if done.returncode == 0:
            found.append(_seconds_of_children() - before)
    return min(found, default=None)


def _seconds_of_children() -> float:
    """What finished processes took of the processor: other work of the machine does not count."""
    times = os.times()
    return times.children_user + times.children_system


IMPORTS = """accelerate botorch captum diffusers e3nn einops entmax facenet_pytorch fastai.vision.all
    fvcore.nn geoopt gpytorch higher jaxtyping kan kornia lightning lpips opacus peft pyro pytorch_lightning
    pytorch_metric_learning safetensors.torch segmentation_models_pytorch sentence_transformers skorch
    stable_baselines3 tensordict tensorly timm torch_geometric torchcde torchcrepe torchdiffeq torchinfo
    torchmetrics torchode torchrl torchsde torchvision transformers vector_quantize_pytorch vit_pytorch
    x_transformers""".split()


def same(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict) and "head" in a and "head" in b:  # a tensor; see worker.plain
        scale = max((abs(v) for v in b["head"] if math.isfinite(v)), default=0.0)
        near = {"rel_tol": 2e-3, "abs_tol": max(2e-4, 1e-5 * scale)}  # of rounding next to its largest numbers
        pairs = zip([*a["head"], a["sum"]], [*b["head"], b["sum"]])
        return a["shape"] == b["shape"] and all(math.isclose(x, y, **near) or (x != x and y != y) for x, y in pairs)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=2e-3, abs_tol=2e-4) or (math.isnan(a) and math.isnan(b))
    return a == b


def verdict(lite: dict | None, real: dict) -> str:
    if "error" in real:
        return "PyTorch itself fails here: " + real["error"][:80]
    if lite is None or "error" in lite:
        return "stops: " + (lite or {}).get("error", "the process ended")[:110]
    return "same" if same(lite["value"], real["value"]) else "other values"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyodide", action="store_true")
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / ".cache" / "packages")
    parser.add_argument("packages", nargs="*")
    args = parser.parse_args()
    folder = args.cache.resolve()
    install(folder)
    files = sorted(p.stem for p in (HERE / "cases").glob("[a-z]*.py"))
    preload = cuda_libraries(folder)
    lite_python = str(folder / "bin" / "python")
    real_env = pytorch_env(folder) | {"CUDA_LIBRARIES": str(folder / "cuda")}
    rows = {}
    for package in args.packages or files:
        lite = results(lite_python, package, {})
        reference = results(sys.executable, package, real_env)
        page = in_pyodide(package, folder) if args.pyodide else None
        for case, value in reference.items():
            word = verdict(lite.get(case), value).replace("|", "\\|")
            inside = there(page.get(case), value) if page is not None else ""
            rows[package, case] = [word, inside]
            print(f"{package:24}{case:28}{word:24}{inside}", flush=True)
    good = sum(word == "same" for word, _ in rows.values())
    print(f"{good} of {len(rows)} cases give PyTorch's values")
    times = {}
    for name in IMPORTS if args.imports else ():
        times[name] = import_time(lite_python, name, {}), import_time(sys.executable, name, real_env | preload)
        print(f"{name:28}", *times[name], flush=True)
    if args.write:
        kept = {key: row for key, row in read_rows().items() if args.packages and key[0] not in args.packages}
        write({**kept, **rows}, times)
    return 0 if good == len(rows) else 1


def _lines(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the page."""
    text = TABLE.read_text() if TABLE.exists() else ""
    part = text.partition(heading)[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def read_rows() -> Rows:
    return {(row[0], row[1]): (row[2:] + [""])[:2] for row in _lines("# Third-party packages")}


def read_own() -> Own:
    return {row[0]: (row[1], int(row[2]), int(row[3])) for row in _lines("## The packages' own tests")}


def write(rows: Rows | None = None, times: Times | None = None, own: Own | None = None) -> None:
    """Writes the page; what is not given stays."""
    text = page_text(rows or read_rows(), times or read_times()) + own_text(own or read_own())
    TABLE.write_text(text)


def read_times() -> Times:
    return {row[0]: (_number(row[1]), _number(row[2])) for row in _lines("## Import times")}


def _number(cell: str) -> float | None:
    return float(cell) if cell != "fails" else None


def own_text(own: Own) -> str:
    if not own:
        return ""
    here, wanted = (sum(row[k] for row in own.values()) for k in (2, 1))
    text = (
        f"\n## The packages' own tests\n\nWritten by `tests/packages/own_tests.py --write`: of {wanted} tests that "
        f"pass under PyTorch\n{TORCH}, {here} pass here.\n\n| package | version | PyTorch | torchlite |\n"
        "| --- | --- | --- | --- |\n"
    )
    return text + "".join("| %s | %s | %d | %d |\n" % (name, *row) for name, row in sorted(own.items()))


def page_text(rows: Rows, times: Times) -> str:
    good, inside = (sum(row[k] == "same" for row in rows.values()) for k in (0, 1))
    tried = sum(row[1] != "" for row in rows.values())
    text = (
        f"# Third-party packages\n\nWritten by `tests/packages/run.py --write`. {good} of {len(rows)} cases give "
        f"PyTorch {TORCH}'s values; inside\nPyodide 0.29 on node {inside} of {tried} that were tried. `needs` names a "
        "dependency that was not there, in most cases a compiled\none. Pillow, SciPy and what else Pyodide's "
        "distribution has are there without content (`tests/packages/stand_ins.py`):\na case that uses one "
        "`needs` it.\n\n| package | case | result | in Pyodide |\n"
        "| --- | --- | --- | --- |\n"
    )
    text += "".join("| %s | %s | %s | %s |\n" % (*key, *row) for key, row in sorted(rows.items()))
    if times:
        text += "\n## Import times\n\nSeconds of the processor in a process that imports torch and the package.\n\n"
        text += "| package | torchlite | PyTorch |\n| --- | --- | --- |\n"
        for name, pair in sorted(times.items()):
            text += "| %s | %s | %s |\n" % (name, *("fails" if t is None else f"{t:.2f}" for t in pair))
    return text


if __name__ == "__main__":
    sys.exit(main())
