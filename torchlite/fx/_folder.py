"""GraphModule.to_folder: a Python package that is the module again when it is imported."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import torchlite as torch

from .._core.homes import torch_name
from ..nn.modules.module import _addindent
from ._namespace import _custom_builtins
from ._source import here

_BY_REPR = frozenset(("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"))


def write(module: Any, folder: Any, module_name: str) -> None:
    """Writes the folder; submodules whose repr does not make them are files beside the code."""
    place = pathlib.Path(folder)
    place.mkdir(exist_ok=True)
    torch.save(module.state_dict(), place / "state_dict.pt")
    lines = ["", "import torch", *(custom.import_str for custom in _custom_builtins.values()), ""]
    lines += ["from torch.nn import *", "class %s(torch.nn.Module):" % module_name]
    lines += ["    def __init__(self):", "        super().__init__()"]
    saved: list[str] = []
    for name, child in module.named_children():
        text, note = repr(child), ""
        if type(child).__name__ not in _BY_REPR or not torch_name(type(child).__module__).startswith("torch.nn."):
            file = place / (name + ".pt")
            torch.save(child, file)
            saved.append(name)
            shown = text.replace("\r", " ").replace("\n", " ")
            text = "torch.load(r'%s', weights_only=False)" % file
            note = " # " + shown
        lines.append("        setattr(self, '%s', %s)%s" % (name, text, note))
    for name, buffer in module._buffers.items():
        if buffer is not None:
            lines.append(
                "        self.register_buffer('%s', torch.empty(%s, dtype=%s))"
                % (name, list(buffer.shape), buffer.dtype)
            )
    for name, parameter in module._parameters.items():
        if parameter is not None:
            lines.append(
                "        setattr(self, '%s', torch.nn.Parameter(torch.empty(%s, dtype=%s)))"
                % (name, list(parameter.shape), parameter.dtype)
            )
    lines.append("        self.load_state_dict(torch.load(r'%s'))" % (place / "state_dict.pt"))
    code = "\n".join(line if line.strip() else "" for line in _addindent(module.code, 4).split("\n"))
    source = here("\n".join(lines)) + "\n%s\n" % code
    (place / "module.py").write_text(source)
    (place / "__init__.py").write_text("from .module import *")
    if saved:
        warnings.warn(
            "Was not able to save the following children modules as reprs -saved as pickled files instead: %s" % saved,
            stacklevel=3,
        )
