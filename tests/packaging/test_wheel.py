"""What the wheels contain, that they are the same bytes each time, and that the package installs from source."""

from __future__ import annotations

import ast
import base64
import hashlib
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "wheels"), str(ROOT / "native")]
import backend
import make
import recipe
import runtime
import wasm_patch

TARGETS = sorted(recipe.TARGETS)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    return {name: recipe.make(recipe.TARGETS[name], folder) for name in TARGETS}


@pytest.mark.parametrize("target", TARGETS)
def test_budget(built, target):
    bridge = make.bridge_size(built[target])
    assert 0 < bridge <= make.BUDGET_BRIDGE
    assert built[target].stat().st_size - bridge <= make.BUDGET


@pytest.mark.parametrize("target", TARGETS)
def test_same_bytes_again(built, target, tmp_path):
    assert recipe.make(recipe.TARGETS[target], tmp_path).read_bytes() == built[target].read_bytes()


@pytest.mark.parametrize("target", TARGETS)
def test_record_agrees_with_the_files(built, target):
    with zipfile.ZipFile(built[target]) as z:
        record = backend.name_version() + ".dist-info/RECORD"
        rows = [line.rsplit(",", 2) for line in z.read(record).decode().splitlines()]
        assert {name for name, _, _ in rows} == set(z.namelist())
        for name, digest, size in rows:
            if name != record:
                data = z.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == ("sha256=" + want, len(data)), name


def packed_sources(data):
    """Names of the modules in modules.bin, whose sizes and those of its compressed blocks make up the file."""
    index, _, body = data.partition(b"\n")
    parts = index.decode().split()
    pairs = list(zip(parts[::2], map(int, parts[1::2])))
    begins = [at for at, (name, _) in enumerate(pairs) if name == "bz2"]
    assert begins and sum(size for _, size in pairs[: begins[0]]) + sum(pairs[at][1] for at in begins) == len(body)
    return {"torchlite/" + name for name, _ in pairs if name != "bz2"}


def packed_codes(data):
    """Names of the modules in a file of bytecode."""
    magic, *names = data.partition(b"\n")[0].decode().split()
    assert len(bytes.fromhex(magic)) == 4
    return {"torchlite/" + n for n in names}


@pytest.mark.parametrize("target", TARGETS)
def test_contents(built, target):
    with zipfile.ZipFile(built[target]) as z:
        names = set(z.namelist())
        # Pyodide loads every .so when it installs a wheel; only the build that runs everywhere may be one
        assert [n for n in names if ".so" in n] == ["torchlite/_C.abi3.so"]
        assert {"torchlite/_C_relaxed.patch", "torch/__init__.py"} <= names
        # bytecode in place of the source for what `import torch` and most models load; the source of the rest
        outside = {n for n in names if n.endswith((".py", ".pyc"))}
        start, models = (packed_codes(z.read(f"torchlite/{n}.bin")) for n in ("start", "models"))
        others = packed_sources(z.read("torchlite/modules.bin"))
        assert {"torchlite/__init__.pyc", "torchlite/_core/archive.pyc"} <= outside
        assert {"torchlite/nn/modules/module.pyc", "torchlite/_core/native.pyc"} <= start
        assert {"torchlite/nn/modules/linear.pyc", "torchlite/optim/sgd.pyc"} <= models
        assert "torchlite/distributions/normal.py" in others
        every = {n for n in backend.package_files() if n.endswith(".py") and not recipe.elsewhere(n)}
        there = [n.removesuffix("c") for n in (*outside, *start, *models, *others)]
        assert sorted(there) == sorted(every | {"torch/__init__.py"})  # each once
        # so that micropip.freeze() knows that `import torch` is this wheel
        assert z.read(backend.name_version() + ".dist-info/top_level.txt") == b"torch\ntorchlite\n"
        # a folder whose __init__ is in the archive would be a namespace package
        folders = {str(f) for n in names for f in pathlib.PurePosixPath(n).parents}
        assert not [n for n in others if n.removesuffix("/__init__.py") in folders]
        # Pyodide takes the first folder of a wheel that ends like this
        assert {n.split("/")[0] for n in names if n.split("/")[0].endswith(".dist-info")} == {
            backend.name_version() + ".dist-info"
        }


def read_leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def wasm_section(data, wanted):
    at = 8
    while at < len(data):
        kind = data[at]
        size, at = read_leb(data, at + 1)
        if kind == wanted:
            return data[at : at + size]
        at += size
    return b"\0"


def wasm_imports(data):
    """(module, name) of each import of a WebAssembly module."""
    section = wasm_section(data, 2)
    n, at = read_leb(section, 0)
    for _ in range(n):
        names = []
        for _ in range(2):
            size, at = read_leb(section, at)
            names.append(section[at : at + size].decode())
            at += size
        kind = section[at]
        at += 1
        if kind == 0:
            _, at = read_leb(section, at)
        elif kind == 3:
            at += 2
        elif kind in (1, 2):
            at += kind == 1
            flags, at = read_leb(section, at)
            _, at = read_leb(section, at)
            if flags & 1:
                _, at = read_leb(section, at)
        yield tuple(names)


def wasm_exports(data):
    section = wasm_section(data, 7)
    n, at = read_leb(section, 0)
    names = set()
    for _ in range(n):
        size, at = read_leb(section, at)
        names.add(section[at : at + size].decode())
        _, at = read_leb(section, at + size + 1)
    return names


def both_builds(wheel):
    """The SIMD128 module of a wheel, and the relaxed one that its patch gives."""
    with zipfile.ZipFile(wheel) as z:
        plain = z.read("torchlite/_C.abi3.so")
        return plain, wasm_patch.apply(plain, z.read("torchlite/_C_relaxed.patch"))


@pytest.mark.parametrize("target", TARGETS)
def test_every_import_of_the_core_exists_in_pyodide(built, target):
    """A C function that Pyodide's main module lacks would only fail when it is called; here it fails by name."""
    t = recipe.TARGETS[target]
    main = wasm_exports((runtime.pyodide(t.npm) / "pyodide.asm.wasm").read_bytes())
    own = {"__memory_base", "__table_base", "__stack_pointer", "memory", "__indirect_function_table"}
    for name, module in zip(("SIMD128", "relaxed SIMD"), both_builds(built[target])):
        missing = sorted({n for m, n in wasm_imports(module) if n not in main and n not in own})
        assert not missing, f"the {name} build imports what Pyodide {target} lacks: {missing}"


def test_the_two_builds_differ_by_relaxed_simd_only(built):
    """The SIMD128 build must be valid without relaxed SIMD; node's validator is asked with the feature off."""
    node = shutil.which("node")
    if (
        node is None
        or int(subprocess.run([node, "--version"], capture_output=True, text=True).stdout[1:].split(".")[0]) >= 22
    ):
        pytest.skip("needs a node without relaxed SIMD (20) on the path")
    code = "const b=require('fs').readFileSync(0);console.log(WebAssembly.validate(b))"
    answers = [
        subprocess.run([node, "-e", code], input=b, capture_output=True).stdout.strip()
        for b in both_builds(built["314"])
    ]
    assert answers == [b"true", b"false"]


def test_install_from_source(tmp_path):
    """`pip install .` in a fresh environment: compiles, imports without the source tree, takes no other name."""
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    python = env / "bin" / "python"
    wheel = tmp_path / backend.build_wheel(str(tmp_path))
    site = subprocess.run(
        [str(python), "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with zipfile.ZipFile(wheel) as z:
        assert not [n for n in z.namelist() if n.startswith("torch/")], "a desktop wheel must not bring the name torch"
        z.extractall(site)
    code = (
        "import torchlite as t, importlib.util as u; x = t.ones(3, requires_grad=True); (x * x).sum().backward();"
        "print(x.grad.tolist(), u.find_spec('torch'))"
    )
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[2.0, 2.0, 2.0] None", done.stderr


def test_pip_finds_the_backend(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-build-isolation",
            "--no-deps",
            "-w",
            str(tmp_path),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [p.name.split("-")[0] for p in tmp_path.glob("*.whl")] == ["torchlite"]


def test_sdist_is_complete_and_repeatable(tmp_path):
    import tarfile

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = tmp_path / "a" / backend.build_sdist(str(tmp_path / "a"))
    b = tmp_path / "b" / backend.build_sdist(str(tmp_path / "b"))
    assert a.read_bytes() == b.read_bytes()
    with tarfile.open(a) as tar:
        names = {n.split("/", 1)[1] for n in tar.getnames()}
    assert {
        "pyproject.toml",
        "PKG-INFO",
        "native/build.py",
        "native/backend.py",
        "native/src/core/tl.h",
        "torchlite/__init__.py",
    } <= names


@pytest.mark.parametrize("otherwise", ["", "else:\n    Tensor = int\n"])
def test_what_only_type_checkers_read_is_left_out(otherwise):
    source = (
        "from __future__ import annotations\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    from nowhere import Tensor\n"
        + otherwise
        + "def f(x: Tensor, *rest: Tensor, y: int = 2) -> list[Tensor]:\n    z: int = x\n    return [z, *rest, y]\n"
    )
    shorter = recipe.shortened(source.encode()).decode()
    names: dict = {}
    exec(compile(shorter, "module", "exec", dont_inherit=True), names)
    assert names["f"](1, 2, y=3) == [1, 2, 3] and not names["f"].__annotations__
    assert shorter.count("\n") == source.count("\n") and ("nowhere" in shorter) == bool(otherwise)


def test_values_stay_when_their_types_go():
    source = (
        "from __future__ import annotations\nfrom typing import NamedTuple\n"
        "class P(NamedTuple):\n    a: int = 1\n    def f(self, k: int = (1 + 1), /, *w: int, m: dict[str, int]\n"
        "        = {'a': 1}, n: int = 3, **more: int) -> int:\n        s: list[int] = [k]; t: int\n"
        "        t: int = (\n            4 + 1)\n        return s, w, m, n, t, more\nV: str = 'v'\n"
    )
    names: dict = {}
    shorter = recipe.shortened(source.encode()).decode()
    exec(compile(shorter, "module", "exec", dont_inherit=True), names)
    assert names["P"]().f() == ([2], (), {"a": 1}, 3, 5, {}) and names["V"] == "v" and "V = 'v'" in shorter
    assert "n=3, **more):" in shorter and "s = [k]" in shorter and shorter.count("\n") == source.count("\n")


def test_what_nobody_reads_in_a_page_is_left_out():
    source = (
        'def _inside():\n    """For its\n    maintainers."""\n    return "# no comment"  # but this\n'
        'class _Kept:\n    """Alone."""\n'
        'def op(f):\n    return f\n@op\ndef _declared():\n    """An op, by another name."""\n'
        'def shown():\n    """For everybody."""\n    # why\n    def _local():\n        """Mine."""\n    return _local\n'
    )
    shorter = recipe.shortened(source.encode()).decode()
    names: dict = {}
    exec(compile(shorter, "module", "exec"), names)
    assert names["_inside"]() == "# no comment" and names["shown"].__doc__ == "For everybody."
    assert names["_declared"].__doc__ == "An op, by another name."
    assert not names["_inside"].__doc__ and not names["_Kept"].__doc__ and not names["shown"]().__doc__
    assert shorter.count("\n") == source.count("\n") and "but this" not in shorter and "why" not in shorter


def test_indented_by_one_means_the_same():
    source = (
        'def f(x):\n    if x:\n        s = """a\n    b"""\n        return (s,\n                f"""{x}\n        c""")\n'
    )
    shorter = recipe.indented_by_one(source.encode()).decode()
    assert ast.dump(ast.parse(shorter)) == ast.dump(ast.parse(source))
    assert "\n  return" in shorter and shorter.count("\n") == source.count("\n")


@pytest.mark.parametrize(
    "name, kept", [("torchlite/_core/a.py", False), ("torchlite/nn/_a.py", False), ("torchlite/nn/__init__.py", True)]
)
def test_private_modules_lose_their_own_docstring(name, kept):
    source = '"""What it is\nfor."""\nfrom __future__ import annotations\ndef shown():\n    """For everybody."""\n'
    names: dict = {}
    shorter = recipe.shortened(source.encode(), name).decode()
    exec(compile(shorter, "module", "exec", dont_inherit=True), names)
    assert bool(names["__doc__"]) is kept and names["shown"].__doc__ == "For everybody."
    assert shorter.count("\n") == source.count("\n")
    assert '"""' not in recipe.shortened(source.encode(), "torchlite/webgpu/plan/a.py").decode()
