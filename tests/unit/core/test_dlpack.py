"""DLPack: memory goes out and comes in without a copy, whatever the dtype, and stays alive as long as it is used."""

import gc
import sys

import pytest

import torchlite as torch
from torchlite.utils import dlpack

TYPES = """bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex32 complex64
    complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2""".split()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("versioned", (False, True))
def test_every_dtype_goes_through_a_capsule(name, versioned):
    t = torch.empty(3, 4, dtype=getattr(torch, name))
    t.untyped_storage().fill_(1)
    capsule = t.t()[1:].__dlpack__(max_version=(1, 0) if versioned else None)
    assert ("versioned" in repr(capsule)) == versioned
    back = torch.from_dlpack(capsule)
    assert (back.dtype, back.shape, back.stride()) == (t.dtype, (3, 3), (1, 4))
    assert back.data_ptr() == t.t()[1:].data_ptr()
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        torch.from_dlpack(capsule)


def test_memory_lives_as_long_as_a_consumer():
    t = torch.arange(4.0)
    held = sys.getrefcount(t)
    capsule = t.__dlpack__()
    assert sys.getrefcount(t) == held + 1
    del capsule  # nobody took it
    assert sys.getrefcount(t) == held
    back = torch.from_dlpack(t)[1:]
    assert sys.getrefcount(t) > held
    back.mul_(2)
    assert t.tolist() == [0, 2, 4, 6]
    del back
    gc.collect()
    assert sys.getrefcount(t) == held


def test_scalars_and_nothing():
    assert torch.from_dlpack(torch.tensor(3)).item() == 3
    assert torch.from_dlpack(torch.empty(0, 3)).shape == (0, 3)


def test_what_cannot_go():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="require gradient"):
        torch.from_dlpack(w)
    with pytest.raises(BufferError, match="layout other than torch.strided"):
        torch.eye(2).to_sparse().__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        torch.ones(2).__dlpack__(stream=1)
    with pytest.raises(BufferError, match="Unsupported device_type: 2"):
        torch.ones(2).__dlpack__(dl_device=(2, 0))
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack(object())


def test_copies_and_old_producers():
    t = torch.ones(2)
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t, device="cpu", copy=False).data_ptr() == t.data_ptr()

    class Old:
        def __dlpack__(self, stream=None):
            return dlpack.to_dlpack(t)

        def __dlpack_device__(self):
            return (1, 0)

    assert torch.from_dlpack(Old()).data_ptr() == t.data_ptr()
    assert torch.from_dlpack(Old(), copy=True).data_ptr() != t.data_ptr()


def test_numpy_both_ways():
    np = pytest.importorskip("numpy")
    a = np.arange(6.0).reshape(2, 3)
    t = torch.from_dlpack(a)
    t[0, 0] = 9
    assert a[0, 0] == 9 and np.from_dlpack(t)[0, 0] == 9
    with pytest.raises(RuntimeError, match="negative strides"):
        torch.from_dlpack(a[::-1])


def test_memory_that_an_array_has_stays_where_it_is():
    np = pytest.importorskip("numpy")
    for take in (torch.Tensor.numpy, np.from_dlpack, np.asarray):
        t = torch.ones(3)
        assert t.untyped_storage().resizable()
        take(t)
        t.resize_(2)
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            t.resize_(1000)
        with pytest.raises(RuntimeError, match="not resizable"):
            t.untyped_storage().resize_(0)
        assert not t.untyped_storage().resizable()


class _Exporter:
    def __init__(self, t):
        self.t = t

    def __dlpack__(self, **options):
        return self.t.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


def test_makers_of_tensors_take_what_exports_its_memory():
    t = torch.arange(3)
    made = [make(_Exporter(t)) for make in (torch.tensor, torch.as_tensor, torch.asarray)]
    assert [m.tolist() for m in made] == [[0, 1, 2]] * 3
    assert [m.data_ptr() == t.data_ptr() for m in made] == [False, True, True]
    assert torch.tensor(_Exporter(t), dtype=torch.float64).dtype is torch.float64
    assert torch.as_tensor(_Exporter(t), dtype=torch.int32).tolist() == [0, 1, 2]
