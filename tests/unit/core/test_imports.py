"""No module of the package imports another that imports it back, while they are loaded."""

import ast
import importlib
import pathlib
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "torchlite"
pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="reads the source, which is the same on the host")


def at_load(body):
    """The statements that run as a module is loaded: not those of functions, nor what type checkers alone read."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from at_load(node.orelse)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from at_load(getattr(node, part, []) if not isinstance(node, ast.Expr) else [])
        for handler in getattr(node, "handlers", []):
            yield from at_load(handler.body)


def imports(package=PACKAGE):
    """{module: the modules of the package that it imports as it is loaded}, apart from the package itself and those
    packages that a module lies in, which are loaded before it in any case."""
    names = {}
    for path in package.rglob("*.py"):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for name, path in names.items():
        here = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        found = set()
        for node in at_load(ast.parse(path.read_text(encoding="utf-8")).body):
            if isinstance(node, ast.Import):
                found.update(a.name for a in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = here[: len(here) - node.level + 1] if node.level else []
                base = ".".join([*base, *(node.module or "").split(".")]).strip(".")
                modules = {"%s.%s" % (base, a.name) for a in node.names} & names.keys()
                found.update(modules)
                if len(modules) < len(node.names):
                    found.add(base)
        graph[name] = {n for n in found & names.keys() if n != name and not name.startswith(n + ".")}
    return graph


def circles(graph):
    """The sets of modules that reach each other."""
    reach = {}
    for name in graph:
        seen, rest = set(), [name]
        while rest:
            for other in graph[rest.pop()]:
                if other not in seen:
                    seen.add(other)
                    rest.append(other)
        reach[name] = seen
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}


def test_circles_are_found(tmp_path):
    package = tmp_path / "p"
    (package / "sub").mkdir(parents=True)
    for name, text in {
        "__init__": "from . import a",
        "a": "from .b import x",
        "b": "if 1:\n    from p import c",
        "c": "try:\n    from .sub import d\nfinally:\n    pass",
        "sub/__init__": "from .. import a",
        "sub/d": "from . import e",
        "sub/e": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from .d import x\ndef f():\n    from . import d",
    }.items():
        (package / (name + ".py")).write_text(text + "\n")
    graph = imports(package)
    assert graph["p.c"] == {"p.sub.d"} and not graph["p.sub.e"]
    assert circles(graph) == set()
    (package / "sub/e.py").write_text("from ..b import x\n")
    assert circles(imports(package)) == {frozenset(["p.b", "p.c", "p.sub.d", "p.sub.e"])}


def test_no_circles():
    assert not [sorted(c) for c in circles(imports())]


@pytest.mark.parametrize("package", ["", "nn", "utils"])
def test_each_submodule_in_a_list_is_a_file(package):
    """Modules that torchlite does not have are in the table of absent names, not in these lists."""
    module = importlib.import_module(("torchlite." + package).rstrip("."))
    here = pathlib.Path(module.__file__).parent
    listed = module._SUBMODULES | getattr(module, "_PRIVATE", set())
    assert not {n for n in listed if not (here / n).is_dir() and not (here / (n + ".py")).is_file()}
