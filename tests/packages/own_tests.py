"""The tests that packages ship, on torchlite and on PyTorch.

    .venv/bin/python tests/packages/own_tests.py [--write] [--again] [--verbose] [--cache FOLDER] [PACKAGE ...]

A package's tests come from its source distribution, of the version that tests/packages/run.py installed, or lie in
the installed package. They run under PyTorch first; what passes there is the reference, and is kept in the cache
until `--again`. `--verbose` names the tests that pass there and do not here. `--write` writes the counts to
demos/docs/packages.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import pathlib
import shlex
import subprocess
import sys
import tarfile
import zlib

import run

HERE = pathlib.Path(__file__).resolve().parent
# package -> the tests, in the folder of its sources, and options of pytest. `--pyargs`: they are in the installed one
TESTS = {
    "accelerate": "tests/test_accelerator.py tests/test_big_modeling.py tests/test_data_loader.py tests/test_hooks.py "
    "tests/test_kwargs_handlers.py tests/test_modeling_utils.py tests/test_offload.py tests/test_optimizer.py "
    "tests/test_scheduler.py tests/test_utils.py",
    # the others compile each module, which takes PyTorch a quarter of an hour
    "e3nn": "tests/math tests/nn tests/o3/irreps_test.py tests/o3/linear_test.py tests/o3/norm_test.py "
    "tests/o3/reduce_tensor_test.py tests/o3/rotation_test.py tests/o3/s2_test.py tests/o3/wigner_test.py "
    "tests/o3/angular_spherical_harmonics_test.py tests/o3/cartesian_spherical_harmonics_test.py tests/util "
    "tests/defaults_test.py",
    "einops": "einops/tests",
    "entmax": "--pyargs entmax",
    "gpytorch": "test",
    "linear-operator": "test",
    "nflows": "tests",
    "opacus": "opacus/tests --ignore=opacus/tests/privacy_engine_test.py",  # whole trainings: minutes each
    "opt-einsum": "--pyargs opt_einsum",
    # without those that load models of a hub, and one file of many models for each method
    "peft": " ".join(
        "tests/test_%s.py" % name
        for name in "config bufferdict cpt custom_models incremental_pca initialization integrations lora_variants "
        "lorafa loraplus low_level_api mapping mixed osf other poly pvera randlora shira tuners_utils vera "
        "xlora".split()
    ),
    "segmentation-models-pytorch": "tests",
    "skorch": "skorch/tests -k 'not Multiprocessing and not dask'",
    # without whole trainings
    "stable_baselines3": " ".join(
        "tests/test_%s.py" % name
        for name in "buffers custom_policy deterministic distributions envs gae predict preprocessing save_load sde "
        "spaces train_eval_mode utils vec_check_nan vec_extract_dict_obs vec_stacked_obs".split()
    ),
    "tensorly": "--pyargs tensorly",
    "timm": "tests --ignore=tests/test_models.py",  # whole models of full size: minutes each
    "torchsde": "tests",
}
ENV = {"einops": {"EINOPS_TEST_BACKENDS": "numpy,torch"}, "tensorly": {"TENSORLY_BACKEND": "pytorch"}}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "agg"}
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
RESTARTS = 8  # of a process that ended inside a test


def version(package: str, folder: pathlib.Path) -> str:
    found = importlib.metadata.distributions(name=package, path=[str(run.site(folder))])
    return next(iter(found)).version


def sources(package: str, folder: pathlib.Path) -> pathlib.Path:
    """The folder of a package's source distribution, of the installed version."""
    made = folder / "own" / package
    if not made.exists():
        loaded = folder / "own" / "sdist"
        what = f"{package}=={version(package, folder)}"
        pip = [str(folder / "bin" / "pip"), "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(loaded)]
        subprocess.run([*pip, what], check=True)
        stem = package.replace("-", "_")
        archive = next(p for p in loaded.glob("*.tar.gz") if p.name.replace("-", "_").startswith(stem + "_"))
        with tarfile.open(archive) as tar:
            tar.extractall(made, filter="data")
    return next(p for p in made.iterdir() if p.is_dir())


def log_of(out: pathlib.Path) -> pathlib.Path:
    """What pytest printed."""
    return out.with_name(out.name + ".log")


def outcomes(python: str, package: str, out: pathlib.Path, where: pathlib.Path, env: dict[str, str]) -> dict[str, str]:
    """test -> passed, failed, skipped, xfailed or start (the process ended in it)."""
    out.parent.mkdir(parents=True, exist_ok=True)
    options = [
        "-q",
        "--tb=short",
        "--continue-on-collection-errors",
        "-p",
        "outcomes",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    command = [python, "-m", "pytest", *options, f"--rootdir={where}", *shlex.split(TESTS[package])]
    path = os.pathsep.join(p for p in (env.get("PYTHONPATH", ""), str(HERE)) if p)
    full = {**os.environ, **OFFLINE, **ALONE, **ENV.get(package, {}), **env}
    full |= {"PYTHONPATH": path, "OWN_TESTS_OUT": str(out)}
    for _ in range(RESTARTS):
        with log_of(out).open("a", encoding="utf-8") as log:
            done = subprocess.run(command, env=full, cwd=where, stdout=log, stderr=log, check=False)
        if done.returncode >= 0 and done.returncode != 3:  # no signal, and no internal error
            break
    lines = (line.rstrip("\n").partition(" ") for line in out.open(encoding="utf-8")) if out.exists() else ()
    return {test: outcome for outcome, _, test in lines}


def compare(package: str, folder: pathlib.Path, real_env: dict[str, str], again: bool) -> tuple[list[str], int]:
    """The tests that pass under PyTorch and not on torchlite, and how many pass under PyTorch."""
    where, kept = folder, folder / "own" / "results"
    if "--pyargs" not in TESTS[package]:
        where = sources(package, folder)
    which = "%08x" % zlib.crc32(TESTS[package].encode())  # another choice of tests has another reference
    stem = f"{package}-{version(package, folder)}-{which}"
    reference, here = (kept / f"{stem}.{name}" for name in ("pytorch", "torchlite"))
    for old in [here, *([reference] if again else [])]:
        old.unlink(missing_ok=True)
        log_of(old).unlink(missing_ok=True)
    real = outcomes(sys.executable, package, reference, where, real_env)
    lite = outcomes(str(folder / "bin" / "python"), package, here, where, {})
    passed = [test for test, outcome in real.items() if outcome == "passed"]
    return [test for test in passed if lite.get(test) != "passed"], len(passed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=run.ROOT / ".cache" / "packages")
    parser.add_argument("packages", nargs="*", choices=[*TESTS, []])
    args = parser.parse_args()
    folder = args.cache.resolve()
    run.install(folder)
    real_env = run.pytorch_env(folder) | run.cuda_libraries(folder)
    rows = {}
    for package in args.packages or TESTS:
        missed, passed = compare(package, folder, real_env, args.again)
        rows[package] = version(package, folder), passed, passed - len(missed)
        print("%-32s%-16s%6d passed by PyTorch%6d of these here" % (package, *rows[package]), flush=True)
        for test in missed if args.verbose else ():
            print("   ", test)
    if args.write:
        run.write(own={**run.read_own(), **rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
