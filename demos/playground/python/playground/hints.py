"""What to do about an error, as HTML: missing modules, shapes that do not fit, memory that ran out, and a few more."""

import ast
import difflib
import html
import os
import re
import sys
import types

from . import packages
from .advice import ADVICE
from .rich import bytes_text, shape_text

MATMUL = re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
BROADCAST = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton")
CHANNELS = re.compile(r"of size \[([\d, ]+)\], expected input\[([\d, ]+)\] to have (\d+) channels, but got (\d+)")
VIEW = re.compile(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)")
ALLOCATE = re.compile(r"allocate (\d+) bytes")
DEVICE = re.compile(
    r"not compiled with CUDA|device (cuda|mps|xpu)\b.* is not supported|Found no NVIDIA driver"
    r"|device type at start of device string"
)
SHAPES = re.compile(r"\b(shapes?|sizes?|dimensions?|batch_size|channels|broadcast\w*|dim)\b")


def hint(error, name):
    """HTML about an error raised by code of the file `name`; empty where there is nothing to add."""
    parts = []
    if DEVICE.search(str(error)):
        parts.append(_device())
    elif isinstance(error, SyntaxError):
        parts.append(_syntax(error))
    elif isinstance(error, AttributeError):
        parts.append(_advice(str(error)) or _attribute(error))
    elif isinstance(error, ModuleNotFoundError) and error.name:
        parts.append(_module(error.name.partition(".")[0]))
    elif isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        parts.append(_memory(str(error)))
    elif isinstance(error, FileNotFoundError):
        parts.append(_file(error))
    elif isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
        text = str(error)
        parts += [_broadcast(error, name) if BROADCAST.search(text) else "", _shapes(text), _advice(text)]
        if text == "'module' object is not callable":
            parts.append(_module_called(error, name))
        elif text.endswith("object is not iterable"):
            parts.append(_module_iterated(error, name))
        if any(parts) or SHAPES.search(text):
            parts.append(_values(error, name))
    return "".join(parts)


def _paragraph(text):
    return f"<p>{html.escape(text)}</p>"


def _module(name):
    if name in packages.problems:
        return _paragraph(packages.problems[name])
    return _paragraph(
        f"There is no module {name} here. Packages that a script imports are loaded before it runs; "
        "a file of your own can be dropped onto the page."
    )


def _device():
    return _paragraph(
        'In a browser the devices are "cpu" and, where there is WebGPU, "webgpu": '
        'device = "webgpu" if torch.webgpu.is_available() else "cpu". '
        'For a script that says "cuda", torch.webgpu.use_as_cuda() as its second line lets that mean the GPU.'
    )


def _syntax(error):
    if (error.text or "").lstrip().startswith(("!", "%")):
        return _paragraph(
            "Lines that begin with ! or % are commands of notebooks. Packages that a script imports are loaded before "
            "it runs, without a command."
        )
    return ""


def _attribute(error):
    """Names of the object that are written nearly alike."""
    if not isinstance(error.name, str) or error.obj is None:
        return ""
    try:
        names = dir(error.obj)
    except AttributeError:  # an object that is not made yet
        return ""
    near = difflib.get_close_matches(error.name, [n for n in names if not n.startswith("_")], 3, 0.75)
    return _paragraph(f"Did you mean {' or '.join(near)}?") if near else ""


def _memory(text):
    found = ALLOCATE.search(text)
    need = f"The script asked for {bytes_text(int(found[1]))} in one piece. " if found else ""
    return _paragraph(
        f"{need}Python has at most 4.3 GB in a browser, and one tensor at most 2.1 GB. Smaller batches, "
        "torch.no_grad() where nothing is trained, del of what is not needed any more, or a smaller dtype "
        "(bfloat16, float16) help; Restart gives the memory of earlier runs back."
    )


def _file(error):
    beside = sorted(entry for entry in os.listdir(".") if not entry.startswith("."))
    has = f"There are: {', '.join(beside[:12])}." if beside else "There are none."
    return _paragraph(f"The script sees the files of the Files panel. {has} Drop a file onto the page to add it.")


def _boxes(pairs):
    """Shapes beside each other; the sizes that do not fit stand out."""
    drawn = []
    for name, sizes, wrong in pairs:
        inner = "<i>×</i>".join(f'<b class="bad">{s}</b>' if i in wrong else f"<b>{s}</b>" for i, s in enumerate(sizes))
        drawn.append(f'<span class="box"><small>{html.escape(name)}</small>{inner or "()"}</span>')
    return f'<div class="shapes">{"".join(drawn)}</div>'


def _shapes(text):
    if found := MATMUL.search(text):
        a, b, c, d = found.groups()
        said = f"In a matrix product the {b} columns of the first must be the {c} rows of the second."
        return _boxes([("first", (a, b), {1}), ("second", (c, d), {0})]) + _paragraph(said)
    if found := CHANNELS.search(text):
        weight, given = (tuple(part.split(", ")) for part in found.groups()[:2])
        said = f"Dimension 1 of the input is its channels: {found[3]} are expected, {found[4]} were given."
        return _boxes([("weight", weight, {1}), ("input", given, {len(given) - 3})]) + _paragraph(said)
    if found := BROADCAST.search(text):
        return _paragraph(
            f"Shapes are compared from the right: {found[1]} and {found[2]} differ, and neither is 1, "
            "which would be repeated."
        )
    if found := VIEW.search(text):
        wanted = [int(part) for part in found[1].split(",")]
        product = 1
        for part in wanted:
            product *= abs(part)
        what = f"must divide by {product}" if -1 in wanted else f"is not {product}"
        return _paragraph(f"A tensor of {found[2]} elements can't have this shape: {found[2]} {what}.")
    return ""


def _broadcast(error, name):
    """The two tensors of an element-wise op, where the failing expression names just two."""
    import torch

    tensors = [(text, value.shape) for text, value in named_values(error, name) if isinstance(value, torch.Tensor)]
    if len(tensors) != 2:
        return ""
    (_, first), (_, second) = tensors
    wrong = [
        -i
        for i in range(1, min(len(first), len(second)) + 1)
        if first[-i] != second[-i] and 1 not in (first[-i], second[-i])
    ]
    return _boxes([(text, tuple(shape), {len(shape) + i for i in wrong}) for text, shape in tensors])


def _advice(text):
    return next((_paragraph(said) for pattern, said in ADVICE if re.search(pattern, text)), "")


def _module_called(error, name):
    """The class or function that has the called module's name: torch.optim.Adam for torch.optim.adam."""
    for _, module in named_values(error, name):
        if not isinstance(module, types.ModuleType):
            continue
        parent, _, last = module.__name__.rpartition(".")
        for owner in (sys.modules.get(parent), module):
            for other in dir(owner):
                found = getattr(owner, other, None) if other.casefold() == last.casefold() else None
                if callable(found):
                    where = re.sub(r"^torchlite\b", "torch", owner.__name__)
                    return _paragraph(f"{last} is a module. Did you mean {where}.{other}?")
    return ""


def _module_iterated(error, name):
    import torch

    if not any(isinstance(value, torch.nn.Module) for _, value in named_values(error, name)):
        return ""
    return _paragraph("An optimizer takes model.parameters(). The layers of a model are model.children().")


def _values(error, name):
    """The tensors and modules in the failing expression, with their shapes."""
    import torch

    pairs = []
    failing = _failing_module(error)
    for text, value in named_values(error, name):
        if isinstance(value, torch.Tensor):
            pairs.append((text, f"{shape_text(value.shape)}  {value.dtype}  {value.device}"))
        elif isinstance(value, torch.nn.Module):
            inner = next((path for path, module in value.named_modules() if module is failing), "")
            if inner:
                pairs.append((f"{text}.{inner}", _module_text(failing)))
            elif value is failing or next(value.children(), None) is None:
                pairs.append((text, _module_text(value)))
    rows = [f"<tr><th>{html.escape(text)}</th><td>{html.escape(said)}</td></tr>" for text, said in pairs]
    return f"<table><tbody>{''.join(rows)}</tbody></table>" if rows else ""


def _module_text(module):
    return f"{type(module).__name__}({module.extra_repr()})"


def _failing_module(error):
    """The innermost module whose code was running."""
    import torch

    found, step = None, error.__traceback__
    while step is not None:
        owner = step.tb_frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            found = owner
        step = step.tb_next
    return found


def named_values(error, name):
    """(text, value) of the names and attributes in the expression where the file's innermost frame failed."""
    found = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == name:
            found = step
        step = step.tb_next
    if found is None:
        return
    source = _expression(found, name)
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except SyntaxError:
        return
    frame, seen = found.tb_frame, set()
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if text is None or text in seen:
            continue
        seen.add(text)
        value = _look_up(node, frame)
        if value is not None:
            yield text, value


def _expression(step, name):
    """The text of the expression that a step of a traceback was in."""
    import linecache

    positions = list(step.tb_frame.f_code.co_positions())
    first, last, left, right = positions[step.tb_lasti // 2]
    if None in (first, last, left, right):
        return ""
    lines = [linecache.getline(name, number).encode() for number in range(first, last + 1)]
    if not lines:
        return ""
    lines[-1] = lines[-1][:right]
    lines[0] = lines[0][left:]
    return b"".join(lines).decode(errors="replace")


def _look_up(node, frame):
    """The value of a name or of an attribute of it, without running code of the script's."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if not isinstance(node, ast.Attribute):
        return None
    owner = _look_up(node.value, frame)
    torch = sys.modules["torch"]
    if isinstance(owner, torch.nn.Module):
        for table in (owner._modules, owner._parameters, owner._buffers):
            if node.attr in table:
                return table[node.attr]
    return getattr(owner, "__dict__", {}).get(node.attr)
