"""Products of 8-bit integers: torch._int_mm and torch._weight_int8pack_mm."""

import torchlite as torch

from ._declare import op
from ._out import Out

_TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long int"}


def _need(name, condition, text):
    if not condition:
        raise RuntimeError(name + text)


@op(
    "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    variants="function",
    out=Out(),
    grad=None,
    differentiable=False,
)
def _int_mm(self, mat2):
    """The int32 product of an int8 or uint8 matrix (m, k) and an int8 one (k, n)."""

    def kind(t):
        return _TYPES.get(str(t.dtype)[6:], str(t.dtype)[6:])

    name = "int_mm_out_cpu: "
    _need(name, self.dim() == 2, f"Expected self to be of dimension 2 but got {self.dim()}")
    _need(name, mat2.dim() == 2, f"Expected mat2 to be of dimension 2 but got {mat2.dim()}")
    k, other = self.shape[1], mat2.shape[0]
    _need(name, k == other, f"self.size(1) needs to match mat2.size(0) but got {k} and {other}")
    whole = self.dtype in (torch.int8, torch.uint8)
    _need(name, whole, f"Expected self dtype to be int8 or uint8 but got {kind(self)}")
    _need(name, mat2.dtype == torch.int8, f"Expected mat2 dtype to be of type int8 but got {kind(mat2)}")
    return torch.mm(self.int(), mat2.int())


@op("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", variants="function", differentiable=False)
def _weight_int8pack_mm(self, mat2, scales):
    """self (m, k) @ mat2.T, an int8 matrix (n, k) whose rows count `scales` (n) each; self and scales of one dtype."""
    name = "_weight_int8pack_mm_cpu : expect "
    floats = self.dtype in (torch.float32, torch.float16, torch.bfloat16)
    _need(name, self.dim() == 2, "A to be 2D tensor.")
    _need(name, floats, "A to be either 32-bit or 16-bit float tensor.")
    _need(name, mat2.dtype == torch.int8, "B to be int8 tensor.")
    _need(name, mat2.is_contiguous(), "B to be contiguous.")
    _need(name, mat2.dim() == 2 and mat2.shape[1] == self.shape[1], f"B.size(1) == {self.shape[1]}")
    n = mat2.shape[0]
    _need(name, scales.dim() == 1 and scales.shape[0] == n, f"scales to be 1d tensor with size {n}")
    if scales.dtype != self.dtype:
        expected, found = self.dtype._scalar_type, scales.dtype._scalar_type
        raise RuntimeError(f"expected scalar type {expected} but found {found}")
    return (torch.mm(self.float(), mat2.float().t()) * scales.float()).to(self.dtype)
