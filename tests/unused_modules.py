"""Modules that nothing reaches: Python below torchlite/, TypeScript below js_bridge/.

A Python module is reached from torchlite itself, from a module that PyTorch has as well (a program imports it through
the alias), from C, the wheels' tools, or a `python -m` line of a document. From there imports count, and the tables of
lazily loaded modules: a string that is a module's whole name, and, in a package's own __init__.py, a string of names.
What only tests import is not reached. TypeScript: from the entry points of the bundles and of the tools; for
test_support from the tests too.
"""

from __future__ import annotations

import ast
import importlib.util
import pathlib
import posixpath
import re
from collections.abc import Iterable, Iterator

PACKAGE = "torchlite"


# ---- Python ----------------------------------------------------------------------------------------------------------
def module_name(path: str) -> str:
    parts = list(pathlib.PurePosixPath(path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def guarded(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:`, whose imports never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of the code that can run."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(node.orelse if isinstance(node, ast.If) and guarded(node) else ast.iter_child_nodes(node))


def absolute(name: str, package: str) -> str:
    """A module's name as import_module understands it from inside a package."""
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    parents = package.split(".")
    base = ".".join(parents[: len(parents) - dots + 1])
    return ".".join(filter(None, (base, name[dots:])))


def mentioned(text: str, module: str, is_package: bool) -> set[str]:
    """Full names that a module's code may import; some of them are those of functions and classes."""
    package = module if is_package else module.rpartition(".")[0]
    found: set[str] = set()
    for node in running(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute("." * node.level + (node.module or ""), package)
            found.add(base)
            found.update(f"{base}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
            if len(words) == 1 and re.fullmatch(r"\.*[\w.]+", words[0]):
                found.add(re.sub(r"^torch\b", PACKAGE, absolute(words[0], package)))
            if is_package and all(re.fullmatch(r"[\w.]+", w) for w in words):
                found.update(f"{package}.{w}" for w in words)
    return found


def parents_of(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def in_pytorch(name: str, root: pathlib.Path) -> bool:
    """PyTorch has a module of this name; it is not imported for the answer."""
    path = root.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def python_modules(files: dict[str, str]) -> list[str]:
    """Those of the files below torchlite/ that nothing reaches. `files`: path from the repository's root -> text."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("PyTorch's modules are not known without PyTorch: make setup installs it")
    pytorch = pathlib.Path(spec.origin).parent
    own = {module_name(p): p for p in files if p.startswith(PACKAGE + "/") and p.endswith(".py")}
    todo = {PACKAGE, PACKAGE + ".__main__"} | {m for m in own if in_pytorch(m, pytorch)}
    for path, text in files.items():
        if path.startswith(("native/", "wheels/")):
            todo.update(re.findall(rf"\b{PACKAGE}(?:\.\w+)+", text))
        elif path.endswith(".md"):
            todo.update(re.findall(rf"-m ({PACKAGE}(?:\.\w+)+)", text))
    reached: set[str] = set()
    while todo:
        for name in parents_of(todo.pop()):
            if name in own and name not in reached:
                reached.add(name)
                path = own[name]
                todo |= mentioned(files[path], name, path.endswith("__init__.py"))
    return sorted(own[m] for m in own.keys() - reached)


# ---- TypeScript ------------------------------------------------------------------------------------------------------
IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")
ENTRIES = "js_bridge/src/api/page.ts", "js_bridge/src/api/bridge.ts"


def imported(path: str, text: str, known: Iterable[str]) -> Iterator[str]:
    for name in IMPORT.findall(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        for candidate in (target, target + ".ts", re.sub(r"\.js$", ".ts", target)):
            if candidate in known:
                yield candidate


def typescript_modules(files: dict[str, str]) -> list[str]:
    """Those of the files below js_bridge/ that nothing reaches. Tools and tests, also those in Python, name what they
    bundle or run by its path or its name."""
    known = {p: t for p, t in files.items() if p.startswith("js_bridge/") and p.endswith((".ts", ".mjs"))}
    product = {p for p in known if p.startswith("js_bridge/src/")}
    support = {p for p in known if p.startswith("js_bridge/test_support/")}
    naming = {p: t for p, t in files.items() if p not in product | support and not p.endswith(".md")}

    def reach(todo: set[str]) -> set[str]:
        seen: set[str] = set()
        while todo:
            path = todo.pop()
            if path not in seen:
                seen.add(path)
                todo.update(imported(path, known[path], known))
        return seen

    shipped = reach({p for p in (*ENTRIES, *(p for p in known if p.startswith("js_bridge/tools/"))) if p in known})
    named = {p for p in support if any(posixpath.basename(p) in t for t in naming.values())}
    tested = reach({p for p in known if p not in product | support} | named)
    return sorted((product - shipped) | (support - tested))
