"""The safetensors format: eight bytes with the header's length, a JSON header, the tensors' bytes. No code is run."""

from pickle import UnpicklingError

import torchlite as torch
from torchlite._core import dtypes as _dtypes
from torchlite._files.limits import Budget
from torchlite._files.zip_records import read_exactly
from torchlite.storage import UntypedStorage

_NAMES = {
    _dtypes.bool: "BOOL",
    _dtypes.uint8: "U8",
    _dtypes.int8: "I8",
    _dtypes.int16: "I16",
    _dtypes.int32: "I32",
    _dtypes.int64: "I64",
    _dtypes.float16: "F16",
    _dtypes.bfloat16: "BF16",
    _dtypes.float32: "F32",
    _dtypes.float64: "F64",
    _dtypes.complex64: "C64",
    _dtypes.uint16: "U16",
    _dtypes.uint32: "U32",
    _dtypes.uint64: "U64",
    _dtypes.float8_e4m3fn: "F8_E4M3",
    _dtypes.float8_e5m2: "F8_E5M2",
    _dtypes.float8_e8m0fnu: "F8_E8M0",
    _dtypes.float8_e4m3fnuz: "F8_E4M3FNUZ",
    _dtypes.float8_e5m2fnuz: "F8_E5M2FNUZ",
}
_DTYPES = {name: d for d, name in _NAMES.items()}
# those of the format that have no dtype here
_OTHER = ("F4", "F6_E2M3", "F6_E3M2")
_MAX_HEADER = 100_000_000
_MAX_DEPTH = 16  # a header needs three


class SafetensorError(Exception):
    """A file that is not valid safetensors."""


def _bytes_of(tensor):
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    size, start = flat.numel() * flat.element_size(), flat.storage_offset() * flat.element_size()
    return memoryview(flat.untyped_storage())[start : start + size]


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


def _invalid(text):
    return SafetensorError("Error while deserializing: " + text)


def _brackets(text):
    """The brackets of JSON without escaped quotes that are in no string;
    a piece at a time, because a piece is cut into many."""
    found, inside, others = [], 0, bytes(set(range(256)).difference(b"[]{}"))
    for start in range(0, len(text), 1 << 16):
        parts = text[start : start + (1 << 16)].split(b'"')
        found.append(b"".join(parts[inside::2]).translate(None, others))
        inside ^= len(parts) & 1 ^ 1
    return b"".join(found)


def _parsed(raw, budget):
    """The header's JSON as a dict."""
    import json

    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _invalid(f"invalid UTF-8 in header: {error.reason} at {error.start}") from None
    # Python's parser is recursive, and makes about so many bytes of each piece: both are looked at before it runs
    budget.take(80 * (raw.count(b"[") + raw.count(b"{")) + 120 * raw.count(b":") + 80 * raw.count(b","))
    brackets = _brackets(raw.replace(b"\\\\", b"").replace(b'\\"', b""))
    for _ in range(_MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise _invalid(f"invalid JSON in header: brackets that do not match, or more than {_MAX_DEPTH} deep")

    def table(pairs):
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError("duplicate field")
        return result

    def constant(name):
        raise ValueError(f"unexpected {name}")

    try:
        header = json.loads(text, object_pairs_hook=table, parse_constant=constant)
        for name in header if type(header) is dict else ():
            name.encode()  # half of a surrogate pair is a ValueError
    except (ValueError, RecursionError) as error:
        raise _invalid(f"invalid JSON in header: {error}") from None
    if type(header) is not dict:
        raise _invalid("invalid JSON in header: invalid type, expected a map")
    metadata = header.pop("__metadata__", None)
    if metadata is not None and (type(metadata) is not dict or any(type(v) is not str for v in metadata.values())):
        raise _invalid("invalid JSON in header: __metadata__ is not a map of strings")
    return header


def _sizes(value, name, field):
    if type(value) is not list or any(type(n) is not int or not 0 <= n < 1 << 64 for n in value):
        raise _invalid(f"invalid JSON in header: {field} of tensor `{name[:100]}` is not a list of sizes")
    return tuple(value)


def _tensors(header, nbytes):
    """(name, dtype, shape, start, end) of each tensor in the order of the bytes,
    which they cover without gap or overlap."""
    found = []
    for name, entry in header.items():
        if type(entry) is not dict:
            raise _invalid(f"invalid JSON in header: invalid type of tensor `{name[:100]}`, expected a map")
        for field in ("dtype", "shape", "data_offsets"):
            if field not in entry:
                raise _invalid(f"invalid JSON in header: missing field `{field}` of tensor `{name[:100]}`")
        dtype = entry["dtype"]
        if type(dtype) is not str or dtype not in _DTYPES:
            kind = "is not supported" if dtype in _OTHER else "is unknown"
            raise _invalid(f"invalid JSON in header: dtype {str(dtype)[:100]} of tensor `{name[:100]}` {kind}")
        offsets = _sizes(entry["data_offsets"], name, "data_offsets")
        if len(offsets) != 2:
            raise _invalid(f"invalid JSON in header: data_offsets of tensor `{name[:100]}` are not two")
        found.append((offsets, name, _DTYPES[dtype], _sizes(entry["shape"], name, "shape")))
    found.sort(key=lambda one: one[0])
    done = 0
    for (start, end), name, dtype, shape in found:
        if start != done or end < start:
            raise _invalid(f"invalid offset for tensor `{name[:100]}`")
        done, count, room = end, dtype.itemsize, 1
        for n in shape:
            count *= n
            room *= max(n, 1)
            if room >> 63:
                raise _invalid("overflow computing buffer size from shape and/or element type")
        if len(shape) > 64 or end - start != count:
            raise _invalid("invalid shape, data type, or offset for tensor")
    if done != nbytes:
        raise _invalid("incomplete metadata, file not fully covered")
    return found


def _load(size, read, fill, device):
    """The tensors of a file of `size` bytes; read(start, n) gives bytes, fill(start, view) fills a memoryview."""
    if size < 8:
        raise _invalid("header too small")
    length = int.from_bytes(read(0, 8), "little")
    if length > _MAX_HEADER:
        raise _invalid("header too large")
    if size < 8 + length:
        raise _invalid("invalid header length")
    budget, data = Budget(size), 8 + length
    try:
        budget.take(size + 3 * length)
        header = _parsed(read(8, length), budget)
        found = _tensors(header, size - data)
        header.clear()
        budget.take(400 * len(found))
    except UnpicklingError as error:
        raise _invalid(str(error)) from None
    result = {}
    for (start, end), name, dtype, shape in found:
        storage = UntypedStorage(end - start)
        fill(data + start, memoryview(storage))
        tensor = torch._C.tensor_from_storage(storage, dtype, 0, shape, torch._C.dense_strides(shape))
        result[name] = tensor if str(device) == "cpu" else tensor.to(device)
    return result


def load(data, device="cpu"):
    """The tensors of a safetensors file given as bytes."""
    whole = memoryview(data).toreadonly().cast("B")

    def fill(start, view):
        view[:] = whole[start : start + len(view)]  # a copy: tensors own their memory and may be written

    return _load(len(whole), lambda start, n: bytes(whole[start : start + n]), fill, device)


def load_file(filename, device="cpu"):
    """The tensors of a safetensors file, as a dict."""
    with open(filename, "rb") as file:

        def read(start, n):
            file.seek(start)
            return file.read(n)

        def fill(start, view):
            file.seek(start)
            read_exactly(file, view, "tensor")

        size = file.seek(0, 2)
        if size < 1 << 23:  # one read is faster than many
            return load(read(0, size), device)
        return _load(size, read, fill, device)
