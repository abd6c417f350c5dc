"""Hostile files whose parts are right one by one:
calls with odd numbers, states that hide methods, containers many times over, headers of a zip archive that do not
agree, versions and headers that are no numbers."""

import struct

from cases import ORDINARY, REFUSED, case, pickle_case
from parts import (
    ORDERED,
    Zip,
    call,
    get,
    glob,
    legacy,
    number,
    pickled,
    put,
    real,
    safetensors,
    storage,
    tensor,
    text,
    tup,
)
from pickle_files import BIG, SHARED

SET = glob("builtins.set")
BYTES = bytes(range(16))


# ---- calls -----------------------------------------------------------------------------------------------------------


def bytes_as(dtype, offset, size):
    """A tensor of one dim of a dtype, over a storage of 16 bytes."""
    place = number(offset), tup(number(size)), tup(number(1))
    whole = storage("Byte", count=number(16))
    return call("torch._utils._rebuild_tensor_v3", whole, *place, b"\x89", ORDERED, glob(dtype))


def calls():
    huge = number(2**2000)
    for name, body in {
        "complex": call("builtins.complex", huge),
        "complex-imaginary": call("builtins.complex", number(1), huge),
        "size-items": call("torch.Size", tup(real(1.5))),
        "size-tensors": call("torch.Size", tup(tensor())),
        "device-number": call("torch.device", huge),
        "device-index": call("torch.device", text("cpu"), huge),
        "device-digits": call("torch.device", text("cpu:" + "9" * 90)),
        "device-nul": call("torch.device", text("cpu\0")),
        "device-surrogate": call("torch.device", text("\ud800")),
        "device-numbers": call("torch.device", number(1), number(1)),
        "layout-number": call("torch.serialization._get_layout", number(1)),
        "layout-nul": call("torch.serialization._get_layout", text("torch.strided\0")),
        "dtype": glob("torch.float32") + b")R",
        "dtype-new": glob("torch.float32") + b")\x81",
        "storage": storage() + b")R",
        "storage-type": glob("torch.FloatStorage") + tup(number(10**9)) + b"R",
        "storage-type-new": glob("torch.FloatStorage") + b")\x81",
        "function-new": glob("torch._utils._rebuild_tensor_v2") + b")\x81",
        "number": number(3) + b")R",
        "none": b"N)R",
        "gradient-of-integers": tensor(
            storage("Long", count=number(2)), number(0), tup(number(2)), tup(number(1)), b"\x88", ORDERED
        ),
        "other-dtype-beyond": bytes_as("torch.complex128", 1, 1),
        "quantised": bytes_as("torch.quint8", 0, 16),
    }.items():
        pickle_case("call", name, body, expect=ORDINARY.replace("value|", ""))
    for name, body in {
        "flag-number": tensor(None, number(0), tup(number(4)), tup(number(1)), huge, ORDERED),
        "size-beyond": call("torch.Size", tup(number(2**70))),
        "bool-of-any-bytes": tensor(storage("Bool", count=number(16)), number(0), tup(number(16)), tup(number(1))),
        "bool-over-bytes": bytes_as("torch.bool", 0, 16),
        "counter": glob("collections.Counter") + b"}(K\1" + huge + b"K\2Nu\x85R",
        "nan-keys": b"}(" + (real(float("nan")) + b"N") * 2000 + b"u",
        "nan-in-set": SET + b"](" + real(float("nan")) * 2000 + b"e\x85R",
    }.items():
        pickle_case("call", name, body, records=(BYTES,), expect=ORDINARY, reader="repr")
    pickle_case(
        "call",
        "small-dicts-colliding",
        *(b"}(" + b"".join(number(i * BIG) + b"N" for i in range(1, 255)) + b"u",) * 100,
        expect="value|UnpicklingError",
    )


# ---- states and hooks ------------------------------------------------------------------------------------------------


def states():
    """Attributes of a tensor that stand where its methods are looked for, and hooks that are none:
    printing is an exception at worst."""
    for name in (
        "detach",
        "tolist",
        "numel",
        "dim",
        "size",
        "is_complex",
        "reshape",
        "to",
        "item",
        "clone",
        "untyped_storage",
        "stride",
        "__repr__",
        "__len__",
        "__format__",
        "__torch_function__",
        "__class__",
        "__dict__",
        "_backward_hooks",
        "isfinite",
    ):
        for kind, value in {"set": SET, "number": number(3), "shared": SHARED, "itself": b"h\0"}.items():
            state = b"}q\0" + text(name) + value + b"s"
            pickle_case(
                "state",
                f"{name}-{kind}",
                call("torch._utils._rebuild_parameter_with_state", tensor(), b"\x88", ORDERED, state),
                expect=ORDINARY,
                reader="repr",
            )
    for name in ("items", "keys", "__class__", "_metadata", "move_to_end"):
        pickle_case(
            "state", f"ordered-{name}", ORDERED + b"}" + text(name) + SET + b"sb", expect=ORDINARY, reader="repr"
        )
    for name, hooks in {
        "numbers": ORDERED + number(1) + number(2) + b"s",
        "type": ORDERED + number(1) + SET + b"s",
        "text": b"}" + text("a") + SET + b"s",
    }.items():
        pickle_case(
            "state",
            f"hooks-{name}",
            call("torch._utils._rebuild_parameter", tensor(), b"\x88", hooks),
            expect="value",
            reader="repr",
        )
    for name in ("collections.OrderedDict", "torch.Size", "builtins.set", "torch.device"):
        pickle_case(
            "state",
            f"type-{name}",
            call(
                "torch._tensor._rebuild_from_type_v2",
                glob("torch._utils._rebuild_tensor_v2"),
                glob(name),
                tup(storage(), number(0), tup(number(4)), tup(number(1)), b"\x89", ORDERED),
                b"}",
            ),
            expect="TypeError|UnpicklingError",
        )


# ---- containers many times over --------------------------------------------------------------------------------------


def shared():
    for name, body in {
        "tuples": SHARED,
        "lists": b"]" + b"q\0]h\0ah\0a" * 60,
        "dicts": b"N" + b"q\0}(K\0h\0K\1h\0u" * 60,
        "ordered": b"N" + b"".join(put(i) + ORDERED + b"(K\0" + get(i) + b"K\1" + get(i) + b"u" for i in range(60)),
        "wide": b"](" + b"N" * 4000 + b"eq\0](" + b"h\0" * 4000 + b"eq\0](" + b"h\0" * 4000 + b"e",
        "filled-late": b"]q\0"
        + b"".join(b"]" + put(i) + get(i - 1) + b"a" + get(i - 1) + b"a" for i in range(1, 60))
        + get(0)
        + b"("
        + b"N" * 10_000
        + b"e"
        + get(59),
        "beside-a-ring": b"]q\0h\0a" + SHARED + b"\x86",
    }.items():
        pickle_case("shared", name, body, reader="repr")
        case("shared", f"{name}-legacy", lambda body=body: legacy(pickled(body)), REFUSED, "repr")
    for name, body in {
        "twice": b"](" + b"K\1" * 50_000 + b"eq\0h\0h\0\x87",
        "ring": b"]q\0]h\0ah\0ah\0h\0h\0\x87",
        "tensors": tensor() + b"q\0](" + b"h\0" * 100 + b"e",
        "deep": b")" + b"q\0h\0\x86" * 15,
    }.items():
        pickle_case("shared", name, body, expect="value", reader="repr")


# ---- zip: two headers for each record --------------------------------------------------------------------------------


def headers():
    def archive(change=None, **lies):
        """Three records and a storage; change(bytearray, where the storage's own header is)."""
        file = Zip().add("data.pkl", pickled(tensor())).add("byteorder", b"little")
        at = len(file.data)
        data = bytearray(file.add("data/0", BYTES, **lies).add("version", b"3\n" * 20).bytes())
        if change:
            change(data, at)
        return bytes(data)

    def at(offset, form, *values):
        return lambda data, start: struct.pack_into(form, data, start + offset, *values)

    refused = "RuntimeError"
    for name, (make, expect) in {
        "right": (lambda: archive(), "value"),
        "encrypted": (lambda: archive(flags=0x801), refused),
        "patched": (lambda: archive(flags=0x820), refused),
        "strongly-encrypted": (lambda: archive(flags=0x840), refused),
        "encrypted-directory": (lambda: archive(flags=0x2800), refused),
        "descriptor": (lambda: archive(flags=0x808), "value"),
        "signature": (lambda: archive(at(0, "<I", 0)), refused),
        "extra": (lambda: archive(at(28, "<H", 8)), refused),
        "extra-most": (lambda: archive(at(28, "<H", 65535)), refused),
        "name-length": (lambda: archive(at(26, "<H", 60)), refused),
        "name": (lambda: archive(at(30, "<B", 0)), "value"),
        "sizes": (lambda: archive(at(18, "<II", 2**31, 2**31)), "value"),
        "method": (lambda: archive(at(8, "<H", 8)), "value"),
        "disk": (lambda: archive(lambda data, _: struct.pack_into("<H", data, len(data) - 18, 1)), refused),
        "zip64-disk": (lambda: archive(lambda data, _: struct.pack_into("<H", data, len(data) - 18, 0xFFFF)), "value"),
    }.items():
        for reader in ("load", "mmap"):
            case("header", f"{name}-{reader}", make, expect, reader)


# ---- the format before zip, safetensors ------------------------------------------------------------------------------


def versions():
    empty = glob("torch.Tensor") + b")R"
    for name, item in {
        "shared": SHARED,
        "text": text("a" * 1_000_000),
        "tensor": empty,
        "number": number(2**2000),
        "none": b"N",
        "parameter": glob("torch.nn.parameter.Parameter") + b")R",
        "float": real(float("nan")),
        "list": b"]q\0h\0a",
    }.items():
        case(
            "version",
            name,
            lambda item=item: legacy(pickled(b"N")).replace(pickled(number(1001)), pickled(item), 1),
            "RuntimeError|UnpicklingError",
        )
        case("version", f"magic-{name}", lambda item=item: pickled(item), "RuntimeError|UnpicklingError")
        case(
            "version",
            f"endian-{name}",
            lambda item=item: legacy(pickled(b"N"), facts=b"}" + text("little_endian") + item + b"s"),
            ORDINARY,
        )
        case("version", f"keys-{name}", lambda item=item: legacy(pickled(b"N"), item), ORDINARY)


def sizes():
    """Headers of each size about a power of two, and lengths that do not agree with what is there."""
    one = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    for power in range(3, 20, 4):
        for more in (-1, 0, 1):
            n = 2**power + more
            case("tensors", f"spaces-{n}", lambda n=n: safetensors(b"{}" + b" " * n), "value", "safetensors")
    for length in (0, 1, 2, 7, 8, 2**31, 2**32, 2**32 + 2, 2**63 - 1, 2**64 - 1):
        case(
            "tensors",
            f"length-{length}",
            lambda length=length: safetensors(one, bytes(4), length=length),
            "SafetensorError",
            "safetensors",
        )
    for name, shape in {
        "product": [2**32, 2**32],
        "product-and-zero": [2**32, 2**32, 0],
        "bytes": [2**62],
        "dims-70": [1] * 70,
    }.items():
        case(
            "tensors",
            name,
            lambda shape=shape: safetensors({"a": {**one["a"], "shape": shape}}, bytes(4)),
            "SafetensorError",
            "safetensors",
        )
