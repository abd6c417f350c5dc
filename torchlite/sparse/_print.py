"""How a sparse tensor prints: its parts, then size, nnz and layout."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from .._core import tensor_str as _str
from . import _tensor as _t

_HEADS = {
    torch.sparse_coo: ("indices", "values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def text(x: Any) -> str:
    """What repr() of a sparse tensor gives."""
    start = "tensor("
    indent = len(start)
    fields = []
    with torch.no_grad():
        for name, part in zip(_HEADS[x.layout], x._parts):
            fields.append(_part(name, part.detach(), indent))
    nnz = x._parts[1].shape[0] if _t.is_coo(x) else x._parts[1].shape[-1]
    suffixes = ["size=%s" % (tuple(x.shape),), "nnz=%d" % nnz]
    if x.device.type != "cpu":
        suffixes.insert(0, "device='%s'" % x.device)
    if x.dtype not in (torch.get_default_dtype(), torch.int64, torch.bool) and x.dtype is not _complex_default():
        suffixes.append("dtype=%s" % x.dtype)
    suffixes.append("layout=%s" % x.layout)
    if x.grad_fn is not None:
        suffixes.append("grad_fn=<%s>" % type(x.grad_fn).__name__)
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    body = start + (",\n" + " " * indent).join(fields)
    return _str.add_suffixes(body, suffixes, indent, _t.is_coo(x))


def _complex_default() -> Any:
    return torch.complex128 if torch.get_default_dtype() is torch.float64 else torch.complex64


def _part(name: str, part: Any, indent: int) -> str:
    prefix = name + "=tensor("
    inner = _str._tensor_str(part, indent + len(prefix))
    if part.numel() == 0:
        inner += ", size=" + str(tuple(part.shape))
    return prefix + inner + ")"
