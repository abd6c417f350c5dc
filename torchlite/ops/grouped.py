"""Products of groups of rows or columns with matrices of their own, as mixtures of experts need them."""

import torchlite as torch
from ._declare import op


def _check(a, b, offs, bias, out_dtype):
    for name, m in (("mat_a", a), ("mat_b", b)):
        if m.dtype not in (torch.float32, torch.bfloat16, torch.float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {m.dtype._scalar_type}")
    for name, m in (("mat_a", a), ("mat_b", b)):
        if m.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    both = a.dim() == b.dim() == 3
    if both == (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if (both or a.dim() == 3 or b.dim() == 3) and a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if a.dim() == b.dim() == 2 and a.shape[1] != b.shape[0]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if both and a.shape[0] != b.shape[0]:
        raise RuntimeError("batched dimension has to match")
    if offs is not None:
        if offs.dim() != 1:
            raise RuntimeError("offs has to be 1D")
        if offs.dtype is not torch.int32:
            raise RuntimeError("Offsets have to be int32")
        batch = next((m.shape[0] for m in (a, b) if m.dim() == 3), len(offs))
        if batch != len(offs):
            raise RuntimeError("matrix batch sizes have to match")
    if out_dtype is not None and out_dtype is not a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype._cpp_type} != {b.dtype._cpp_type}"
        )


@op(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    variants="function",
)
def _grouped_mm(self, mat2, offs, bias, out_dtype):
    """Products of groups. With (m, k) and (g, k, n), rows offs[i - 1] to offs[i] of `self` meet matrix i: (m, n);
    with (g, m, k) and (k, n), columns of `mat2` do: (m, n); with (m, k) and (k, n) these are ranges of k, for
    (g, m, n); with (g, m, k) and (g, k, n) there are no `offs`. Rows or columns past the last offset are 0."""
    _check(self, mat2, offs, bias, out_dtype)
    if offs is None:
        return torch.bmm(self, mat2)
    ends = offs.tolist()
    if any(end < start for start, end in zip([0, *ends], ends)):
        raise RuntimeError(f"grouped_mm: offs must not decrease, got {ends}")
    groups = list(enumerate(zip([0, *ends[:-1]], ends)))
    if self.dim() == 2 and mat2.dim() == 2:
        return torch.stack([self[:, start:end].mm(mat2[start:end]) for _, (start, end) in groups])
    if self.dim() == 2:
        parts = [self[start:end].mm(mat2[i]) for i, (start, end) in groups]
        parts.append(self.new_zeros((max(self.shape[0] - ends[-1], 0), mat2.shape[-1])))
        return torch.cat(parts)
    parts = [self[i].mm(mat2[:, start:end]) for i, (start, end) in groups]
    parts.append(self.new_zeros((self.shape[1], max(mat2.shape[-1] - ends[-1], 0))))
    return torch.cat(parts, 1)
