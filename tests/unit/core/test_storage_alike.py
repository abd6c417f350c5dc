"""Typed and untyped storages: what PyTorch does with the same line."""

import sys
import typing

import pytest
import torchlite
from alike import alike, cases

torch = pytest.importorskip("torch")


@cases("""
s = torch.FloatStorage([1., 2.]); t = torch.FloatTensor(s); t[0] = 5; s[0], t
x = torch.arange(6.); u = x.untyped_storage(); t = torch.asarray(u[4:12], dtype=torch.uint8); t[3] = 64; (t, x)
x = torch.arange(6.); t = torch.asarray(x.untyped_storage()[8:], dtype=torch.float32); t.fill_(3); x
x = torch.arange(6.); t = torch.as_tensor(x.untyped_storage(), dtype=torch.float32); t.fill_(3); x
x = torch.arange(6.); t = torch.asarray(x.storage()); t.fill_(3); x
torch.asarray(torch.arange(3.).storage(), dtype=torch.float64)
torch.asarray(torch.arange(6.).untyped_storage())
torch.asarray(torch.arange(6.).untyped_storage(), dtype=torch.uint8, copy=False)
x = torch.arange(6.); u = x.untyped_storage()[4:12]; u[3] = 64; (x, len(u), u.resizable(), torch.empty(0).set_(u))
u = torch.arange(6.).untyped_storage(); [u[i].nbytes() for i in (slice(2, 100), slice(5, 2), slice(-8, None))]
u = torch.arange(6.).untyped_storage()[8:16]; u.tolist()
torch.arange(6.).untyped_storage()[4:8].resize_(100)
torch.arange(6.).untyped_storage()[::2]
torch.arange(6.).untyped_storage()[100]
torch.ByteStorage.from_buffer(bytes(range(16))).tolist()
[torch.FloatStorage.from_buffer(bytes(range(16)), b).tolist() for b in ('native', 'little', 'big')]
torch.FloatStorage.from_buffer(bytes(16), 'x')
torch.FloatStorage.from_buffer(bytes(16))
torch.IntStorage.from_buffer(bytes(range(16)), 'little', 2, 4).tolist()
torch.IntStorage.from_buffer(bytes(16), 'little', 4, 2)
torch.IntStorage.from_buffer(bytes(15), 'little')
torch.UntypedStorage.from_buffer(bytes(range(16)), byte_order='big', dtype=torch.int16).tolist()
torch.UntypedStorage([1, 2, 256, -1]).tolist(), torch.UntypedStorage((1, 2)).tolist(), torch.UntypedStorage([]).tolist()
torch.UntypedStorage("ab")
torch.UntypedStorage([1.5])
torch.UntypedStorage(torch.tensor([1]))
torch.UntypedStorage(2.0)
torch.UntypedStorage(size=3).size(), torch.UntypedStorage(np.int64(3)).size()
torch.empty(0).share_memory_().is_shared()
s = torch.arange(3.).storage(); s._setitem(1, 5); (s._getitem(1), s._nbytes(), s._data_ptr() == s.data_ptr())
torch.arange(6.).untyped_storage()[[1]]
s = torch.FloatStorage([1., 2.]); t = torch.Tensor(s); t[0] = 5; s[0], t
s = torch.DoubleStorage([1., 2.]); torch.FloatTensor(s)
s = torch.ones(2).untyped_storage(); t = torch.FloatTensor(s); t[0] = 7; torch.FloatTensor(s)
s = torch.FloatStorage([1., 2.]); s.fill_(torch.FloatStorage([1.]))
torch.FloatStorage(np.int64(3)).size(), torch.FloatStorage(np.uint8(2)).nbytes()
torch.FloatStorage(np.float32(3))
s=torch.arange(4.).storage(); x=torch.tensor(s); x[0]=7; (x, s[0], x.data_ptr()==s.data_ptr())
s=torch.arange(4.).storage(); torch.tensor(s.untyped())
s=torch.arange(4.).storage(); torch.tensor(s.untyped(),dtype=torch.float32)
s=torch.arange(4.).storage(); torch.tensor(s,dtype=torch.int32)
torch.tensor(torch.UntypedStorage(3),dtype=torch.float32)
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); (len(m), m.nbytes())
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m[0]
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m.tolist()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m.cpu()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m._share_fd_cpu_()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m._share_filename_cpu_()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m.share_memory_()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); m.resize_(10); m.size()
m=torch.TypedStorage([1,2,3],dtype=torch.float32,device='meta'); repr(m)
m=torch.TypedStorage([1,2,3,4],dtype=torch.float32,device='meta'); torch.ones(4).storage().copy_(m)
import weakref; s = torch.ones(2).untyped_storage(); r = weakref.ref(s); a = r() is s; del s; (a, r() is None)
torch.randn(7).storage().__sizeof__()-torch.randn(0).storage().__sizeof__()
s=torch.FloatStorage(3); s.resize_(5); s.size()
torch.storage._LegacyStorage()
torch.FloatStorage(device='cpu')
torch.FloatStorage(dtype=torch.float32)
torch.FloatStorage(0,0)
torch.FloatStorage('a')
torch.FloatStorage(1,wrap_storage=torch.UntypedStorage(2))
torch.FloatStorage(wrap_storage=torch.ones(2).storage())
torch.FloatStorage(wrap_storage=torch.ones(2).untyped_storage()).tolist()
torch.TypedStorage(wrap_storage=torch.UntypedStorage(4))
torch.TypedStorage(wrap_storage=torch.UntypedStorage(4),dtype=0)
torch.TypedStorage(wrap_storage=torch.UntypedStorage(4),dtype=torch.int8,device='cpu')
torch.TypedStorage(3,4)
torch.Storage(2).size()
torch.Storage is torch.FloatStorage
torch.ones(2).storage_type() is torch.FloatStorage
s=torch.arange(3.).storage();
    (s.half().dtype, s.long().tolist(), s.double().dtype, s.byte().dtype, s.complex_float().dtype)
isinstance(torch.ones(2).storage(), torch.FloatStorage)
""")
def test_lines(line):
    alike(line)


def test_the_elements_of_a_file(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(torchlite.arange(3.0).untyped_storage()))
    assert torchlite.FloatStorage.from_file(str(path), False, 3).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="derived classes"):
        torchlite.TypedStorage.from_file(str(path), False, 3)


def test_records_of_an_archive(tmp_path):
    import io

    serialization = torchlite.serialization
    for place in (str(tmp_path / "a.pt"), io.BytesIO()):
        with serialization._open_zipfile_writer(place) as file:
            file.write_record("a", b"12345", 5)
            file.write_record("b/c", "text", 4)
        if isinstance(place, io.BytesIO):
            place.seek(0)
        with serialization._open_zipfile_reader(place) as file:
            assert file.get_record("a") == b"12345" and file.get_record("b/c") == b"text" and not file.has_record("d")


def test_empty_storages_of_several_dtypes_in_one_file():
    import io

    a = torchlite.tensor([], dtype=torchlite.float64)
    b = torchlite.TypedStorage(wrap_storage=a.untyped_storage(), dtype=torchlite.int8)
    file = io.BytesIO()
    torchlite.save([a, b], file)
    file.seek(0)
    x, y = torchlite.load(file, weights_only=False)
    assert x.dtype is torchlite.float64 and y.dtype is torchlite.int8


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_methods_of_untyped_storages(lib):

    storage = lib.arange(4, dtype=lib.uint8).untyped_storage()
    assert storage.float().tolist() == [0.0, 1.0, 2.0, 3.0] and storage.float().dtype is lib.float32
    assert storage.complex_double().tolist() == [0j, 1 + 0j, 2 + 0j, 3 + 0j]
    assert storage.type() == "torch.storage.UntypedStorage"
    assert storage.resizable() and not storage.is_shared() and storage.filename is None
    assert not (storage.is_sparse or storage.is_sparse_csr or storage.is_hpu or storage.is_pinned())
    assert storage.get_device() is None and storage.new().nbytes() == 0
    storage.byteswap(lib.int16)
    assert storage.tolist() == [1, 0, 3, 2]
    assert sys.getsizeof(storage) - sys.getsizeof(lib.zeros(0).untyped_storage()) == 4


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_parameters_of_data_classes(lib):

    data = lib.utils.data
    for name in ("Dataset", "IterableDataset", "DataLoader", "Sampler", "Subset", "ConcatDataset"):
        cls = getattr(data, name)
        assert typing.get_args(cls[int]) == (int,) and typing.get_origin(cls[int]) is cls

    class Numbers(data.Dataset[int]):
        def __getitem__(self, i):
            return i

    assert Numbers()[3] == 3 and isinstance(Numbers(), data.Dataset)
    assert typing.get_args(Numbers.__orig_bases__[0]) == (int,) and data.Dataset.__parameters__[0].__covariant__

    T = typing.TypeVar("T")

    class Of(data.Dataset[T], typing.Generic[T]):
        pass

    assert Of.__parameters__ == (T,) and typing.get_args(Of[str]) == (str,)
    with pytest.raises(TypeError, match="Too many arguments for"):
        data.Dataset[int, str]
    with pytest.raises(TypeError, match="Can't instantiate abstract class IterableDataset"):
        data.IterableDataset()


def test_a_large_storage_is_read_at_once():
    """safetensors makes each tensor of a checkpoint this way: byte by byte it would take minutes."""
    import time

    storage = torchlite.zeros(10_000_000).untyped_storage()
    start = time.perf_counter()
    t = torchlite.asarray(storage[80:], dtype=torchlite.uint8).view(torchlite.float32)
    assert time.perf_counter() - start < 0.5
    assert t.data_ptr() == storage.data_ptr() + 80 and t.shape == (9_999_980,)


@pytest.mark.parametrize("lib", [torchlite, torch], ids=["torchlite", "torch"])
def test_the_warning_of_typed_storages_names_the_line_that_asks(lib):
    lib.storage._set_always_warn_typed_storage_removal(True)
    try:
        for ask in (lambda: lib.ones(2).storage(), lambda: lib.FloatStorage(2), lambda: lib.TypedStorage(2)):
            with pytest.warns(UserWarning, match="TypedStorage is deprecated") as seen:
                ask()
            assert seen[0].filename == __file__
    finally:
        lib.storage._set_always_warn_typed_storage_removal(False)
