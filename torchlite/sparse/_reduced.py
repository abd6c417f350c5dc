"""torch.sparse.mm with reduce=: mean, amax and amin of the products that fall on an element."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ._compressed import places_of
from ._tensor import is_compressed

_NAMES = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin"}


def mm_reduce(a: Any, b: Any, reduce: str) -> Any:
    """CSR (n, m) @ dense (m, p); an element that no product reaches is 0."""
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if reduce not in _NAMES:
        raise RuntimeError("reduce argument must be either sum, mean, amax or amin, got %s." % reduce)
    if not is_compressed(a) or a.layout is not torch.sparse_csr:
        raise RuntimeError("sparse_mm_reduce: expect self to be SparseCsr, got %s" % a.layout)
    rows, columns = places_of(a.detach())
    products = b[columns] * a.values().unsqueeze(1)
    out = b.new_zeros((a.shape[0], b.shape[1]))
    at = rows.unsqueeze(1).expand(products.shape)
    return out.scatter_reduce(0, at, products, _NAMES[reduce], include_self=False)
