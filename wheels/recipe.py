"""What goes into a wheel for Pyodide, for each Pyodide version."""

from __future__ import annotations

import ast
import bz2
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tokenize
from typing import Any, Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "native")]
import archive as native_archive
import backend
import build as native_build
import runtime
import wasm_patch

BuildError = native_build.BuildError
Progress = Callable[[float], None]
TORCH_VERSION = "2.13.0"
ABSENT = "torchlite/_core/absent.txt"
BRIDGE = "torchlite/webgpu/bridge.js"
THREADS = "torchlite/_core/threads.js"


@dataclasses.dataclass(frozen=True)
class Target:
    """One generation of Pyodide."""

    name: str
    npm: str  # folder in node_modules
    python: str
    platforms: tuple[str, ...]

    @property
    def tags(self) -> str:
        return "cp312-abi3-" + ".".join(self.platforms)

    @property
    def cache_tag(self) -> str:
        return "cpython-" + self.python.replace(".", "")

    @property
    def site(self) -> str:
        return f"/lib/python{self.python}/site-packages"


TARGETS = {
    "314": Target("314", "pyodide-314", "3.14", ("pyemscripten_2026_0_wasm32",)),
    "029": Target("029", "pyodide-029", "3.13", ("pyodide_2025_0_wasm32", "pyemscripten_2025_0_wasm32")),
}

# `import torch` in a page: a package that gives its name away while it is being imported.
TORCH_INIT = '''"""torchlite under the name torch."""

__torchlite_alias__ = True

from torchlite.compat.alias import install as _install

_install()
'''


def no_progress(done: float) -> None:
    pass


def wasm_files(folder: pathlib.Path, strict: bool = True, progress: Progress = no_progress) -> dict[str, bytes]:
    """Both WASM builds of the core (one of them as a difference) and the alias package, as wheel entries."""

    def build(relaxed: bool, name: str) -> bytes:
        return native_build.build(
            native_build.Wasm(relaxed=relaxed),
            folder / name,
            strict=strict,
            progress=lambda n, total: progress((n / total + relaxed) / 2),
        ).read_bytes()

    plain, relaxed = build(False, "_C.abi3.so"), build(True, "_C_relaxed.wasm")
    return {
        "torch/__init__.py": TORCH_INIT.encode(),
        "torchlite/_C.abi3.so": plain,
        "torchlite/_C_relaxed.patch": wasm_patch.make(plain, relaxed),
        "torchlite/_core/workers.wasm": native_build.build_workers(folder / "workers.wasm").read_bytes(),
    }


def torch_version() -> str:
    return f"{TORCH_VERSION}+torchlite.{backend.project()['version']}"


def torch_metadata(requires: str = "") -> bytes:
    text = f"Metadata-Version: 2.1\nName: torch\nVersion: {torch_version()}\nSummary: torchlite stands in for torch\n"
    return (text + (f"Requires-Dist: {requires}\n" if requires else "")).encode()


def torch_dist_info(target: Target) -> dict[str, bytes]:
    """Makes installers see `torch` as installed, so that packages that require it can be installed after this wheel. A
    wheel has one .dist-info; a second one can travel among its data files, which are unpacked under sys.prefix."""
    info = f"torch-{torch_version()}.dist-info"
    folder = f"{backend.name_version()}.data/data{target.site}/{info}"
    return {
        f"{folder}/METADATA": torch_metadata(),
        f"{folder}/INSTALLER": b"torchlite\n",
        f"{folder}/RECORD": f"{info}/METADATA,,\n{info}/INSTALLER,,\n{info}/RECORD,,\n".encode(),
    }


# nothing in them is called by a page
_INSIDE = tuple(
    "torchlite/" + name
    for name in """webgpu/plan/ webgpu/lazy/ autograd/_engine. autograd/_formal. autograd/_inplace. autograd/_node.
    autograd/_saved. _functorch/batched. _functorch/custom. _functorch/drawing. _functorch/places. _functorch/products.
    _functorch/rules. _functorch/shapes. _core/arg_errors. _core/absent _core/composed. _core/dispatch
    _core/function_schema. _core/limited. _core/override _core/view_replay. _core/wrappers. _custom_op/""".split()
)


def _is_private(node: ast.AST, file: str) -> bool:
    """Whether nobody asks for its help: what is decorated may be public by another name, as the ops are."""
    if file.startswith(_INSIDE):
        return True
    name = getattr(node, "name", "")
    return name.startswith("_") and not name.endswith("__") and not getattr(node, "decorator_list", None)


def _in_private_module(name: str) -> bool:
    """Whether a file is a module that no page asks for its help: a part of its path begins with an underscore."""
    parts = pathlib.PurePosixPath(name).parts
    return name.startswith(_INSIDE) or any(part[0] == "_" and part[:2] != "__" for part in parts)


def shortened(source: bytes, name: str = "") -> bytes:
    """The Python file `name` without what nobody reads in a page: comments, the docstrings of private functions,
    classes and modules, the types of parameters, results and variables, and what only a type checker reads. The lines
    stay where they are, for tracebacks. Annotations in classes stay: named tuples are made of them."""
    lines = source.split(b"\n")
    cuts: list[tuple[int, int, int, int, bytes]] = []
    tree = ast.parse(source)
    if _in_private_module(name) and ast.get_docstring(tree, clean=False) is not None:
        head: Any = tree.body[0]
        cuts.append((head.lineno, head.col_offset, head.end_lineno, head.end_col_offset, b'""'))
    kept: set[int] = set()
    for node in ast.walk(tree):  # a class comes before what is in it
        if isinstance(node, ast.ClassDef):
            kept |= {id(n) for n in node.body}
        if isinstance(node, ast.arguments):
            cuts += _annotations(node, lines)
        if isinstance(node, ast.AnnAssign) and node.value and id(node) not in kept:
            target, value = node.target, node.value
            cuts += _cut(lines, target.end_lineno, target.end_col_offset, value.lineno, value.col_offset, b" = ")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and _is_private(node, name):
            text = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                end = (text.end_lineno, text.end_col_offset)
                cuts.append((text.lineno, text.col_offset, *end, b'""'))  # type: ignore[arg-type]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            row, last = node.returns.lineno, node.returns.end_lineno
            start = lines[row - 1].rfind(b"->", 0, node.returns.col_offset)
            if start >= 0 and row == last:
                start = len(lines[row - 1][:start].rstrip())
                cuts.append((row, start, row, node.returns.end_col_offset, b""))  # type: ignore[arg-type]
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            end = (node.body[-1].end_lineno, node.body[-1].end_col_offset)
            if not node.orelse:
                instead = b"pass" if node.col_offset else b""
                cuts.append((node.lineno, node.col_offset, *end, instead))  # type: ignore[arg-type]
    for row, start, last, stop, instead in sorted(cuts, reverse=True):
        first, tail = lines[row - 1][:start], lines[last - 1][stop:]
        lines[row - 1 : last] = [first + instead + b"\n" * (last - row) + tail]
    return _without_comments(b"\n".join(lines))


def _cut(lines: list[bytes], row: Any, start: Any, last: int, stop: int, instead: bytes) -> list[Any]:
    """What stands between a name and its value, type and all, if that is on one line."""
    between = lines[row - 1][start:stop]
    return [(row, start, last, stop, instead)] if row == last and between.endswith(b" = ") else []


def _annotations(parameters: ast.arguments, lines: list[bytes]) -> list[Any]:
    """Where the types of parameters are, with the spaces before a default."""
    named = [*parameters.posonlyargs, *parameters.args]
    defaults: list[Any] = [None] * (len(named) - len(parameters.defaults)) + parameters.defaults
    pairs = list(zip(named + parameters.kwonlyargs, defaults + parameters.kw_defaults, strict=True))
    pairs += [(extra, None) for extra in (parameters.vararg, parameters.kwarg) if extra]
    found = []
    for name, default in pairs:
        if name.annotation is None:
            continue
        row, start = name.lineno, name.col_offset + len(name.arg.encode())
        with_default = default and _cut(lines, row, start, default.lineno, default.col_offset, b"=")
        found += with_default or [(row, start, name.annotation.end_lineno, name.annotation.end_col_offset, b"")]
    return found


def _without_comments(source: bytes) -> bytes:
    lines = source.split(b"\n")
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1].decode()[:column].rstrip().encode()
    return b"\n".join(lines)


def indented_by_one(source: bytes) -> bytes:
    """A Python file with one space in place of four before its lines, but for those inside of strings."""
    inside: set[int] = set()  # rows, from 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            inside.update(range(node.lineno, node.end_lineno or node.lineno))
    lines = source.split(b"\n")
    for row, line in enumerate(lines):
        if row not in inside:
            text = line.lstrip(b" ")
            lines[row] = b" " * ((len(line) - len(text)) // 4) + text
    return b"\n".join(lines)


# what finds the modules in the files below; torchlite/__init__ imports it
_OUTSIDE = [f"torchlite/{name}.py" for name in ("__init__", "_core/__init__", "_core/archive")]


def compiled(target: Target, files: dict[str, bytes], strict: bool) -> tuple[list[str], dict[str, bytes]]:
    """Bytecode by the target's own Python: the .py files of `files` that it stands for, and the files that hold it.
    Where `import torchlite` fails, so does the recipe."""
    sources = {n: b for n, b in files.items() if n.endswith(".py")}
    core = files["torchlite/_C.abi3.so"]
    key = native_build.digest(
        target.npm,
        core,
        *(x for n, b in sorted(sources.items()) for x in (n, b)),
        (HERE / "package-lock.json").read_bytes(),
        (HERE / "compile_pyc.mjs").read_bytes(),
        (HERE / "compile_pyc.py").read_bytes(),
    )
    cache = ROOT / ".build" / "pyc" / f"{target.name}.{key}"
    if not (cache / "done").exists():
        shutil.rmtree(cache, ignore_errors=True)
        src = cache / "src"
        for name, data in {**sources, "torchlite/_C.abi3.so": core}.items():
            p = src / name
            p.parent.mkdir(parents=True, exist_ok=True)
            p.write_bytes(data)
        cmd = [
            runtime.node(runtime.TO_BUILD),
            str(HERE / "compile_pyc.mjs"),
            str(runtime.pyodide(target.npm)),
            str(src),
            str(cache / "out"),
            target.site,
        ]
        done = subprocess.run(
            cmd,
            input=json.dumps([sorted(sources), _OUTSIDE]),
            text=True,
            check=False,
            env=runtime.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        answer = [line for line in done.stdout.splitlines() if line.startswith("CHOSEN ")]
        if done.returncode or not answer:
            raise native_build.BuildError(f"compiling the package to bytecode failed:\n{done.stdout}")
        found = json.loads(answer[0].removeprefix("CHOSEN "))
        if found["error"]:
            message = f"`import torchlite` fails in Pyodide {target.name}:\n{found['error']}"
            if strict:
                raise native_build.BuildError(message)
            print("warning: " + message, file=sys.stderr)
        (cache / "done").write_text(json.dumps(found["chosen"]))
        shutil.rmtree(src)
        for old in sorted((ROOT / ".build" / "pyc").glob(f"{target.name}.*"), key=os.path.getmtime)[:-3]:
            shutil.rmtree(old, ignore_errors=True)
    groups = json.loads((cache / "done").read_text())
    out = {f"torchlite/{group}.bin": (cache / "out" / f"{group}.bin").read_bytes() for group in groups}
    out |= {name + "c": (cache / "out" / (name + "c")).read_bytes() for name in _OUTSIDE}
    return [name for names in groups.values() for name in names], out


def packed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a wheel, with the sources among them in one file, which torchlite/_core/archive.py reads: a wheel
    compresses each entry by itself. The `__init__.py` of a folder that holds anything else stays outside: the import
    system takes a folder without one for a namespace package."""
    folders = {str(f) for n in files if not n.endswith(".py") for f in pathlib.PurePosixPath(n).parents}
    inside = {
        n: b
        for n, b in files.items()
        if n.startswith("torchlite/")
        and n.endswith(".py")
        and not (n.endswith("/__init__.py") and n.removesuffix("/__init__.py") in folders)
    }
    rest = {n: b for n, b in files.items() if n not in inside}
    rest[ABSENT + ".bz2"] = bz2.compress(rest.pop(ABSENT))
    return {**rest, "torchlite/modules.bin": _one_file(inside)}


# Folders and modules that few programs use, and those of the GPU. bz2 makes a tenth less of them than the wheel does;
# the first use of a block takes 3 to 70 ms.
RARE = (
    ("distributions",),
    ("fx",),
    ("webgpu",),
    """ops/_reference ops/core_aten ops/core_attention ops/core_functions ops/fft ops/grouped ops/integer_mm
    ops/row_sums ops/segments ops/spectral ops/view_copies""".split(),
    """_classes _core/absent_ops _core/absent_reasons _core/arg_errors _core/c_autograd _core/c_functorch
    _core/c_names _core/c_profiler _core/c_switches _core/dispatch_keys _core/foreach _core/function_schema
    _core/future _core/inline_pipe _core/inline_pool _core/legacy_types _core/mkldnn _core/overload_names
    _core/overridable _core/self_test _core/star_names _core/sym_functions _core/traced_graph _core/wrappers
    _custom_op _dynamo _files/legacy _functorch _higher_order_ops _inductor _library _linalg_utils _lobpcg _ops
    _prims_common _subclasses amp/grad_scaler autograd/_gradcheck autograd/_parts autograd/_profiler_table
    autograd/forward_ad autograd/functional autograd/profiler autograd/profiler_util compat/imported_names distributed
    func futures jit library lock masked multiprocessing nested nn/attention nn/modules/adaptive nn/parallel
    nn/utils/_expanded_weights nn/utils/_per_sample_grad nn/utils/fusion nn/utils/parametrizations
    nn/utils/parametrize nn/utils/prune nn/utils/spectral_norm nn/utils/stateless nn/utils/weight_norm
    optim/_adafactor optim/_cyclic optim/_functional optim/swa_utils overrides profiler quasirandom signal sparse
    testing utils/_device utils/_python_dispatch utils/_pytree_json utils/_selective utils/_swap utils/benchmark
    utils/checkpoint utils/data/_utils/workers utils/dlpack utils/flop_counter utils/module_tracker utils/safetensors
    utils/tensorboard utils/weak""".split(),
)


def _one_file(files: dict[str, bytes]) -> bytes:
    """A line with the names and sizes of files of the package, then these files; see torchlite/_core/archive.py."""
    parts = {name.removeprefix("torchlite/"): indented_by_one(data) for name, data in sorted(files.items())}
    index: list[str] = []

    def add(names: list[str]) -> bytes:
        index.extend(f"{name} {len(parts[name])}" for name in names)
        return b"".join(parts.pop(name) for name in names)

    def within(name: str, folder: str) -> bool:
        return name.startswith((folder + "/", folder + "."))

    blocks = [[n for n in parts if any(within(n, folder) for folder in rare)] for rare in RARE]
    data = add([n for n in parts if not any(n in block for block in blocks)])
    for block in blocks:
        at = len(index)
        small = bz2.compress(add(block))
        index.insert(at, f"bz2 {len(small)}")
        data += small
    return " ".join(index).encode() + b"\n" + data


def bridge_script() -> bytes:
    """The WebGPU bridge as one script."""
    return bundled("bridge", sorted(p for p in (ROOT / "js_bridge" / "src").rglob("*") if p.is_file()))


def bundled(kind: str, sources: list[pathlib.Path], entry: pathlib.Path | None = None) -> bytes:
    """One script, bundled by esbuild: the same bytes for the same sources."""
    folder = ROOT / "js_bridge"
    parts = [folder / "tools" / "build.mjs", folder / "package-lock.json", *sources]
    key = native_build.digest(*(x for p in parts for x in (p.name, p.read_bytes())))
    out = ROOT / ".build" / kind / (key + ".js")
    if not out.exists():
        esbuild = runtime.esbuild()
        shutil.rmtree(out.parent, ignore_errors=True)
        fresh = out.with_suffix(".fresh.js")
        done = subprocess.run(
            [runtime.node(runtime.TO_BUILD), *map(str, [parts[0], fresh, *([entry] if entry else [])])],
            check=False,
            env={**runtime.environment(), "ESBUILD": str(esbuild)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise BuildError(f"bundling the {kind} failed:\n{done.stdout}")
        fresh.rename(out)
    return out.read_bytes()


def elsewhere(name: str) -> bool:
    """Whether a file is not for pages: what type checkers read, what makes lock files, workers that are processes, and
    operators of packages, which the packages' own wheels bring."""
    stand_in = name.startswith("torchlite/_libraries/") and not name.endswith("__init__.py")
    of_processes = ("/processes.py", "/messages.py", "/process_queues.py")
    return stand_in or name.endswith((".pyi", ".typed", "/lock.py", *of_processes))


def make(
    target: Target, out: pathlib.Path, strict: bool = True, tags: str | None = None, progress: Progress = no_progress
) -> pathlib.Path:
    """Writes the wheel for one Pyodide generation. `progress` is told which part of the C files is compiled, 0 to 1."""
    files = {n: b for n, b in backend.package_files().items() if not elsewhere(n)}
    files = {n: shortened(b, n) if n.endswith(".py") else b for n, b in files.items()}
    has_bytecode = False
    with native_build.locked():
        files |= wasm_files(ROOT / ".build" / "out", strict, progress)
        try:
            names, bytecode = compiled(target, files, strict)
            # in place of the source, as in Pyodide's own packages: both would be a quarter more to download
            files = {n: b for n, b in files.items() if n not in names} | bytecode
            has_bytecode = True
        except runtime.Missing as e:
            print(f"warning: the wheel has no bytecode, import will be slower in the page: {e}", file=sys.stderr)
    try:
        files[BRIDGE] = bridge_script()
        files[THREADS] = bundled("threads", [ROOT / THREADS], ROOT / THREADS)
    except runtime.Missing as e:
        print(f"warning: the wheel has no WebGPU: {e}", file=sys.stderr)
    if has_bytecode:
        files = packed(files)
    files |= torch_dist_info(target)
    return backend.write_wheel(out, tags or target.tags, files, described=False, deflate=squeeze)


def squeeze(data: bytes) -> bytes:
    """Deflate by zopfli: some seconds of work, and every page downloads 3 % less. Results are kept by content, since
    most files of a wheel do not change from build to build. Without the package zopfli: zlib."""
    try:
        import zopfli.zlib  # type: ignore[import-untyped]
    except ImportError:
        return native_archive.deflate(data)
    kept = ROOT / ".build" / "deflated" / hashlib.sha256(data).hexdigest()
    if kept.exists():
        return kept.read_bytes()
    blocks = zopfli.zlib.compress(data, blocksplittingmax=0)  # 0: as many as help; 15, the default, costs 0.6 % of _C
    packed: bytes = blocks[2:-4]  # without zlib's header and checksum
    kept.parent.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(packed)
    unfinished.replace(kept)
    return packed


def make_in_pyodide_build(out: pathlib.Path) -> pathlib.Path:
    """The wheel that pyodide-build asks for. It renames the platform to its own tag afterwards."""
    abi = os.environ["PYODIDE_ABI_VERSION"]
    for target in TARGETS.values():
        if any(abi in p for p in target.platforms):
            return make(target, out, tags="cp312-abi3-" + os.environ["_PYTHON_HOST_PLATFORM"])
    known = ", ".join(sorted(p for t in TARGETS.values() for p in t.platforms))
    raise SystemExit(f"torchlite has no recipe for Pyodide's ABI {abi} (there are {known}): see wheels/README.md")


def make_torch_stub(out: pathlib.Path) -> pathlib.Path:
    """A wheel `torch` without code that requires torchlite: for package indexes, so that resolvers find it by name."""
    p = backend.project()
    return backend.write_wheel(
        out,
        "py3-none-any",
        {},
        dist=f"torch-{torch_version()}",
        pure=True,
        meta=torch_metadata(f"torchlite=={p['version']}"),
    )
