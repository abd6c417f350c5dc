"""The checks that run none of the code: formatters, linters, type checkers and the C compiler's warnings.

    python tests/check.py [--fix] [NAME ...]

All of them run even where one fails; the last lines say which did. --fix lets the formatters write.
"""

from __future__ import annotations

import argparse
import ast
import collections
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
PY = sys.executable
TOOLS = pathlib.Path(PY).parent
LONGEST = 120  # columns
sys.path.insert(0, str(ROOT / "wheels"))
import runtime
import unused_modules


def source_files(*suffixes: str) -> list[str]:
    """The files of the repository that end so, new ones too, but for those that no hand writes."""
    cmd = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(cmd, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [f for f in listed.split("\0") if f.endswith(suffixes) and not f.endswith(".pyi") and (ROOT / f).exists()]


def run(*cmd: str, cwd: pathlib.Path = ROOT, env: dict[str, str] | None = None) -> bool:
    return subprocess.run(cmd, cwd=cwd, env={**os.environ, **(env or {})}, check=False).returncode == 0


def node_tool(name: str) -> str:
    """A program of js_bridge's npm packages."""
    return str(runtime.npm_packages(ROOT / "js_bridge") / ".bin" / name)


def python_format(fix: bool) -> bool:
    return run(PY, "-m", "ruff", "format", *([] if fix else ["--check", "--diff", "--quiet"]), ".")


def c_format(fix: bool) -> bool:
    return run(
        str(TOOLS / "clang-format"), *(["-i"] if fix else ["--dry-run", "--Werror"]), *source_files(".c", ".h", ".inc")
    )


def js_format(fix: bool) -> bool:
    folder = ROOT / "js_bridge"
    files = [os.path.relpath(ROOT / f, folder) for f in source_files(".ts", ".mjs", ".js", ".css") if "/lib/" not in f]
    config = ["--config", ".prettierrc.json", "--log-level", "warn"]
    return run(node_tool("prettier"), "--write" if fix else "--check", *config, *files, cwd=folder)


def line_lengths(fix: bool) -> bool:
    """Every line that a hand writes, also macros, strings and comments, which the formatters leave as they are.

    A row of a Markdown table cannot be wrapped. support.md is generated.
    """
    good = True
    code = (".py", ".c", ".h", ".inc", ".ts", ".mts", ".mjs", ".js", ".css", ".html", ".sh", ".toml", ".ci/run")
    for name in source_files(*code, "Makefile", ".md"):
        if name == "demos/docs/support.md":
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            table_row = name.endswith(".md") and line.lstrip().startswith("|")
            if len(line) > LONGEST and not table_row:
                print(f"{name}:{number}: {len(line)} columns, more than {LONGEST}")
                good = False
    return good


def nested_conditions(fix: bool) -> bool:
    """Conditional expressions within the branches of another: `if` and `elif` read better."""
    good = True
    for name in source_files(".py"):
        for node in ast.walk(ast.parse((ROOT / name).read_text())):
            if isinstance(node, ast.IfExp):
                inner = (part for branch in (node.body, node.orelse) for part in ast.walk(branch))
                if any(isinstance(part, ast.IfExp) for part in inner):
                    print(f"{name}:{node.lineno}: a conditional expression within another")
                    good = False
    for name in source_files(".c", ".h", ".inc"):
        for line in c_nested_conditions((ROOT / name).read_text()):
            print(f"{name}:{line}: a conditional expression within another")
            good = False
    bridge = [f for f in source_files(".ts", ".mjs") if f.startswith("js_bridge/")]
    runtime.npm_packages(ROOT / "js_bridge")
    return run("node", "js_bridge/tools/conditions.mjs", *bridge) and good


def c_nested_conditions(text: str) -> list[int]:
    """Lines of C with a `?` in a branch of another conditional expression, as far as one file's own text shows it.

    A walk over brackets, `?` and `:`. An else branch ends at the next `,`, `;` or closing bracket, or at the `:` of a
    conditional expression around it. Each directive is text of its own.
    """
    found: set[int] = set()
    directive = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
    code = c_code(text)
    parts = [(m[0], code.count("\n", 0, m.start())) for m in directive.finditer(code)]
    parts.append((directive.sub(lambda m: "\n" * m[0].count("\n"), code), 0))
    for part, line in parts:
        stack: list[str] = []  # brackets that are open; "?" and ":" for the first and the second branch
        for token in re.findall(r"[?:;,(){}\[\]\n]", part):
            line += token == "\n"
            if token in "([{":
                stack.append(token)
            elif token == "?":
                if "?" in stack or ":" in stack:
                    found.add(line + 1)
                stack.append("?")
            elif token == ":":
                while stack and stack[-1] == ":":
                    stack.pop()
                if stack and stack[-1] == "?":  # else a label or a bit field
                    stack[-1] = ":"
            elif token != "\n":
                while stack and stack[-1] in "?:":
                    stack.pop()
                if token in ")]}" and stack:
                    stack.pop()
    return sorted(found)


def c_prototypes(fix: bool) -> bool:
    """What another C file defines is declared in a header, so that the compiler compares the two."""
    declared = re.compile(
        r"^(?!typedef|static|return|struct \w+;)(?:extern )?[A-Za-z_][\w ]* \**\w+(?:\([^;{}=]*\)|\[\])[^;{}=()]*;",
        re.M,
    )
    good = True
    for name in source_files(".c"):
        text = (ROOT / name).read_text()
        for found in declared.finditer(text):
            if "__asm__" in found[0]:  # a function of the platform that no header has
                continue
            print(
                f"{name}:{text.count(chr(10), 0, found.start()) + 1}: belongs in a header: {found[0].splitlines()[0]}"
            )
            good = False
    return good


def c_code(text: str) -> str:
    """C without its comments and the contents of its strings; lines stay where they are."""
    no_code = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
    return no_code.sub(lambda m: ('""' if m[0][0] in "\"'" else " ") + "\n" * m[0].count("\n"), text)


def c_unused(fix: bool) -> bool:
    """Functions and macros that nothing names but their definition and prototypes. The compiler finds those static
    functions that lie in a .c file.

    Macros that paste names (cz_##name) use all that begin so.
    """
    sources = [name for name in source_files(".c", ".h", ".inc") if not name.startswith("native/include/")]
    code = {name: c_code((ROOT / name).read_text()) for name in sources}
    inline = re.compile(r"^static inline [\w ]+[ *](\w+)\(", re.M)
    external = re.compile(r"^(?!static\b|typedef\b|return\b|else\b|#)[A-Za-z_][\w ]*[ *](\w+)\([^;{}]*\)\s*\{", re.M)
    macro = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
    prototype = re.compile(r"^(?!return\b|#)(?:[A-Za-z_]\w*[ *]+)+\w+\([^;{}]*\)[^;{}=]*;", re.M)
    named = collections.Counter(word for text in code.values() for word in re.findall(r"\w+", prototype.sub("", text)))
    pasted = tuple({prefix for text in code.values() for prefix in re.findall(r"\b([A-Za-z]\w*_)\s*##", text)})
    # an include guard; what the headers of Python and of the platform read
    external_names = re.compile(r"TL_\w+_H|PY_SSIZE_T_CLEAN|PyInit__C")
    good = True
    for name, text in code.items():
        function = inline if name.endswith(".h") else external
        for found in (*function.finditer(text), *macro.finditer(text)):
            if named[found[1]] > 1 or found[1].startswith(pasted) or external_names.fullmatch(found[1]):
                continue
            print(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: nothing uses {found[1]}")
            good = False
    return good


# folders in which no name is PyTorch's
OWN_NAMES = (
    "torchlite/_core/",
    "torchlite/webgpu/",
    "torchlite/ops/",
    "torchlite/_files/",
    "native/",
    "wheels/",
    "demos/",
    "tests/",
)
# files whose names are asked for: torch._C's, and the functions that tests/packages/worker.py runs
FOUND_BY_NAME = ("torchlite/_core/c_", "tests/packages/cases/")


def python_unused(fix: bool) -> bool:
    """Functions, classes and constants of a module that no file names but by their definition. A decorator may use
    what it decorates; pip, pytest and mkdocs find their hooks by name."""
    hooks = re.compile(
        r"__\w+__|test_\w+|pytest_\w+|build_\w+|get_requires_\w+|collect_ignore|on_(config|files|page_\w+|post_page)"
    )
    suffixes = (".py", ".c", ".h", ".inc", ".ts", ".mjs", ".js", ".html", ".toml", ".md", "Makefile")
    text = {name: (ROOT / name).read_text(errors="replace") for name in source_files(*suffixes)}
    named = collections.Counter(word for t in text.values() for word in re.findall(r"\w+", t))
    good = True
    for name in (n for n in text if n.endswith(".py") and n.startswith(OWN_NAMES)):
        if name.startswith(FOUND_BY_NAME):
            continue
        for node in ast.parse(text[name]).body:
            defined: list[str] = []
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.decorator_list:
                defined = [node.name]
            elif isinstance(node, ast.Assign):
                defined = [t.id for t in node.targets if isinstance(t, ast.Name)]
            for word in defined:
                if named[word] == 1 and not hooks.fullmatch(word):
                    print(f"{name}:{node.lineno}: nothing uses {word}")
                    good = False
    return good


def modules_unused(fix: bool) -> bool:
    """Modules that no other one, no table of lazily loaded ones and no program reaches."""
    suffixes = (".py", ".c", ".h", ".inc", ".ts", ".mts", ".mjs", ".js", ".html", ".toml", ".json", ".md", "Makefile")
    text = {name: (ROOT / name).read_text(errors="replace") for name in source_files(*suffixes)}
    found = unused_modules.python_modules(text) + unused_modules.typescript_modules(text)
    for name in found:
        print(f"{name}: nothing reaches this module")
    return not found


def lint(fix: bool) -> bool:
    return run(PY, "-m", "ruff", "check", *(["--fix"] if fix else []), ".")


def types(fix: bool) -> bool:
    tools = [*map(str, sorted((ROOT / "native").glob("*.py"))), *map(str, sorted((ROOT / "wheels").glob("*.py")))]
    tools += [str(ROOT / "tests" / f"{name}.py") for name in ("check", "run", "setup_env", "unused_modules")]
    path = "native:wheels:tests/webgpu:tests/pyodide"
    strict = run(
        PY, "-m", "mypy", "--config-file=", "--strict", "--follow-imports=silent", *tools, env={"MYPYPATH": path}
    )
    # a user's program, with mistakes that the stubs make mypy find
    user = run(
        *(PY, "-m", "mypy", "--config-file=", "--warn-unused-ignores", "--follow-imports=silent"),
        "tests/typed/user_program.py",
    )
    return run(PY, "-m", "mypy") and strict and user


def typescript(fix: bool) -> bool:
    return run(node_tool("tsc"), "--noEmit", cwd=ROOT / "js_bridge")


def c_warnings(fix: bool) -> bool:
    return run(PY, "native/build.py", "check")


CHECKS: dict[str, Callable[[bool], bool]] = {
    "ruff format": python_format,
    "clang-format": c_format,
    "prettier": js_format,
    "line lengths": line_lengths,
    "C prototypes": c_prototypes,
    "unused C names": c_unused,
    "unused Python names": python_unused,
    "unused modules": modules_unused,
    "nested conditions": nested_conditions,
    "ruff": lint,
    "mypy": types,
    "tsc": typescript,
    "C warnings": c_warnings,
}


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CHECKS))
    p.add_argument("--fix", action="store_true", help="the formatters and ruff write what they can")
    a = p.parse_args()
    unknown = set(a.names) - set(CHECKS)
    if unknown:
        p.error(f"no such check: {', '.join(sorted(unknown))}")
    failed = []
    for name in a.names or CHECKS:
        start = time.monotonic()
        print(f"==== {name}", flush=True)
        try:
            good = CHECKS[name](a.fix)
        except (runtime.Missing, ModuleNotFoundError) as e:
            print(e)
            good = False
        if not good:
            failed.append(name)
        print(f"{'ok' if good else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
    print("failed: " + ", ".join(failed) if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
