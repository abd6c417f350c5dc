"""Names and signatures of torch for the Playground's completion, read from the type stubs and the sources.

`table()` gives {module: {name: [kind, signature, doc]}}: kinds are f(unction), c(lass), m(odule) and v(alue);
"torch.Tensor" and "torch.nn.Module" are modules here, with the methods. Nothing is imported, so that the site can be
built where no core is compiled.
"""

import ast
import functools
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "torchlite"

# module of PyTorch: the files that have its names
FILES = {
    "torch": ["__init__.pyi"],
    "torch.nn": ["nn/modules/*.py", "nn/parameter*.py"],
    "torch.nn.functional": ["nn/functional.pyi", "nn/functional.py"],
    "torch.nn.init": ["nn/init.py"],
    "torch.nn.utils": ["nn/utils/__init__.py", "nn/utils/clip_grad.py", "nn/utils/convert_parameters.py"],
    "torch.nn.utils.rnn": ["nn/utils/rnn.py"],
    "torch.optim": ["optim/*.py", "-optim/*sc*.py", "-optim/_cyclic.py", "-optim/swa_utils.py"],
    "torch.optim.lr_scheduler": ["optim/lr_scheduler.py", "optim/_schedule.py", "optim/_cyclic.py"],
    "torch.optim.swa_utils": ["optim/swa_utils.py"],
    "torch.utils.data": ["utils/data/*.py"],
    "torch.linalg": ["linalg.pyi"],
    "torch.fft": ["fft.pyi"],
    "torch.special": ["special.pyi"],
    "torch.distributions": ["distributions/*.py"],
    "torch.func": ["func.py"],
    "torch.autograd": ["autograd/__init__.py"],
    "torch.profiler": ["profiler/__init__.py"],
    "torch.amp": ["amp/__init__.py"],
    "torch.accelerator": ["accelerator.py"],
    "torch.hub": ["hub.py"],
}
CLASSES = {  # class: where it is, and its bases
    "torch.Tensor": [("_core/tensor.py", "Tensor"), ("_C.pyi", "TensorBase")],
    "torch.nn.Module": [
        *(("nn/modules/module.py", "Module"), ("nn/modules/_members.py", "_Members")),
        *(("nn/modules/_state.py", "_StateDict"), ("nn/modules/_convert.py", "_Conversion")),
    ],
    "torch.optim.Optimizer": [("optim/optimizer.py", "Optimizer")],
}
STUB_NAMES = re.compile(r"\b_(int|float|bool|str|complex|dtype|device|layout|memory_format|Number)\b")
# classes that the files of torch.nn and torch.distributions share among themselves
INTERNAL = {"LazyModuleMixin", "NonDynamicallyQuantizableLinear", "UninitializedTensorMixin", "Constraint"}
INTERNAL |= {"ConstraintRegistry", "ExpRelaxedCategorical", "Half", "LogitRelaxedBernoulli", "ProbsOrLogits"}
INTERNAL |= {"MixtureSameFamilyConstraint", "lazy_property"}
DEFS = (ast.FunctionDef, ast.ClassDef)


@functools.cache
def definitions(path):
    """{name: node} of a file's functions and classes, and of what it imports from the package by name."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, DEFS):
            found.setdefault(node.name, node)  # the first overload
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, (node, alias.name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, node)
    return found


def resolve(path, name, depth=0):
    """The definition behind a name: a node, "module", or None for what is not the package's."""
    node = definitions(path).get(name)
    if not isinstance(node, tuple):
        return node
    statement, original = node
    if statement.level == 0 or depth > 4:
        return None
    folder = path.parent
    for _ in range(statement.level - 1):
        folder = folder.parent
    for part in (statement.module or "").split("."):
        folder = folder / part if part else folder
    inner = folder / original
    if not statement.module and (inner.is_dir() or inner.with_suffix(".py").exists()):
        return "module"
    files = [folder.with_suffix(".pyi"), folder.with_suffix(".py")] if statement.module else [folder / "__init__.pyi"]
    for candidate in [*files, folder / "__init__.py"]:
        if candidate.exists() and candidate != path and original in definitions(candidate):
            return resolve(candidate, original, depth + 1)
    return None


def signature(node):
    arguments = STUB_NAMES.sub(r"\1", ast.unparse(node.args)).replace(": Any", "")
    arguments = re.sub(r"^(self|cls)(, /)?(, |$)", "", arguments)
    returns = f" -> {STUB_NAMES.sub(chr(92) + '1', ast.unparse(node.returns))}" if node.returns else ""
    return f"({arguments}){returns.replace(' -> Any', '').replace(' -> None', '')}"


def maker_of(node, path):
    """The __init__ or __new__ of a class, also of a base in the same file."""
    makers = {d.name: d for d in node.body if isinstance(d, ast.FunctionDef)}
    if found := makers.get("__init__") or makers.get("__new__"):
        return found
    bases = (definitions(path).get(base.id) for base in node.bases if isinstance(base, ast.Name))
    return next((maker for base in bases if isinstance(base, ast.ClassDef) and (maker := maker_of(base, path))), None)


def describe(node, path):
    if node == "module":
        return ["m", "", ""]
    if node is None:
        return ["f", "", ""]
    if isinstance(node, ast.AnnAssign):
        return ["v", STUB_NAMES.sub(r"\1", ast.unparse(node.annotation)).replace("Any", ""), ""]
    doc = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
    if isinstance(node, ast.ClassDef):
        maker = maker_of(node, path)
        return ["c", signature(maker) if maker else "", doc]
    if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
        return ["v", STUB_NAMES.sub(r"\1", ast.unparse(node.returns)) if node.returns else "", doc]
    return ["f", signature(node), doc]


def module_names(patterns):
    """A star takes the classes that the files define; a stub or an __init__ is the module itself, with what it
    imports. What follows a minus is left out."""
    found = {}
    without = {path for pattern in patterns if pattern[0] == "-" for path in PACKAGE.glob(pattern[1:])}
    for pattern in patterns:
        for path in sorted(set(PACKAGE.glob(pattern)) - without) if pattern[0] != "-" else []:
            whole = path.suffix == ".pyi" or path.name == "__init__.py"
            kinds = ast.ClassDef if "*" in pattern else DEFS
            for name, node in definitions(path).items():
                public = name[0] != "_" and name not in INTERNAL and (whole or isinstance(node, kinds))
                if not public or name in found:
                    continue
                known = resolve(path, name)
                if known is None and (path.suffix == ".py" or node[0].level == 0):
                    continue
                found[name] = describe(known, path)
    return found


def class_names(places):
    found = {}
    for file, name in places:
        for node in definitions(PACKAGE / file)[name].body:
            if isinstance(node, ast.FunctionDef):
                label, entry = node.name, describe(node, PACKAGE / file)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                label, entry = node.target.id, describe(node, PACKAGE / file)
            else:
                continue
            if not label.startswith("_"):
                found.setdefault(label, entry)
    return found


def table():
    found = {module: module_names(patterns) for module, patterns in FILES.items()}
    found |= {name: class_names(places) for name, places in CLASSES.items()}
    for module in [*FILES, "torch.utils"]:
        owner, _, name = module.rpartition(".")
        if owner:
            found.setdefault(owner, {})[name] = ["m", "", ""]
    for module in ("torch.linalg", "torch.fft", "torch.special", "torch.autograd"):
        found[module].pop("Tensor", None)
    for name, entry in found["torch.nn.functional"].items():
        if not entry[1] and name in found["torch"]:
            found["torch.nn.functional"][name] = found["torch"][name]
    # the core makes these; no stub names them
    for name in "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool complex64 complex128".split():
        found["torch"][name] = ["v", "dtype", ""]
    return {module: dict(sorted(names.items())) for module, names in found.items()}
