"""torch._prims_common: each line says what PyTorch says."""

import itertools
import warnings

import pytest
import torchlite
from alike import alike, cases

torch = pytest.importorskip("torch")
NAMES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("kind", [k.name for k in torchlite._prims_common.ELEMENTWISE_TYPE_PROMOTION_KIND])
def test_elementwise_dtypes(kind):
    import torch._prims_common

    def found(lib, a, b, dims):
        p = lib._prims_common
        x, y = (lib.empty((2,) * n, dtype=getattr(lib, d)) if isinstance(d, str) else d for d, n in zip((a, b), dims))
        return [str(d) for d in p.elementwise_dtypes(x, y, type_promotion_kind=p.ELEMENTWISE_TYPE_PROMOTION_KIND[kind])]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in itertools.product(NAMES, [*NAMES, 2, 2.5, True, 1j]):
            for dims in itertools.product((0, 1), repeat=2):
                assert found(torchlite, a, b, dims) == found(torch, a, b, dims), (a, b, dims)


@cases("""
[p.dtype_to_type(d) for d in (torch.bool, torch.int8, torch.float16, torch.complex64)], p.type_to_dtype(float)
p.canonicalize_dim(3, -1), p.canonicalize_dims(4, (0, -2)), p.canonicalize_dim(0, -1)
p.canonicalize_dim(3, 3)
p.make_contiguous_strides_for((2, 3, 4)), p.make_contiguous_strides_for((2, 3, 4), row_major=False)
p.make_channels_last_strides_for((2, 3, 4, 5)), p.make_contiguous_strides_for((2, 0, 4))
p.compute_required_storage_length((2, 3), (5, 1), 4), p.compute_required_storage_length((2, 0), (5, 1), 4)
p.is_weakly_lesser_type(int, float), p.get_higher_type(bool, complex), p.get_higher_dtype(torch.int8, torch.float16)
p.corresponding_real_dtype(torch.complex64), p.corresponding_complex_dtype(torch.float64)
p.suggest_memory_format(torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)), p.is_contiguous(torch.ones(2))
p.reduction_dims((2, 3), None), p.reduction_dims((2, 3), (-1,))
p.compare_tensor_meta(torch.ones(2), torch.ones(2), check_strides=True)
p.is_low_precision_dtype(torch.bfloat16), p.is_grad_dtype(torch.int8), p.is_integer_dtype(torch.bool)
""")
def test_lines(line):
    alike("import torch._prims_common\np = torch._prims_common\n" + line)
