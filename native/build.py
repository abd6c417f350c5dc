"""Builds the native core, torchlite._C, from the C files in native/src.

    python native/build.py host [--sanitize | --coverage] [--last-good] [--out DIR]
    python native/build.py wasm [--relaxed] [--out DIR]
    python native/build.py page [--out DIR]
    python native/build.py check

Needs the package `ziglang` (clang and wasm-ld for every host) and a CPython with headers; nothing else.
Object files are kept in .build/, named by a hash of everything that went into them.

host        torchlite/_C.abi3.so (or .pyd) for the running Python, limited API (.build/sanitized/ with --sanitize),
            and for x86-64 Linux torchlite/_C.v3.so, for processors with AVX2 and FMA
wasm        a side module for Pyodide: SIMD128, or relaxed SIMD with --relaxed
page        what the workers of a page run (native/page)
check       every file compiled with all warnings as errors, for the host and for WASM, nothing linked
--sanitize  address and undefined-behaviour sanitizers (a system gcc or clang for both; ziglang alone: undefined only)
--coverage  counts how often each line runs (system gcc), for make coverage; .build/coverage/
--last-good where a file does not compile, use the object of its last version that did
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import ctypes
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
SRC = NATIVE / "src"

# NaN, infinities, signed zeros and the order of sums are part of the results, so no -ffast-math. errno and floating
# point traps are not looked at; contraction is written out where it is wanted (v4_madd), so all builds agree.
FLAGS = [
    "-std=gnu11",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-ffunction-sections",
    "-fdata-sections",
    "-DNDEBUG",
]
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wunused-macros",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-Wno-sign-compare",
    "-Wno-cast-function-type",
    "-Wno-unknown-warning-option",
    "-Wno-pass-failed",
    "-Wno-tautological-compare",  # x != x finds NaN, also where the type turns out to be an integer
]

# Folders and files of little inner loop, below native/src: compiled for size, they are read over the network more often
# than they are waited for. Files that plan, check or describe go further in WASM (-Oz), and so does what few programs
# enter: the GPU's own, gamma's gradient. Each op on the GPU runs two of those, which are left out.
EACH_OP = {"gpu/gpu_expr.c", "gpu/gpu_op.c"}
SMALLEST = {
    "gpu",
    "core/check.c",
    "core/dlpack.c",
    "core/module.c",
    "core/op_types.c",
    "core/override.c",
    "core/parallel.c",
    "core/profile.c",
    "products/gemm_page.c",
    "products/gemm_split.c",
    "products/page_kept.c",
    "random/gamma_grad.c",
}
SMALL = {
    "core/args.c",
    "core/attr.c",
    "core/data.c",
    "core/engine.c",
    "core/float8.c",
    "core/geometry.c",
    "core/grad_mode.c",
    "core/device.c",
    "core/number.c",
    "core/record.c",
    "core/storage.c",
    "conv/conv.c",
    "conv/pool.c",
    "index/index_plan.c",
    "index/scatter.c",
    "math/bessel.c",
    "math/cmath.c",
    "math/special.c",
    "nn/ctc.c",
    "nn/pad.c",
    "nn/resample.c",
    "nn/rnn.c",
    "pointwise/pointwise.c",
    "products/fft.c",
    "products/linalg.c",
    "products/matmul.c",
    "random/choice.c",
    "random/random.c",
    "random/rng.c",
    "random/sampling.c",
    "reduce/reduce_plan.c",
    "shape/create.c",
    "shape/shape.c",
    "sort/sort.c",
    "sort/sort_search.c",
    "sort/sort_ties.c",
}
# in WASM only, for the size of the wheel
SMALL_IN_WASM = {
    "conv/conv_exact.c",
    "conv/conv_last.c",
    "conv/conv_run.c",
    "conv/conv_scatter.c",
    "conv/depthwise.c",
    "core/errors.c",
    "core/graph.c",
    "core/newer.c",
    "core/size.c",
    "core/tensor.c",
    "core/whole.c",
    "nn/nn_module.c",
    "nn/norm.c",
    "shape/view.c",
    "reduce/reduce_stat.c",
}

# how wasm-ld links; without --compress-relocations it leaves every address five bytes wide, 5 % of the file
LINKED_SMALL = ["--no-entry", "--gc-sections", "--strip-all", "-O2", "--compress-relocations"]
RECIPE = "2"  # part of every object's key: raise it when the way of compiling changes


class BuildError(Exception):
    pass


def zig() -> list[str]:
    """The command that runs ziglang; raises when the package is missing."""
    import importlib.util

    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError(f"the package ziglang is not installed: {sys.executable} -m pip install ziglang")
    folder = pathlib.Path(list(spec.submodule_search_locations)[0])
    exe = folder / ("zig.exe" if os.name == "nt" else "zig")
    return [str(exe)]


def zig_folder() -> pathlib.Path:
    return pathlib.Path(zig()[0]).parent


def sources(src: pathlib.Path = SRC) -> list[pathlib.Path]:
    return sorted(src.rglob("*.c"))


def digest(*parts: bytes | str) -> str:
    h = hashlib.sha256()
    for p in parts:
        p = p.encode() if isinstance(p, str) else p
        h.update(len(p).to_bytes(8, "little"))
        h.update(p)
    return h.hexdigest()[:24]


def place(file: pathlib.Path, src: pathlib.Path = SRC) -> str:
    """A source file's path below `src`; the name alone of a file that the build wrote elsewhere."""
    return file.relative_to(src).as_posix() if file.is_relative_to(src) else file.name


def optimisation(target: Target, where: str) -> list[str]:
    """Flags beyond the target's for the file at `where`, a path below the sources."""
    if where in EACH_OP:
        return ["-Os"]
    if {where, where.partition("/")[0]} & SMALLEST:
        return ["-Oz" if isinstance(target, Wasm) else "-Os"]
    small = SMALL | SMALL_IN_WASM if isinstance(target, Wasm) else SMALL
    return ["-Os"] if {where, where.partition("/")[0]} & small else []


@functools.cache
def mentions(file: pathlib.Path, src: pathlib.Path, word: str) -> bool:
    """Whether a file, or one that it includes, has this word."""
    text = file.read_text()
    included = (folder / name for name in re.findall(r'#include "(.*)"', text) for folder in (src, file.parent))
    return word in text or any(mentions(p, src, word) for p in included if p.is_file())


def headers_digest(src: pathlib.Path) -> str:
    parts: list[bytes | str] = []
    for folder in (src, NATIVE / "include"):
        for p in sorted(folder.rglob("*")):
            if p.suffix in (".h", ".inc", ".def"):
                parts += [place(p, folder), p.read_bytes()]
    return digest(*parts)


def python_headers() -> str:
    """The folder of Python.h; the WASM builds read it too, with a pyconfig.h of their own."""
    include = sysconfig.get_paths()["include"]
    if not (pathlib.Path(include) / "Python.h").is_file():
        raise BuildError(f"{include} has no Python.h: install the development headers of this Python")
    return include


class Target:
    """How to compile and link for one target. `name` is the folder in .build/."""

    name: str
    compiler: list[str]
    cflags: list[str]
    ldflags: list[str]

    def compile(self, src: pathlib.Path, obj: pathlib.Path, extra: list[str]) -> str:
        return call(
            [*self.compiler, *self.cflags, *extra, "-c", str(src), "-o", str(obj)],
            f"compiling {place(src)} ({self.name})",
        )

    def link(self, objects: list[pathlib.Path], out: pathlib.Path) -> None:
        raise NotImplementedError

    def serving(self, file: pathlib.Path, src: pathlib.Path) -> Target:
        """The target whose object of a file serves this one."""
        return self


class Host(Target):
    def __init__(self, sanitize: bool = False, coverage: bool = False, v3: bool = False) -> None:
        """v3: for processors with AVX2 and FMA (x86-64-v3). The other build hands over to it (core/newer.c)."""
        include = python_headers()
        if sanitize:
            self.name = "host-san"
        elif coverage:
            self.name = "host-cov"
        else:
            self.name = "host-v3" if v3 else "host"
        self.cflags = [*FLAGS, "-fPIC", "-I", include]
        self.ldflags = ["-shared"]
        if sanitize:
            cc = shutil.which("gcc") or shutil.which("clang")
            kinds = "address,undefined" if cc else "undefined"
            self.compiler = [cc] if cc else [*zig(), "cc"]
            san = [f"-fsanitize={kinds}", "-fno-omit-frame-pointer", "-g"]
            self.cflags = [f for f in self.cflags if f not in ("-O3", "-DNDEBUG")] + ["-O1", *san]
            self.ldflags += san
        elif coverage:
            cc = shutil.which("gcc")
            if cc is None:
                raise BuildError("--coverage needs gcc")
            self.compiler = [cc]
            self.cflags = [f for f in self.cflags if f != "-O3"] + ["-O1", "--coverage", "-fprofile-abs-path"]
            self.ldflags += ["--coverage"]
        else:
            self.compiler = [*zig(), "cc", f"-mcpu={'x86_64_v3' if v3 else 'baseline'}"]
            if self.has_v3() and not v3:
                self.cflags.append("-DTL_BASELINE")
                self.ldflags.append("-ldl")
            if platform.libc_ver()[0] == "glibc":
                # a call reads several variables of the thread: 283 -> 228 ns for add(a, 1). They take 56 bytes of those
                # that glibc keeps for libraries that are loaded later; musl keeps none
                self.cflags += ["-ftls-model=initial-exec"]
        if sys.platform == "darwin":
            self.ldflags += ["-undefined", "dynamic_lookup"]
        elif os.name == "nt":
            self.ldflags += ["-L", str(pathlib.Path(sys.base_prefix) / "libs"), "-lpython3"]
        else:
            self.ldflags += ["-Wl,--gc-sections", "-lm"]
            if not sanitize and not coverage:
                self.ldflags += ["-s"]

    def link(self, objects: list[pathlib.Path], out: pathlib.Path) -> None:
        call([*self.compiler, *self.ldflags, *map(str, objects), "-o", str(out)], f"linking {out.name}")

    @staticmethod
    def has_v3() -> bool:
        return sys.platform == "linux" and platform.machine() == "x86_64"

    @staticmethod
    def file_name() -> str:
        return "_C.pyd" if os.name == "nt" else "_C.abi3.so"


class Wasm(Target):
    """A side module for Pyodide: ABI of Emscripten, musl's 32-bit headers, the running CPython's own headers with our
    pyconfig.h in place of the host's."""

    def __init__(self, relaxed: bool = False) -> None:
        lib = zig_folder() / "lib"
        include = python_headers()
        self.name = "wasm-relaxed" if relaxed else "wasm"
        self.relaxed = relaxed
        self.compiler = [*zig(), "clang"]
        simd = ["-msimd128"] + (["-mrelaxed-simd"] if relaxed else [])
        self.cflags = [
            *FLAGS,
            "--target=wasm32-unknown-emscripten",
            *simd,
            "-mbulk-memory",
            "-mnontrapping-fptoint",
            "-msign-ext",
            "-fPIC",
            "-DPy_PYCONFIG_H",
            "-include",
            str(NATIVE / "include" / "pyconfig_wasm32.h"),
            "-I",
            include,
            "-isystem",
            str(lib / "include"),
            "-isystem",
            str(lib / "libc/include/arm-linux-musl"),
            "-isystem",
            str(lib / "libc/include/generic-musl"),
        ]
        self.ldflags = [
            *LINKED_SMALL,
            "-shared",
            "--experimental-pic",
            "--export=PyInit__C",
            "--unresolved-symbols=import-dynamic",
        ]

    def serving(self, file: pathlib.Path, src: pathlib.Path) -> Target:
        # five of six files are the same in both builds: those that never ask for relaxed instructions
        return self if not self.relaxed or mentions(file, src, "__wasm_relaxed_simd__") else Wasm()

    def compile(self, src: pathlib.Path, obj: pathlib.Path, extra: list[str]) -> str:
        if not self.relaxed:
            return super().compile(src, obj, extra)
        # With relaxed SIMD on, LLVM turns `x < a ? a : x` into relaxed_max, which may drop a NaN;
        # the pseudo-maximum has the comparison's meaning.
        # So the assembly is corrected on its way, and nothing else relaxed than multiply-add may be in it.
        what = f"compiling {place(src)} ({self.name})"
        asm = obj.with_suffix(".s")
        out = call([*self.compiler, *self.cflags, *extra, "-S", str(src), "-o", str(asm)], what)
        text = re.sub(r"\b(f32x4|f64x2)\.relaxed_(min|max)\b", r"\1.p\2", asm.read_text())
        odd = set(re.findall(r"\b\w+\.relaxed_\w+", text)) - {
            f"{t}.relaxed_{op}" for t in ("f32x4", "f64x2") for op in ("madd", "nmadd")
        }
        if odd:
            raise BuildError(f"{what}: the results of {', '.join(sorted(odd))} differ between machines")
        asm.write_text(text)
        flags = [f for f in self.cflags if f.startswith(("--target", "-m", "-fPIC"))]
        call([*self.compiler, *flags, "-c", str(asm), "-o", str(obj)], what)
        asm.unlink()
        return out

    def link(self, objects: list[pathlib.Path], out: pathlib.Path) -> None:
        call([*zig(), "wasm-ld", *self.ldflags, *map(str, objects), "-o", str(out)], f"linking {out.name}")


class Workers(Wasm):
    """The code of a page's workers (native/page): the product code over shared memory, without Python. With relaxed
    SIMD, as the numbers are to be those of that build of the core; in engines without it there is one thread."""

    files = (NATIVE / "page" / "pool.c", SRC / "products" / "gemm.c")

    def __init__(self) -> None:
        super().__init__(relaxed=True)
        self.name = "page"
        drop = {"-O3", "-fPIC", "--target=wasm32-unknown-emscripten"}
        shared = ["--target=wasm32-unknown-unknown", "-matomics", "-pthread", "-fno-builtin", "-DTL_FLOAT_ONLY", "-Os"]
        self.cflags = [*(f for f in self.cflags if f not in drop), *shared]
        exports = ("__stack_pointer", "__heap_base", "__wasm_init_tls", "__tls_size")
        self.ldflags = [
            *LINKED_SMALL,
            "--import-memory",
            "--shared-memory",
            f"--max-memory={1 << 30}",
            "-z",
            f"stack-size={1 << 16}",
            *(f"--export={name}" for name in exports),
        ]

    def serving(self, file: pathlib.Path, src: pathlib.Path) -> Target:
        return self


def build_workers(out: pathlib.Path) -> pathlib.Path:
    """Compiles and links the code of a page's workers."""
    target = Workers()
    (ROOT / ".build" / target.name).mkdir(parents=True, exist_ok=True)
    headers = headers_digest(SRC)
    target.link([compile_one(target, f, SRC, headers) for f in target.files], out)
    return out


def call(cmd: list[str], what: str) -> str:
    env = dict(os.environ)
    env.setdefault("ZIG_GLOBAL_CACHE_DIR", str(ROOT / ".build" / "zig"))
    env.setdefault("ZIG_LOCAL_CACHE_DIR", str(ROOT / ".build" / "zig"))
    done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    if done.returncode:
        raise BuildError(f"{what} failed:\n{done.stdout}")
    return done.stdout


def compile_one(
    target: Target, file: pathlib.Path, src: pathlib.Path, headers: str, last_good: bool = False
) -> pathlib.Path:
    """The object of one file of `src`."""
    where = place(file, src)
    extra = ["-I", str(src), *optimisation(target, where)]
    key = digest(where, file.read_bytes(), headers, RECIPE, *target.compiler, *target.cflags, *extra)
    folder = ROOT / ".build" / target.name
    folder.mkdir(parents=True, exist_ok=True)
    stem = where.removesuffix(".c").replace("/", "-")
    obj = folder / f"{stem}.{key}.o"
    if obj.exists():
        os.utime(obj)
        return obj
    tmp = folder / f"{stem}.{key}.{os.getpid()}.tmp.o"
    try:
        out = target.compile(file, tmp, [*WARNINGS, *extra])
    except BuildError as e:
        olds = sorted(folder.glob(f"{stem}.*.o"), key=lambda p: p.stat().st_mtime)
        olds = [p for p in olds if ".tmp." not in p.name]
        if not (last_good and olds):
            raise
        print(f"{e}\nUSING THE LAST GOOD OBJECT of {where}", file=sys.stderr)
        return olds[-1]
    os.replace(tmp, obj)
    if out.strip():
        print(out, file=sys.stderr)  # warnings
    return obj


def missing_families(srcs: list[pathlib.Path], src: pathlib.Path) -> list[str]:
    """Kernel tables that tl.h names and no file defines."""
    header = src / "core" / "tl.h"
    if not header.exists():
        return []
    declared = re.findall(r"\b(tl_kernels_\w+)\[\]", header.read_text())
    text = "\n".join(p.read_text(errors="replace") for p in srcs)
    return [n for n in dict.fromkeys(declared) if not re.search(rf"\b{n}\[\]\s*=", text)]


def build(
    target: Target,
    out: pathlib.Path,
    *,
    src: pathlib.Path = SRC,
    last_good: bool = False,
    strict: bool = False,
    jobs: int = max(2, os.cpu_count() or 1),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> pathlib.Path:
    """Compiles every file of `src` and links them to `out`. `progress` is told how many files are done, of how many."""
    srcs = sources(src)
    if not srcs:
        raise BuildError(f"no C files in {src}")
    folder = ROOT / ".build" / target.name
    folder.mkdir(parents=True, exist_ok=True)
    absent = missing_families(srcs, src)
    if absent:
        if strict:
            raise BuildError("kernel tables without a definition: " + ", ".join(absent))
        print("warning: empty tables stand in for " + ", ".join(absent), file=sys.stderr)
        stub = folder / "stubs.c"
        body = '#include "core/tl.h"\n' + "".join(f"const TlKernel {n}[] = {{{{0}}}};\n" for n in absent)
        if not stub.exists() or stub.read_text() != body:
            stub.write_text(body)
        srcs.append(stub)
    headers = headers_digest(src)
    errors: list[str] = []
    objects: list[pathlib.Path] = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(compile_one, target.serving(s, src), s, src, headers, last_good) for s in srcs]
        for n, f in enumerate(futures, 1):
            try:
                objects.append(f.result())
            except BuildError as e:
                errors.append(str(e))
            progress(n, len(futures))
    if errors:
        raise BuildError("\n".join(errors))
    out.parent.mkdir(parents=True, exist_ok=True)
    # the same bytes for the same inputs, and never a half-written file under the final name
    link_key = digest(target.name, *target.ldflags, *[o.name for o in objects])
    stamp = folder / f"link.{link_key}.so"
    if not stamp.exists():
        tmp = folder / f"link.{link_key}.{os.getpid()}.so"
        target.link(objects, tmp)
        for old in folder.glob("link.*.so"):
            if old != tmp:
                old.unlink(missing_ok=True)
        os.replace(tmp, stamp)
    if not out.exists() or out.read_bytes() != stamp.read_bytes():
        part = out.with_name(f"{out.name}.{os.getpid()}")
        shutil.copyfile(stamp, part)
        os.chmod(part, 0o755)
        os.replace(part, out)
    sweep(folder)
    return out


def build_host(folder: pathlib.Path, **options: Any) -> list[pathlib.Path]:
    """The core for this machine's Python, in as many builds as there are kinds of processors."""
    made = [build(Host(), folder / Host.file_name(), **options)]
    if Host.has_v3():
        made.append(build(Host(v3=True), folder / "_C.v3.so", **options))
    return made


def sweep(folder: pathlib.Path, keep: int = 400) -> None:
    objects = sorted(folder.glob("*.o"), key=lambda p: p.stat().st_mtime)
    for old in objects[:-keep]:
        old.unlink(missing_ok=True)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One build at a time in a checkout, where the platform can lock files."""
    folder = ROOT / ".build"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as f:
        if os.name != "nt":
            import fcntl

            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def check_loads(out: pathlib.Path) -> None:
    """Names what the linker left open: a function that is declared and called but defined nowhere."""
    if os.name == "nt":
        return
    try:
        ctypes.PyDLL(str(out), mode=getattr(os, "RTLD_NOW", 2))
    except OSError as e:
        raise BuildError(f"{out} was built but does not load: {e}") from None


def check_warnings() -> None:
    errors = [f"SMALL names {n}, which is not there" for n in sorted(SMALL | SMALLEST) if not (SRC / n).exists()]
    for target in (Host(), *([Host(v3=True)] if Host.has_v3() else []), Wasm(), Wasm(relaxed=True), Workers()):
        files = Workers.files if isinstance(target, Workers) else sources()
        target.name += "-check"
        target.cflags = [*target.cflags, "-Werror"]
        (ROOT / ".build" / target.name).mkdir(parents=True, exist_ok=True)
        headers = headers_digest(SRC)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for f in [pool.submit(compile_one, target, s, SRC, headers) for s in files]:
                try:
                    f.result()
                except BuildError as e:
                    errors.append(str(e))
    if errors:
        raise BuildError("\n".join(errors))


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("target", choices=["host", "wasm", "page", "check"])
    p.add_argument("--sanitize", action="store_true")
    p.add_argument("--coverage", action="store_true")
    p.add_argument("--relaxed", action="store_true")
    p.add_argument("--last-good", action="store_true")
    p.add_argument("--strict", action="store_true", help="a kernel family without a file is an error")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--src", type=pathlib.Path, default=SRC)
    a = p.parse_args(argv)
    try:
        with locked():
            if a.target == "check":
                check_warnings()
                return 0
            opts = {"src": a.src.resolve(), "last_good": a.last_good, "strict": a.strict}
            if a.target == "host":
                if a.sanitize or a.coverage:
                    default = ROOT / ".build" / ("sanitized" if a.sanitize else "coverage")
                    made = [build(Host(a.sanitize, a.coverage), (a.out or default) / Host.file_name(), **opts)]
                else:
                    made = build_host(a.out or ROOT / "torchlite", **opts)
                for out in made if not a.sanitize else []:
                    check_loads(out)
            elif a.target == "page":
                made = [build_workers((a.out or ROOT / ".build" / "out") / "workers.wasm")]
            else:
                name = "_C_relaxed.wasm" if a.relaxed else "_C.abi3.so"
                made = [build(Wasm(a.relaxed), (a.out or ROOT / ".build" / "out") / name, **opts)]
        for out in made:
            print(f"{out} ({out.stat().st_size} bytes)")
    except BuildError as e:
        print(f"build: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
