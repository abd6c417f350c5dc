"""The safetensors format: eight bytes with the header's length, a JSON header, the tensors' bytes. No code is run."""

import torchlite as torch
from torchlite import _dtypes
from torchlite.storage import UntypedStorage

_NAMES = {_dtypes.bool: "BOOL", _dtypes.uint8: "U8", _dtypes.int8: "I8", _dtypes.int16: "I16", _dtypes.int32: "I32",
          _dtypes.int64: "I64", _dtypes.float16: "F16", _dtypes.bfloat16: "BF16", _dtypes.float32: "F32",
          _dtypes.float64: "F64", _dtypes.complex64: "C64"}
_DTYPES = {name: d for d, name in _NAMES.items()}
_MAX_HEADER = 100_000_000


class SafetensorError(Exception):
    """A file that is not valid safetensors."""


def _bytes_of(tensor):
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    size, start = flat.numel() * flat.element_size(), flat.storage_offset() * flat.element_size()
    return memoryview(flat.untyped_storage())[start:start + size]


def _write(tensors, write, metadata):
    import json
    header = {} if metadata is None else {"__metadata__": metadata}
    # widest types first, so that every tensor starts at a multiple of its element size
    names = sorted(tensors, key=lambda n: (-tensors[n].element_size(), n))
    end = 0
    for name in names:
        t = tensors[name]
        if t.dtype not in _NAMES:
            raise SafetensorError(f"dtype {t.dtype} of tensor '{name}' cannot be stored")
        start, end = end, end + t.numel() * t.element_size()
        header[name] = {"dtype": _NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    write(len(text).to_bytes(8, "little") + text)
    for name in names:
        write(_bytes_of(tensors[name]))


def save_file(tensors, filename, metadata=None):
    """Writes a dict of tensors (and an optional dict of strings) to a file."""
    with open(filename, "wb") as file:
        _write(tensors, file.write, metadata)


def save(tensors, metadata=None):
    """A dict of tensors as bytes."""
    import io
    out = io.BytesIO()
    _write(tensors, out.write, metadata)
    return out.getvalue()


def _header(data):
    import json
    if len(data) < 8:
        raise SafetensorError("Error while deserializing header: header too small")
    length = int.from_bytes(data[:8], "little")
    if length > _MAX_HEADER:
        raise SafetensorError("Error while deserializing header: header too large")
    if len(data) < 8 + length:
        raise SafetensorError("Error while deserializing header: invalid header length")
    try:
        return json.loads(bytes(data[8:8 + length])), 8 + length
    except ValueError as error:
        raise SafetensorError(f"Error while deserializing header: invalid JSON in header: {error}") from None


def load(data, device="cpu"):
    """The tensors of a safetensors file given as bytes."""
    view = memoryview(data).toreadonly().cast("B")
    header, start = _header(view)
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise SafetensorError(f"dtype {entry['dtype']} of tensor '{name}' is not supported")
        shape, (low, high) = tuple(entry["shape"]), entry["data_offsets"]
        count = 1
        for n in shape:
            count *= n
        if not 0 <= low <= high <= len(view) - start or high - low != count * dtype.itemsize:
            raise SafetensorError(f"Error while deserializing header: invalid offset for tensor `{name}`")
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= max(n, 1)
        # a copy: tensors own their memory and may be written
        storage = UntypedStorage(high - low)
        memoryview(storage)[:] = view[start + low:start + high]
        tensor = torch._C.tensor_from_storage(storage, dtype, 0, shape, tuple(strides))
        result[name] = tensor if str(device) == "cpu" else tensor.to(device)
    return result


def load_file(filename, device="cpu"):
    """The tensors of a safetensors file, as a dict."""
    with open(filename, "rb") as file:
        return load(file.read(), device)
