"""Hostile pickles, inside a zip archive that is as it should be."""

import random
import sys

from cases import ORDINARY, REFUSED, case, pickle_case
from parts import (
    ORDERED,
    PROTO,
    bomb,
    call,
    checkpoint,
    get,
    glob,
    legacy,
    number,
    pickled,
    put,
    real,
    storage,
    tensor,
    text,
    tup,
    u32,
)


# ---- opcodes: each of them, with little and with much behind it ----------------------------------------------------


def opcodes():
    for op in range(256):
        one = bytes([op])
        case("opcode", f"{op:02x}", lambda one=one: checkpoint(PROTO + one + b"\1\0\0\0\n\0\n..."), ORDINARY)
        if op % 4 == 0:
            case(
                "opcode",
                f"{op:02x}-on-objects",
                lambda one=one: checkpoint(
                    PROTO + b"})]" + tensor() + b"(K\1K\2" + one + b"\0\0\0\0\0\0\0\0.", b"\0" * 16
                ),
                ORDINARY,
            )
    for name, body in {
        "long4": b"\x8b\xff\xff\xff\x7f",
        "binbytes8": b"\x8e" + b"\xff" * 7 + b"\x7f",
        "bytearray8": b"\x96" + b"\xff" * 8,
        "frame": b"\x95" + b"\xff" * 8,
        "binstring": b"T\xff\xff\xff\x7f",
        "unicode8": b"\x8d" + b"\xff" * 8,
    }.items():
        pickle_case("opcode", f"huge-{name}", body)
    pickle_case("opcode", "huge-unicode", b"X\xff\xff\xff\xff", expect="EOFError")
    pickle_case("opcode", "huge-memo", b"Nr\xff\xff\xff\xff", expect="value")
    pickle_case("opcode", "warnings", make=lambda: PROTO + b"\x80\x03" * 100_000 + b"N.", expect="value")


# ---- nesting ---------------------------------------------------------------------------------------------------------

NESTS = {  # one more level around what is on the stack
    "tuple1": lambda i: b"\x85",
    "tuple2": lambda i: b"N\x86",
    "tuple3": lambda i: b"NN\x87",
    "list": lambda i: b"q\0]h\0a",
    "dict": lambda i: b"q\0}Nh\0s",
    "ordered": lambda i: b"q\0" + ORDERED + b"Nh\0s",
    "list-in-tuple": lambda i: b"q\0]h\0a\x85",
    "counter": lambda i: b"q\0" + glob("collections.Counter") + b")RNh\0s",
}


def nesting():
    for name, level in NESTS.items():
        start = b"]" if name in ("list", "dict", "ordered", "counter") else b")"
        for n in (900, 1100, 10_000):
            if "ordered" in name or "counter" in name:
                n = min(n, 2000)
            if name == "list-in-tuple":
                n //= 2
            body = PROTO + start + b"".join(level(i) for i in range(n)) + b"."
            case(
                "nesting",
                f"{name}-{n}",
                lambda body=body: checkpoint(body),
                REFUSED if n > 1000 or n == 550 else "value",
            )
    for n in (10_000, 100_000):
        pickle_case("nesting", f"key-{n}", b"})" + b"\x85" * n + b"Ns")
        pickle_case("nesting", f"alone-{n}", b")" + b"\x85" * n)
        case("nesting", f"legacy-{n}", lambda n=n: legacy(pickled(b")" + b"\x85" * n)), REFUSED)
        case("nesting", f"legacy-magic-{n}", lambda n=n: pickled(b")" + b"\x85" * n), REFUSED)
        pickle_case("nesting", f"set-{n}", glob("builtins.set") + b"(](" + b")" + b"\x85" * n + b"etR")
        pickle_case("nesting", f"dropped-{n}", b")" + b"\x85" * n + b"}Ns", expect=REFUSED)
    pickle_case("nesting", "marks", b"(" * 50_000, expect="EOFError|IndexError|UnpicklingError")
    pickle_case(
        "nesting", "parameter", tensor(), *(b"q\0" + glob("torch.nn.parameter.Parameter") + b"h\0\x89\x86\x81",) * 2000
    )
    pickle_case(
        "nesting",
        "from-type",
        b")",
        *(
            b"q\0"
            + glob("torch._tensor._rebuild_from_type_v2")
            + glob("torch._tensor._rebuild_from_type_v2")
            + glob("torch.Tensor")
            + b"h\0NtR",
        )
        * 100,
        expect="IndexError|UnpicklingError",
    )
    # deep only afterwards: each container is put into its neighbour first, and filled later
    for name, (start, append) in {"list": (b"]", b"a"), "dict": (b"}", b"s"), "ordered": (ORDERED, b"s")}.items():
        key = b"" if append == b"a" else b"N"
        n = 3000
        made = b"".join(start + put(i) for i in range(n))
        links = [get(i) + key + get(i + 1) + append for i in range(n - 1)]
        pickle_case("nesting", f"late-{name}-forwards", made, *links)
        pickle_case("nesting", f"late-{name}-backwards", made, *reversed(links))
        pickle_case("nesting", f"ring-{name}", made, *links, get(n - 1) + key + get(0) + append)
    pickle_case("nesting", "itself", b"]q\0h\0a", expect="value")
    pickle_case("nesting", "itself-in-dict", b"}q\0Nh\0s", expect="value")
    pickle_case("nesting", "itself-attribute", ORDERED + b"q\0}" + text("a") + b"h\0sb", expect="value")
    pickle_case("nesting", "attribute-2000", ORDERED, *(b"q\0" + ORDERED + b"}" + text("a") + b"h\0sb",) * 2000)


# ---- hashes, reprs, work ---------------------------------------------------------------------------------------------

SHARED = b")" + b"q\0h\0\x86" * 100  # 2 ** 100 elements in a repr
BIG = sys.hash_info.modulus  # multiples of it have the same hash


def work():
    pickle_case("work", "shared-key", b"}", SHARED, b"Ns")
    pickle_case("work", "shared-in-set", glob("builtins.set"), b"(](", SHARED, b"etR")
    pickle_case("work", "shared-called", SHARED, b")R")
    pickle_case("work", "shared-new", SHARED, b")\x81")
    pickle_case("work", "shared-built", SHARED, b"Nb")
    pickle_case("work", "shared-appended", SHARED, b"Na")
    pickle_case("work", "shared-persistent", SHARED, b"Q")
    pickle_case("work", "shared-storage-key", storage(key=SHARED), expect="RuntimeError")
    pickle_case("work", "shared-storage-location", storage(location=SHARED), expect="RuntimeError")
    pickle_case("work", "shared-argument", glob("torch.Size"), SHARED, b"R", expect="UnpicklingError|TypeError")
    pickle_case("work", "shared-size", tensor(None, number(0), SHARED))
    pickle_case("work", "shared-value", SHARED)
    case(
        "work", "shared-legacy-key", lambda: legacy(pickled(storage(key=SHARED).replace(b"tQ", b"NtQ"))), "RuntimeError"
    )
    case("work", "shared-legacy-keys", lambda: legacy(pickled(b"N"), b"](" + SHARED + b"e"), REFUSED)
    ints = [number(i * BIG) for i in range(1, 30_001)]
    pickle_case("work", "colliding", b"}(", *(k + b"N" for k in ints), b"u")
    pickle_case("work", "colliding-one-by-one", b"}", *(k + b"Ns" for k in ints))
    pickle_case("work", "colliding-set", glob("builtins.set"), b"](", *ints, b"e\x85R")
    pickle_case(
        "work", "colliding-ordered", glob("collections.OrderedDict"), b"](", *(k + b"N\x86" for k in ints), b"e\x85R"
    )
    pickle_case(
        "work", "colliding-tuples", b"}(" + b"".join(number(i * BIG) + b"\x85N" for i in range(1, 30_001)) + b"u"
    )
    pickle_case(
        "work", "colliding-few", b"}(" + b"".join(number(i * BIG) + b"N" for i in range(1, 500)) + b"u", expect="value"
    )
    pickle_case(
        "work",
        "large-ids",
        b"}(" + b"".join(number(random.Random(i).getrandbits(62)) + b"N" for i in range(20_000)) + b"u",
        expect="value",
    )
    pickle_case(
        "work",
        "long-key-again",
        b"}q\0",
        text("a" * 400_000),
        b"q\1Ns",
        text("a" * 400_000),
        b"q\2Ns",
        b"h\1Nsh\2Ns" * 50_000,
    )
    wide = tup(*[b"K\1"] * 60)
    pickle_case("work", "wide-key-again", wide + b"q\0}" + b"h\0Ns" * 10_000, expect="value|UnpicklingError")
    pickle_case("work", "too-wide-key", tup(*[b"K\1"] * 65) + b"q\0}h\0Ns")
    items = b"](" + b"N" * 50_000 + b"eq\0"
    for name, path in {"set": "builtins.set", "size": "torch.Size"}.items():
        pickle_case(
            "work",
            f"{name}-again",
            items,
            glob(path) + b"q\1",
            b"h\0\x85R",
            b"h\1h\0\x85R" * 20_000,
            expect="UnpicklingError|TypeError",
        )
    state = b"}(" + b"".join(text(f"k{i}") + b"N" for i in range(20_000)) + b"uq\0"
    pickle_case("work", "build-again", state, ORDERED, b"h\0b" * 50_000)
    pickle_case(
        "work", "counter-again", state, glob("collections.Counter") + b"q\1", b"h\0\x85R", b"h\1h\0\x85R" * 20_000
    )
    pickle_case("work", "long-name", b"c" + b"a" * 1_000_000 + b"\n" + b"b" * 1_000_000 + b"\n")
    pickle_case("work", "many-dots", b"c" + b"a." * 500_000 + b"\nb\n")
    pickle_case("work", "no-newline", b"c" + b"a" * 1_000_000, expect="EOFError")
    pickle_case("work", "long-int", b"\x8a\xff" + b"\x7f" * 255, expect="value")
    pickle_case("work", "long-int-key", *(b"}\x8a\xff" + b"\x7f" * 255 + b"q\0Ns", b"h\0Ns" * 20_000), expect="value")
    reader = "globals"
    case("work", "globals-nested", lambda: checkpoint(PROTO + b")" + b"\x85" * 100_000 + b"."), "value", reader)
    case(
        "work",
        "globals-many",
        lambda: checkpoint(PROTO + b"".join(glob(f"a{i}.b") for i in range(20_000)) + b"."),
        "value",
        reader,
    )
    case("work", "globals-decimal", lambda: checkpoint(PROTO + b"I" + b"9" * 1_000_000 + b"\n."), REFUSED, reader)
    case("work", "globals-cut", lambda: checkpoint(PROTO + b"X\xff\xff\xff\xff"), "EOFError", reader)
    case("work", "globals-not-zip", lambda: b"N.", "ValueError", reader)
    case("work", "globals-bomb", lambda: bomb("data.pkl", 120 << 20), "UnpicklingError", reader)


# ---- memory ----------------------------------------------------------------------------------------------------------


def memory():
    for name, (body, n) in {
        "sets": (b"\x8f", 600_000),
        "dicts": (b"}", 700_000),
        "lists": (b"]", 700_000),
        "marks": (b"(", 900_000),
        "filled-dicts": (b"}NNs", 500_000),
        "filled-lists": (b"]Na", 500_000),
        "ints": (b"M\xff\xff", 300_000),
        "strings": (b"U\2ab", 200_000),
        "texts": (b"X\2\0\0\0ab", 200_000),
        "tuples": (b"N\x85", 600_000),
        "floats": (b"G" + b"\1" * 8, 200_000),
    }.items():
        expect = (
            "UnpicklingError"
            if name in ("sets", "dicts", "lists", "filled-dicts", "filled-lists", "marks", "tuples")
            else "value|UnpicklingError"
        )
        pickle_case("memory", name, make=lambda body=body, n=n: pickled(body * n), expect=expect)
    pickle_case(
        "memory",
        "memo",
        make=lambda: pickled(b"N" + b"".join(b"r" + u32(i * 4096) for i in range(150_000))),
        expect="value|UnpicklingError",
    )
    pickle_case("memory", "wide-text", make=lambda: pickled(text("a" * 3_000_000 + "\U0001f600")), expect="value")
    first = glob("_codecs.encode") + b"q\1" + text("\xe9" * 200_000) + b"q\2" + text("latin1") + b"\x86q\3R"
    pickle_case("memory", "encode-again", first, b"h\1h\3R" * 20_000)
    for codec in (
        "punycode",
        "idna",
        "utf-16",
        "utf-32",
        "unicode_escape",
        "rot13",
        "hex",
        "zlib_codec",
        "bz2_codec",
        "uu",
        "x" * 100_000,
    ):
        pickle_case("memory", f"codec-{codec[:10]}", call("_codecs.encode", text("a\xe9" * 30_000), text(codec)))
    pickle_case(
        "memory", "codec-errors", call("_codecs.encode", text("\xe9" * 30_000), text("ascii"), text("namereplace"))
    )
    pickle_case("memory", "codec-latin1", call("_codecs.encode", text("\xe9" * 30_000), text("latin1")), expect="value")
    for path, argument in {
        "bytearray": number(3_000_000_000),
        "set": number(5),
        "complex": text("1" * 100_000),
    }.items():
        pickle_case("memory", path, call(f"builtins.{path}", argument))
    pickle_case("memory", "bytearray-list", call("builtins.bytearray", b"](" + b"K\1" * 1000 + b"e"))
    pickle_case("memory", "bytearray-codec", call("builtins.bytearray", text("a" * 1000), text("punycode")))
    for path in (
        "torch.Tensor",
        "torch.storage.UntypedStorage",
        "torch.storage.TypedStorage",
        "torch.nn.parameter.Parameter",
        "torch.Size",
    ):
        name = path.rpartition(".")[2]
        pickle_case("memory", name, call(path, number(1_500_000_000)))
        pickle_case("memory", f"{name}-new", glob(path) + tup(number(1_500_000_000)) + b"\x81")
    pickle_case("memory", "Tensor-sizes", call("torch.Tensor", number(50_000), number(50_000)))
    pickle_case(
        "memory",
        "meta",
        call(
            "torch._utils._rebuild_meta_tensor_no_storage",
            glob("torch.float32"),
            tup(number(10**12)),
            tup(number(1)),
            b"\x89",
        ),
        expect="value",
    )


# ---- tensors ---------------------------------------------------------------------------------------------------------


def strided(sizes, strides, **options):
    return tensor(
        None,
        number(options.get("offset", 0)),
        tup(*map(number, sizes)),
        tup(*map(number, strides)),
        *options.get("rest", ()),
    )


def tensors():
    expanded = strided([10**18], [0])
    v2 = b"\x89" + ORDERED
    for name, body in {
        "size": strided([5], [1]),
        "negative-size": strided([-1], [1]),
        "negative-stride": strided([2], [-1]),
        "stride": strided([2], [4]),
        "offset": strided([4], [1], offset=1),
        "negative-offset": strided([1], [1], offset=-1),
        "wrap": strided([2**62, 4], [1, 1]),
        "wrap-stride": strided([2, 2], [2**63, 1]),
        "huge-stride": strided([2], [2**61]),
        "too-many": strided([2] * 62, [0] * 62),
        "counts": strided([1, 1], [1]),
        "offset-big": strided([1], [1], offset=2**70),
        "size-big": strided([2**70], [0]),
    }.items():
        pickle_case("tensor", name, body, expect="RuntimeError")
    for name, body in {
        "dims": strided([1] * 65, [1] * 65),
        "offset-float": tensor(None, real(0.0)),
        "size-float": tensor(None, number(0), tup(real(4.0))),
        "size-text": tensor(None, number(0), text("4")),
        "size-tensor": tensor(None, number(0), expanded),
        "size-none": tensor(None, number(0), b"N"),
        "stride-dict": tensor(None, number(0), tup(number(1)), b"}"),
        "storage-int": tensor(number(3)),
        "storage-tensor": tensor(tensor()),
        "grad-tensor": tensor(None, number(0), tup(number(4)), tup(number(1)), expanded, ORDERED),
        "hooks-tensor": tensor(None, number(0), tup(number(4)), tup(number(1)), b"\x89", tensor()),
        "hooks-list": tensor(None, number(0), tup(number(4)), tup(number(1)), b"\x89", b"]"),
        "metadata-list": tensor(None, number(0), tup(number(4)), tup(number(1)), b"\x89", ORDERED, b"]"),
        "few": call("torch._utils._rebuild_tensor_v2", storage()),
        "many": tensor(None, number(0), tup(), tup(), *[b"N"] * 100),
        "args-tensor": glob("torch._utils._rebuild_tensor_v2") + expanded + b"R",
        "args-list": glob("torch.Size") + b"]R",
        "args-none": glob("torch.Size") + b"NR",
        "args-dict": glob("collections.OrderedDict") + b"}R",
        "set-tensor": call("builtins.set", expanded),
        "counter-tensor": call("collections.Counter", expanded),
        "ordered-tensor": call("collections.OrderedDict", expanded),
        "size-of-tensor": call("torch.Size", expanded),
        "bytearray-tensor": call("builtins.bytearray", expanded),
        "complex-tensor": call("builtins.complex", expanded),
        "append-to-tensor": expanded + b"Na",
        "device-expanded": call(
            "torch._utils._rebuild_device_tensor_from_cpu_tensor", expanded, glob("torch.float64"), text("cpu"), b"\x89"
        ),
        "device-numpy": call(
            "torch._utils._rebuild_device_tensor_from_numpy", number(3), glob("torch.float64"), text("cpu"), b"\x89"
        ),
        "parameter-int": call("torch._utils._rebuild_parameter", number(3), b"\x88", ORDERED),
        "parameter-state-tensor": call(
            "torch._utils._rebuild_parameter_with_state", tensor(), b"\x88", ORDERED, expanded
        ),
        "parameter-state-key": call("torch._utils._rebuild_parameter_with_state", tensor(), b"\x88", ORDERED, b"}NNs"),
        "type-bytearray": call(
            "torch._tensor._rebuild_from_type_v2",
            glob("builtins.bytearray"),
            glob("torch.Tensor"),
            tup(number(3 * 10**9)),
            b"}",
        ),
        "type-storage": call(
            "torch._tensor._rebuild_from_type_v2",
            glob("torch.storage.UntypedStorage"),
            glob("torch.Tensor"),
            tup(number(10**9)),
            b"}",
        ),
        "type-itself": call(
            "torch._tensor._rebuild_from_type_v2",
            glob("torch._tensor._rebuild_from_type_v2"),
            glob("torch.Tensor"),
            tup(b"N", b"N", b"N", b"N"),
            b"}",
        ),
        "build-tensor": glob("torch.Tensor") + b")\x81" + expanded + b"b",
        "build-storage": storage() + b"}" + text("_untyped_storage") + b"Nsb",
        "build-dtype": glob("torch.float32") + b"}b",
        "build-class": glob("torch.Tensor") + b"}b",
        "build-parameter": tensor() + b"q\0" + glob("torch.nn.parameter.Parameter") + b"h\0\x85\x81}b",
        "build-ordered": ORDERED + b"}K\1Nsb",
        "build-ordered-list": ORDERED + b"]b",
    }.items():
        pickle_case(
            "tensor", name, body, expect="UnpicklingError|AttributeError" if name == "device-numpy" else REFUSED
        )
    for name, body in {
        "conj-expanded": tensor(
            storage("ComplexFloat", count=number(2)),
            number(0),
            tup(number(10**12)),
            tup(number(0)),
            b"\x89",
            ORDERED,
            b"}" + text("conj") + b"\x88s",
        ),
        "neg-expanded": tensor(
            None, number(0), tup(number(10**12)), tup(number(0)), b"\x89", ORDERED, b"}" + text("neg") + b"\x88s"
        ),
    }.items():  # views: they take no memory
        pickle_case("tensor", name, body, expect="value", reader="repr")
    for name in ("real", "imag", "data", "grad", "requires_grad", "shape", "_storage", "_version", "T", "__class__"):
        value = strided([4], [1]) if name in ("real", "data", "grad", "T") else b"\x88"
        inner = tup(storage(), number(0), tup(number(10**18)), tup(number(0)), v2)
        pickle_case(
            "tensor",
            f"state-{name}",
            call(
                "torch._tensor._rebuild_from_type_v2",
                glob("torch._utils._rebuild_tensor_v2"),
                glob("torch.Tensor"),
                inner,
                b"}" + text(name) + value + b"s",
            ),
            expect="UnpicklingError|TypeError|AttributeError",
        )
    for name, (sizes, strides) in {
        "1": ([10**18], [0]),
        "2": ([10**9, 10**8], [0, 0]),
        "dims": ([2] * 58, [0] * 58),
        "dims-7": ([7] * 20, [0] * 20),
        "dims-1": ([1] * 60 + [10**15], [0] * 61),
        "empty": ([0] + [2] * 60, [0] * 61),
    }.items():
        for reader in ("load", "repr"):
            pickle_case("tensor", f"expanded-{name}-{reader}", strided(sizes, strides), expect="value", reader=reader)
        pickle_case(
            "tensor",
            f"expanded-{name}-parameter",
            glob("torch.nn.parameter.Parameter") + strided(sizes, strides) + b"\x88\x86\x81",
            expect="value",
            reader="repr",
        )
    built = glob("torch.Tensor") + b")\x81" + tup(storage(), number(0), tup(number(4)), tup(number(1))) + b"b"
    pickle_case("tensor", "build-set", built, expect="value")
    pickle_case(
        "tensor", "build-stretch", built.replace(number(4) + b"t(", number(10**9) + b"t("), expect="RuntimeError"
    )


# ---- storages --------------------------------------------------------------------------------------------------------


def storages():
    for name, (body, expect) in {
        "more": (storage(count=number(5)), "RuntimeError"),
        "much-more": (storage(count=number(10**10)), "RuntimeError"),
        "beyond": (storage(count=number(2**70)), "RuntimeError"),
        "negative": (storage(count=number(-1)), "RuntimeError"),
        "float": (storage(count=real(4.0)), "RuntimeError"),
        "text": (storage(count=text("aaaa")), "RuntimeError"),
        "list": (storage(count=b"]"), "RuntimeError"),
        "none": (storage(count=b"N"), "RuntimeError"),
        "bool": (storage(count=b"\x88"), "RuntimeError"),
        "tensor": (storage(count=tensor()), "RuntimeError"),
        "missing": (storage(key=text("7")), "RuntimeError"),
        "path": (storage(key=text("../data.pkl")), "RuntimeError"),
        "key-int": (storage(key=number(0)), "value"),
        "key-tuple": (storage(key=b")"), "RuntimeError"),
        "key-long": (storage(key=text("a" * 500_000)), "RuntimeError"),
        "location": (storage(location=text("fpga")), "RuntimeError"),
        "location-cuda": (storage(location=text("cuda:0")), "RuntimeError"),
        "location-none": (storage(location=b"N"), "RuntimeError"),
        "location-long": (storage(location=text("a" * 500_000)), "RuntimeError"),
        "location-meta": (storage(location=text("meta")), "value"),
        "kind-int": (storage().replace(glob("torch.FloatStorage"), number(3)), "RuntimeError"),
        "kind-dtype": (storage().replace(glob("torch.FloatStorage"), glob("torch.float32")), "RuntimeError"),
        "kind-tensor": (storage().replace(glob("torch.FloatStorage"), glob("torch.Tensor")), "RuntimeError"),
        "word": (storage(word=text("module")), REFUSED),
        "word-tuple": (storage(word=b")"), REFUSED),
        "word-tensor": (storage(word=tensor()), REFUSED),
        "id-int": (b"K\1Q", "TypeError"),
        "id-empty": (b")Q", "IndexError"),
        "id-list": (b"]Q", REFUSED),
        "id-short": (text("storage") + b"\x85Q", "ValueError"),
        "again": (b"]" + (storage() + b"a") * 2000, "value"),
    }.items():
        pickle_case("storage", name, body, expect=expect)
    pickle_case("storage", "view-other-dtype", storage() + storage("Double") + b"\x86", expect="value")
