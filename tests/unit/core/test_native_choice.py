"""Which build of the native core is loaded."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest


def test_the_host_build_is_loaded():
    import torchlite
    from torchlite._core import native

    assert torchlite._C is native._C and hasattr(torchlite._C, "kernels")
    assert native.variant in ("host", "simd128", "relaxed") or native.variant.endswith(".so")


def test_probe_is_a_module_of_relaxed_simd():
    """The probe is valid exactly where relaxed SIMD is on."""
    from torchlite._core.native import _RELAXED_PROBE

    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    code = "console.log(WebAssembly.validate(Buffer.from(process.argv[1], 'hex')))"
    version = int(subprocess.run([node, "--version"], capture_output=True, text=True).stdout[1:].split(".")[0])
    flags = ["--experimental-wasm-relaxed-simd"] if version < 22 else []
    answer = subprocess.run(
        [node, *flags, "-e", code, _RELAXED_PROBE.hex()], capture_output=True, text=True
    ).stdout.strip()
    assert answer == "true"
    if version < 22:
        assert (
            subprocess.run([node, "-e", code, _RELAXED_PROBE.hex()], capture_output=True, text=True).stdout.strip()
            == "false"
        )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of a process")
@pytest.mark.parametrize("wanted", ["", "baseline"])
def test_the_build_for_this_processor_is_loaded(wanted):
    """_C.abi3.so hands over to _C.v3.so where the processor has AVX2 and FMA."""
    package = pathlib.Path(__file__).resolve().parents[3] / "torchlite"
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    newer = (
        (package / "_C.v3.so").exists()
        and {"avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"} <= flags
        and not wanted
    )
    code = (
        "import torchlite as torch\n"
        "assert torch.allclose(torch.linspace(0, 1, 9).exp().log(), torch.linspace(0, 1, 9), atol=1e-6)\n"
        "print('_C.v3.so' in open('/proc/self/maps').read(), torch._C.__file__)"
    )
    env = {**os.environ, "TORCHLITE_NATIVE": wanted, "PYTHONPATH": str(package.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.split() == [str(newer), str(package / "_C.abi3.so")], done.stderr


@pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")
def test_a_missing_build_says_what_to_do(tmp_path):
    package = tmp_path / "torchlite"
    (package / "_core").mkdir(parents=True)
    source = pathlib.Path(__file__).resolve().parents[3] / "torchlite" / "_core"
    (package / "__init__.py").write_text("from ._core import native\n")
    (package / "_core" / "__init__.py").touch()
    for name in ("archive.py", "native.py"):
        shutil.copy(source / name, package / "_core" / name)
    done = subprocess.run(
        [sys.executable, "-c", "import torchlite"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (
        "ImportError: torchlite's native core could not be loaded; it is not built: run `python native/build.py host`"
        in done.stderr
    )
