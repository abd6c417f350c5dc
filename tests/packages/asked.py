"""Which package asks for which name of PyTorch: read from the packages' sources, asked of torchlite.

    .venv/bin/python tests/packages/asked.py [--page] [--cache FOLDER]

It reads the packages that run.py installed (.cache/packages), without running them, and writes two files:
asked.txt, the names of PyTorch that they ask for, with the packages of each; and demos/docs/package_names.md, what
torchlite says to each name. tests/unit/core/test_asked_names.py needs the first one only.

A name is a chain of attributes that begins with torch (`torch.nn.functional.gelu`, also by way of an alias of an
import), an import, or what `hasattr` and `getattr` are asked by a literal. Of a chain counts what PyTorch 2.13 has;
names of other releases are left out. A package that asks for a name only where it can do without (in a `try` that
catches, after `hasattr`, for type checkers) has a question mark behind it. answers.py asks torchlite.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import subprocess
import sys
from collections import defaultdict
from typing import Iterator

import answers
import run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "demos" / "docs" / "package_names.md"

# no packages that somebody imports: what their wheels left behind, and tests
SKIPPED = {"torch", "torchlite", "build", "benchmarks", "docs", "examples", "scripts", "test", "test_community"}
CATCHES = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "RuntimeError"}


class Reader(ast.NodeVisitor):
    """Collects the chains of one file: `found[chain]` is whether it can do without."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # a name of the module, and what of torch it is
        self.found: dict[str, bool] = {}
        self.optional = 0

    def ask(self, chain: str) -> None:
        self.found[chain] = self.found.get(chain, True) and self.optional > 0

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.partition(".")[0] == "torch":
                self.bound[name.asname or "torch"] = name.name if name.asname else "torch"
                self.ask(name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module and node.module.partition(".")[0] == "torch":
            for name in node.names:
                path = node.module if name.name == "*" else "%s.%s" % (node.module, name.name)
                self.bound[name.asname or name.name] = path
                self.ask(path)

    def chain(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.bound:
            return None
        return ".".join([self.bound[node.id], *reversed(parts)])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = self.chain(node)
        if chain is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self.ask(chain)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr") and len(node.args) > 1:
            owner, name = self.chain(node.args[0]), node.args[1]
            if owner and isinstance(name, ast.Constant) and isinstance(name.value, str):
                needed = node.func.id == "getattr" and len(node.args) == 2
                self.optional += not needed
                self.ask("%s.%s" % (owner, name.value))
                self.optional -= not needed

    def visit_Try(self, node: ast.Try) -> None:
        caught = any(handler.type is None or CATCHES & set(_names(handler.type)) for handler in node.handlers)
        self._optional(node.body, caught)
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        asks = _asks(node.test)
        self._optional(node.body, asks)
        self._optional(node.orelse, asks)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._optional([node.body, node.orelse], _asks(node.test))

    def _optional(self, nodes: list, yes: bool) -> None:
        self.optional += yes
        for node in nodes:
            self.visit(node)
        self.optional -= yes


def _names(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id


def _asks(test: ast.expr) -> bool:
    """Whether a condition asks what there is: hasattr, a version, a platform, TYPE_CHECKING."""
    text = ast.unparse(test).lower()
    words = ("hasattr", "version", "type_checking", "is_available", "_available", "greater_equal", "has_")
    return any(word in text for word in words)


def read(folder: pathlib.Path) -> dict[str, dict[str, bool]]:
    """chain -> package -> whether the package can do without."""
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for package in sorted(folder.iterdir()):
        if package.name in SKIPPED or package.name.startswith("torch-") or "-" in package.name:
            continue
        for file in package.rglob("*.py") if package.is_dir() else [package]:
            if file.suffix != ".py":
                continue
            source = file.read_text(encoding="utf-8", errors="replace")
            if "torch" not in source or {"tests", "testing"} & set(file.relative_to(folder).parts):
                continue
            try:
                tree = ast.parse(source)
            except SyntaxError:  # of another Python
                continue
            reader = Reader()
            reader.visit(tree)
            for chain, optional in reader.found.items():
                row = found[chain]
                row[package.stem] = row.get(package.stem, True) and optional
    return found


# Runs in a process of its own with real PyTorch: of each chain the part that it has, where it has any.
CUT = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")
import torch
def there(chain):
    done, value = ["torch"], torch
    for name in chain.split(".")[1:]:
        path = ".".join([*done, name])
        if not isinstance(value, (types.ModuleType, type)) and "torch.ops" not in path:
            break
        try:
            value = getattr(value, name)
        except Exception:
            try:
                value = importlib.import_module(path)
            except Exception:
                return None
        done.append(name)
    return ".".join(done)
chains = json.load(sys.stdin)
print(json.dumps({chain: there(chain) for chain in chains}))
"""


def of_pytorch(chains: list[str]) -> dict[str, str | None]:
    done = subprocess.run(
        [sys.executable, "-c", CUT], input=json.dumps(chains), capture_output=True, text=True, check=True, cwd="/"
    )
    return json.loads(done.stdout.splitlines()[-1])


def asked(folder: pathlib.Path) -> dict[str, dict[str, bool]]:
    """name of PyTorch -> package -> whether the package can do without."""
    chains = read(folder)
    names: dict[str, dict[str, bool]] = defaultdict(dict)
    for chain, name in of_pytorch(sorted(chains)).items():
        if name is not None and name != "torch":
            for package, optional in chains[chain].items():
                names[name][package] = names[name].get(package, True) and optional
    return names


def list_text(names: dict[str, dict[str, bool]]) -> str:
    """A line for each name: the name, then who asks for it."""
    return "".join(
        "%s %s\n" % (name, " ".join(package + "?" * optional for package, optional in sorted(names[name].items())))
        for name in sorted(names)
    )


def page_text(names: dict[str, dict[str, bool]]) -> str:
    """What torchlite says: the names that refuse or are missing, and how many names each package asks for."""
    answer = {name: answers.answer(name) for name in names}
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, packages in names.items():
        for package, optional in packages.items():
            counts[package][answer[name]] += 1
            counts[package]["needed"] += answer[name] != answers.HAS and not optional
    total = {kind: sum(found == kind for found in answer.values()) for kind in answers.KINDS}
    text = (
        "# Names that packages ask for\n\nWritten by `tests/packages/asked.py` from the sources of %d packages. Of the "
        "%d names of PyTorch that they import or\nlook up, torchlite has %d; %d refuse with an error that says why, "
        "and %d are not there. A question mark: the package\ncan do without the name. Most of what is not there "
        "stands in functions for several processes, for exporters, or for\nquantized models.\n\n"
        % (len(counts), len(names), total[answers.HAS], total[answers.REFUSES], total[answers.LACKS])
    )
    for kind, title in ((answers.LACKS, "Not there"), (answers.REFUSES, "Refused")):
        text += "## %s\n\n| name | packages |\n| --- | --- |\n" % title
        for name in sorted(name for name in names if answer[name] == kind):
            asking = [package + "?" * optional for package, optional in sorted(names[name].items())]
            text += "| `%s` | %s |\n" % (name, " ".join(asking))
        text += "\n"
    text += (
        "## By package\n\n`needed`: names that refuse or are not there, without a question mark.\n\n"
        "| package | has | refuses | not there | needed |\n| --- | --- | --- | --- | --- |\n"
    )
    for package, row in sorted(counts.items()):
        cells = [row[kind] for kind in (*answers.KINDS, "needed")]
        text += "| %s | %s |\n" % (package, " | ".join(map(str, cells)))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / ".cache" / "packages")
    parser.add_argument("--page", action="store_true", help="only the page, from asked.txt as it is")
    args = parser.parse_args()
    if not args.page:
        answers.LIST.write_text(list_text(asked(run.site(args.cache.resolve()))))
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page_text(answers.asked()))


if __name__ == "__main__":
    main()
