"""Hostile containers: zip archives, the formats before them, safetensors; and good files that were damaged."""

import pathlib
import random
import struct

from cases import ORDINARY, REFUSED, case
from parts import Zip, bomb, checkpoint, legacy, number, pickled, real, safetensors, storage, text, tup

FILES = pathlib.Path(__file__).resolve().parents[1] / "goldens" / "checkpoints"


# ---- zip -------------------------------------------------------------------------------------------------------------


def zips():
    none = pickled(b"N")
    for name, (make, expect) in {
        "pickle-bomb": (lambda: bomb("data.pkl", 120 << 20), "UnpicklingError"),
        "storage-bomb": (lambda: bomb("data/{}", 120 << 20), "UnpicklingError"),
        "two-bombs": (lambda: bomb("data/{}", 40 << 20, pieces=3), "UnpicklingError"),
        "bomb-says-less": (lambda: bomb("data/{}", 120 << 20, say=16), "RuntimeError"),
        "bomb-says-more": (lambda: bomb("data/{}", 1 << 20, say=2 << 20), "RuntimeError"),
        "bomb-8gb": (lambda: checkpoint(none, deflate=True, size=8 << 30), "RuntimeError"),
        "bomb-beyond": (lambda: checkpoint(none, deflate=True, size=2**63), "RuntimeError"),
        "not-deflated": (lambda: checkpoint(none, method=8), "RuntimeError"),
        "deflate-cut": (lambda: checkpoint(none * 50, deflate=True, packed=5), "RuntimeError"),
        "method-9": (lambda: checkpoint(none, method=9), "RuntimeError"),
        "method-12": (lambda: checkpoint(none, method=12), "RuntimeError"),
        "method-99": (lambda: checkpoint(none, method=99), "RuntimeError"),
        "stored-more": (lambda: checkpoint(none, size=10**9), "RuntimeError"),
        "packed-more": (lambda: checkpoint(none, packed=10**9, size=10**9), "RuntimeError"),
        "offset": (lambda: checkpoint(none, offset=10**9), "RuntimeError"),
        "offset-64": (lambda: checkpoint(none, offset=2**63), "RuntimeError"),
        "size-64": (lambda: checkpoint(none, size=2**63, packed=2**63), "RuntimeError"),
        "size-max": (lambda: checkpoint(none, size=2**64 - 1, packed=2**64 - 1, offset=2**64 - 1), "RuntimeError"),
        "less": (lambda: checkpoint(none, size=1), "EOFError|IndexError"),
        "nothing": (lambda: checkpoint(none, size=0, packed=0), "EOFError"),
        "deflated": (lambda: checkpoint(none, deflate=True), "value"),
        "empty-pickle": (lambda: checkpoint(b""), "EOFError"),
        "no-pickle": (lambda: Zip().add("version", b"3").bytes(), "RuntimeError"),
        "no-records": (lambda: Zip().bytes(), "EOFError|RuntimeError|UnpicklingError"),
        "count": (lambda: Zip().add("data.pkl", none).bytes(count=60_000), "RuntimeError"),
        "count-0": (lambda: Zip().add("data.pkl", none).bytes(count=0), "RuntimeError"),
        "length": (lambda: Zip().add("data.pkl", none).bytes(length=2**32 - 1), "RuntimeError"),
        "where": (lambda: Zip().add("data.pkl", none).bytes(where=2**32 - 1), "RuntimeError"),
        "length-3": (lambda: Zip().add("data.pkl", none).bytes(length=3), "RuntimeError"),
        "where-0": (lambda: Zip().add("data.pkl", none).bytes(where=0), "RuntimeError"),
        "zip64-count": (lambda: Zip().add("data.pkl", none).bytes(zip64=(2**63, 100, 40)), "RuntimeError"),
        "zip64-length": (lambda: Zip().add("data.pkl", none).bytes(zip64=(1, 2**62, 40)), "RuntimeError"),
        "zip64-where": (lambda: Zip().add("data.pkl", none).bytes(zip64=(1, 60, 2**62)), "RuntimeError"),
        "zip64-locator": (
            lambda: Zip().add("data.pkl", none).bytes()[:-22] + b"PK\6\7" + b"\xff" * 16 + Zip().bytes(),
            "RuntimeError",
        ),
        "torchscript": (lambda: Zip().add("data.pkl", none).add("constants.pkl", none).bytes(), "RuntimeError"),
        "byteorder": (lambda: Zip().add("data.pkl", none).add("byteorder", b"middle").bytes(), "ValueError"),
        "byteorder-bytes": (
            lambda: Zip().add("data.pkl", none).add("byteorder", b"\xff").bytes(),
            "UnicodeDecodeError",
        ),
        "byteorder-long": (
            lambda: Zip().add("data.pkl", none).add("byteorder", b"big" * 100_000).bytes(),
            "RuntimeError",
        ),
        "twice": (lambda: Zip().add("data.pkl", none).add("data.pkl", b"(").bytes(), "RuntimeError"),
        "name-bytes": (lambda: Zip("a").add("data.pkl", none).bytes().replace(b"a/data", b"\xff/data"), "RuntimeError"),
        "name-long": (lambda: Zip("a" * 60_000).add("data.pkl", none).bytes(), "value"),
        "name-slashes": (lambda: Zip("../" * 1000).add("data.pkl", none).bytes(), "RuntimeError"),
        "extra-short": (lambda: checkpoint(none, size=2**32 - 1, extra=b"\1\0\0\0"), "RuntimeError"),
        "extra-odd": (lambda: checkpoint(none, extra=b"\1\0\xff\xff" + b"\1" * 20), "value|RuntimeError"),
        "comment": (lambda: checkpoint(none) + b"\0" * 70_000, "RuntimeError"),
        "end-in-comment": (lambda: checkpoint(none) + b"PK\5\6" + bytes(18), "RuntimeError|EOFError"),
        "before": (lambda: b"PK\3\4" + bytes(100) + checkpoint(none), "RuntimeError"),
        "spanned": (lambda: b"PK\7\x08" + checkpoint(none), "EOFError|UnpicklingError|RuntimeError"),
        "only-magic": (lambda: b"PK\3\4", "RuntimeError"),
        "magic-22": (lambda: b"PK\3\4" + bytes(18), "RuntimeError"),
    }.items():
        case("zip", name, make, expect)
    case("zip", "storage-bomb-mapped", lambda: bomb("data/{}", 120 << 20), "UnpicklingError", "mmap")
    case("zip", "deflated-mapped", lambda: bomb("data/{}", 1 << 20), "value", "mmap")
    case("zip", "unsafe-bomb", lambda: bomb("data/{}", 120 << 20), "UnpicklingError", "unsafe")
    for n in (2, 20, 1000):

        def overlapping(n=n):
            file, data = Zip(), bytes(200_000)
            file.add("data.pkl", pickled(*[storage("Byte", text(str(i)), count=number(len(data))) for i in range(n)]))
            at = len(file.data)
            file.add("data/0", data)
            for i in range(1, n):
                file.entries.append({**file.entries[-1], "name": f"archive/data/{i}", "offset": at})
            return file.bytes()

        case("zip", f"overlapping-{n}", overlapping, "RuntimeError")

    def many():
        file, record = Zip().add("data.pkl", none), Zip().add("x", b"")
        file.data += record.data
        file.entries += [{**record.entries[0], "name": f"archive/{i}", "packed": 0} for i in range(30_000)]
        return file.bytes()

    case("zip", "many-entries", many, "RuntimeError")


# ---- before zip, tar -------------------------------------------------------------------------------------------------


def old():
    def stored(kind="Float", key="a", count=4, view=b"N", **options):
        return storage(kind, text(key), count=number(count), **options)[:-2] + view + b"tQ"

    def bytes_of(*counts):
        return b"".join(struct.pack("<Q", n) + bytes(4 * n) for n in counts)

    keys = b"](" + text("a") + b"e"
    for name, (make, expect) in {
        "right": (lambda: legacy(pickled(stored()), keys, bytes_of(4)), "value"),
        "more": (lambda: legacy(pickled(stored(count=10**9)), keys, bytes_of(4)), "RuntimeError"),
        "beyond": (lambda: legacy(pickled(stored(count=2**70)), keys, bytes_of(4)), "RuntimeError"),
        "many": (
            lambda: legacy(pickled(*[stored(key=f"k{i}", count=20_000) for i in range(1000)]), keys, bytes(80_000)),
            "RuntimeError",
        ),
        "negative": (lambda: legacy(pickled(stored(count=-1)), keys, bytes_of(4)), "RuntimeError"),
        "missing": (lambda: legacy(pickled(stored()), b"]", b""), "RuntimeError"),
        "unnamed": (lambda: legacy(pickled(b"N"), keys, bytes_of(4)), "RuntimeError"),
        "twice": (lambda: legacy(pickled(stored()), b"](" + text("a") * 2 + b"e", bytes_of(4, 4)), "RuntimeError"),
        "other-size": (lambda: legacy(pickled(stored()), keys, bytes_of(5)), "RuntimeError"),
        "cut": (lambda: legacy(pickled(stored()), keys, bytes_of(4)[:-1]), "RuntimeError"),
        "size-max": (lambda: legacy(pickled(stored()), keys, b"\xff" * 8), "RuntimeError"),
        "keys-int": (lambda: legacy(pickled(stored()), b"K\1", b""), "TypeError"),
        "keys-list": (lambda: legacy(pickled(stored()), b"](]e", b""), "RuntimeError"),
        "magic": (lambda: legacy(pickled(b"N"), magic=5), "RuntimeError"),
        "version": (lambda: legacy(pickled(b"N"), version=5), "RuntimeError"),
        "facts": (lambda: legacy(pickled(b"N"), facts=b"K\1"), "RuntimeError"),
        "big-endian": (
            lambda: legacy(pickled(stored()), keys, bytes_of(4), facts=b"}" + text("little_endian") + b"\x89s"),
            "value",
        ),
        "view": (
            lambda: legacy(pickled(stored(view=tup(text("v"), number(1), number(2)))), keys, bytes_of(4)),
            "value",
        ),
        "view-beyond": (
            lambda: legacy(pickled(stored(view=tup(text("v"), number(10**18), number(10**18)))), keys, bytes_of(4)),
            "value",
        ),
        "view-negative": (
            lambda: legacy(pickled(stored(view=tup(text("v"), number(-1), number(-5)))), keys, bytes_of(4)),
            "RuntimeError",
        ),
        "view-float": (
            lambda: legacy(pickled(stored(view=tup(text("v"), real(0.0), number(1)))), keys, bytes_of(4)),
            "RuntimeError",
        ),
        "view-short": (lambda: legacy(pickled(stored(view=b"K\1\x85")), keys, bytes_of(4)), "ValueError"),
        "cuda": (lambda: legacy(pickled(stored(location=text("cuda:0"))), keys, bytes_of(4)), "RuntimeError"),
        "module": (lambda: legacy(pickled(stored(word=text("module"))), keys, bytes_of(4)), REFUSED),
        "sets": (lambda: legacy(pickled(b"\x8f" * 500_000)), REFUSED),
        "empty": (lambda: b"", "EOFError"),
        "zeros": (lambda: bytes(10_000), REFUSED),
        "text": (lambda: b"hello, world\n" * 1000, "KeyError"),
        "html": (lambda: b"<!DOCTYPE html><html>" + b"x" * 100_000, REFUSED),
    }.items():
        case("legacy", name, make, expect)

    def tar(edit=lambda data: data):
        return lambda: bytes(edit(bytearray((FILES / "tar.pt").read_bytes())))

    def header(at, field, value):
        def edit(data):
            data[at + field : at + field + len(value)] = value
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
            return data

        return edit

    case("tar", "weights-only", tar(), "RuntimeError")
    case("tar", "right", tar(), "value", "unsafe")
    for name, edit in {
        "huge": header(0, 124, b"77777777777\0"),
        "base-256": header(0, 124, b"\x80\0\0\0\0\0\0\1\0\0\0\0"),
        "link": header(0, 156, b"2"),
        "sparse": header(0, 156, b"S"),
        "long-name": header(0, 156, b"L"),
        "pax": header(0, 156, b"x"),
        "checksum": lambda d: d[:148] + b"12345678" + d[156:],
        "cut": lambda d: d[:3000],
        "cut-512": lambda d: d[:512],
        "name": header(0, 0, b"other\0"),
        "directory": header(0, 156, b"5"),
    }.items():
        case("tar", name, tar(edit), ORDINARY.replace("value|", ""), "unsafe")


# ---- safetensors -----------------------------------------------------------------------------------------------------


def entry(dtype="F32", shape=(1,), offsets=(0, 4), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


def tensors_files():
    one = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    bad = {
        "empty": b"",
        "short": b"\1\2",
        "huge-header": safetensors(b"{}", length=2**63),
        "header-100mb": safetensors(b"{}", length=100_000_001),
        "header-beyond": safetensors(b"{}", length=10),
        "utf8": safetensors(b"\xff{}"),
        "utf16": safetensors("{}".encode("utf-16")),
        "bom": safetensors(b"\xef\xbb\xbf{}"),
        "json": safetensors(b"{"),
        "list": safetensors(b"[]"),
        "null": safetensors(b"null"),
        "number": safetensors(b"5"),
        "trailing": safetensors(b"{}x"),
        "nothing": safetensors(b""),
        "data-left": safetensors({}, b"1234"),
        "gap-first": safetensors({"a": entry(offsets=(4, 8))}, bytes(8)),
        "gap": safetensors({"a": entry(), "b": entry(offsets=(8, 12))}, bytes(12)),
        "overlap": safetensors({"a": entry(), "b": entry(offsets=(2, 6))}, bytes(6)),
        "same": safetensors({"a": entry(), "b": entry()}, bytes(4)),
        "extra": safetensors({"a": entry()}, bytes(5)),
        "cut": safetensors({"a": entry()}, bytes(3)),
        "negative": safetensors({"a": entry(offsets=(-4, 0))}, bytes(4)),
        "reversed": safetensors({"a": entry(offsets=(4, 0))}, bytes(4)),
        "shape": safetensors({"a": entry(shape=(2,))}, bytes(4)),
        "negative-shape": safetensors({"a": entry(shape=(-1,))}, bytes(4)),
        "overflow": safetensors({"a": entry(shape=(2**62, 4), offsets=(0, 0))}),
        "overflow-0": safetensors({"a": entry(shape=(2**63, 0), offsets=(0, 0))}),
        "overflow-64": safetensors({"a": entry(shape=(2**64,), offsets=(0, 0))}),
        "overflow-dims": safetensors({"a": entry(shape=(0, 2**40, 2**40), offsets=(0, 0))}),
        "dims": safetensors({"a": entry(shape=[1] * 1000)}, bytes(4)),
        "offset-beyond": safetensors({"a": entry(offsets=(0, 2**63), shape=(2**61,))}, bytes(4)),
        "float": safetensors({"a": entry(shape=(1.0,))}, bytes(4)),
        "bool": safetensors({"a": entry(shape=(True,))}, bytes(4)),
        "text": safetensors({"a": {**entry(), "shape": "1"}}, bytes(4)),
        "digits": safetensors(b'{"a":' + one.replace(b"[1]", b"[" + b"9" * 100_000 + b"]") + b"}", bytes(4)),
        "digits-4000": safetensors(
            b'{"a":' + one.replace(b"[1]", b"[" + b",".join([b"9" * 4000] * 100) + b"]") + b"}", bytes(4)
        ),
        "exponent": safetensors(b'{"a":' + one.replace(b"[1]", b"[1e999999999]") + b"}", bytes(4)),
        "nan": safetensors(b'{"a":NaN}'),
        "dtype": safetensors({"a": entry("F33")}, bytes(4)),
        "dtype-case": safetensors({"a": entry("f32")}, bytes(4)),
        "dtype-number": safetensors({"a": {**entry(), "dtype": 3}}, bytes(4)),
        "dtype-list": safetensors({"a": {**entry(), "dtype": [[]]}}, bytes(4)),
        "dtype-f4": safetensors({"a": entry("F4", (2,), (0, 1))}, bytes(1)),
        "dtype-f6": safetensors({"a": entry("F6_E2M3", (2,))}, bytes(4)),
        "no-dtype": safetensors({"a": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
        "no-shape": safetensors({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(4)),
        "no-offsets": safetensors({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)),
        "offsets-3": safetensors({"a": entry(offsets=(0, 4, 4))}, bytes(4)),
        "offsets-1": safetensors({"a": entry(offsets=(0,))}, bytes(4)),
        "entry-list": safetensors({"a": ["F32", [1], [0, 4], 0]}, bytes(4)),
        "entry-number": safetensors({"a": 5}),
        "entry-text": safetensors({"a": "x"}),
        "entry-null": safetensors({"a": None}),
        "twice": safetensors(b'{"a":' + one + b',"a":' + one + b"}", bytes(4)),
        "twice-apart": safetensors(b'{"a":' + one + b',"a":' + one.replace(b"0,4", b"4,8") + b"}", bytes(8)),
        "field-twice": safetensors(b'{"a":' + one.replace(b"{", b'{"dtype":"F32",') + b"}", bytes(4)),
        "metadata-twice": safetensors(b'{"__metadata__":{},"__metadata__":{}}'),
        "metadata-number": safetensors({"__metadata__": {"a": 1}}),
        "metadata-list": safetensors({"__metadata__": []}),
        "metadata-deep": safetensors({"__metadata__": {"a": {"b": {}}}}),
        "surrogate": safetensors(b'{"\\ud800":' + one + b"}", bytes(4)),
        "control": safetensors(b'{"a\n":' + one + b"}", bytes(4)),
        "empty-inside": safetensors({"a": entry(shape=(0,), offsets=(2, 2)), "b": entry()}, bytes(4)),
        "quote": safetensors(b'{"a\\":' + one + b"}", bytes(4)),
        "sets": safetensors(b'{"a":[' + b"[]," * 700_000 + b"[]]}"),
        "dicts": safetensors(b'{"a":[' + b"{}," * 700_000 + b"{}]}"),
        "strings": safetensors(b'{"a":[' + b'"ab",' * 400_000 + b'"ab"]}'),
        "keys": safetensors(b"{" + b",".join(b'"%d":0' % i for i in range(150_000)) + b"}"),
        "many-over-one": safetensors(
            {f"n{i}": entry("U8", (500_000,), (0, 500_000)) for i in range(1000)}, bytes(500_000)
        ),
        "name-long": safetensors(b'{"' + b"a" * 1_000_000 + b'":5}'),
        "backslashes": safetensors(b'{"' + b"\\\\" * 500_000 + b'":5}'),
    }
    for n in (100, 10_000, 100_000):
        bad[f"depth-{n}"] = safetensors(b'{"a":' + b"[" * n + b"]" * n + b"}")
        bad[f"depth-open-{n}"] = safetensors(b'{"a":' + b"[" * n)
        bad[f"depth-dicts-{n}"] = safetensors(b'{"a":' * n + b"5" + b"}" * n)
    for name, data in bad.items():
        case("safetensors", name, lambda data=data: data, "SafetensorError", "safetensors")
    for name, data in {
        "right": safetensors({"a": entry()}, bytes(4)),
        "none": safetensors({}),
        "spaces": safetensors(b" {}  "),
        "more-fields": safetensors({"a": entry(more=[[1]])}, bytes(4)),
        "scalar": safetensors({"a": entry(shape=())}, bytes(4)),
        "no-elements": safetensors({"a": entry(shape=(0, 5), offsets=(0, 0))}),
        "metadata-null": safetensors(b'{"__metadata__":null}'),
        "brackets-in-name": safetensors({'[{"\\': entry()}, bytes(4)),
        "many": safetensors({f"n{i}": entry("U8", (1,), (i, i + 1)) for i in range(3000)}, bytes(3000)),
    }.items():
        case("safetensors", name, lambda data=data: data, "value", "safetensors")


# ---- damage ----------------------------------------------------------------------------------------------------------


def damage():
    bases = {"zip.pt": "load", "training.pt": "load", "legacy.pt": "load"}
    for name, reader in bases.items():
        data = (FILES / name).read_bytes()
        for i in range(16):
            n = len(data) * i // 16
            case("cut", f"{name}-{n}", lambda data=data, n=n: data[:n], ORDINARY.replace("value|", ""), reader)
        for seed in range(40):

            def mutated(data=data, seed=seed):
                rng, out = random.Random(seed), bytearray(data)
                for _ in range(rng.choice((1, 4, 30))):
                    at = rng.randrange(len(out))
                    kind = rng.randrange(4)
                    if kind == 0:
                        out[at] ^= 1 << rng.randrange(8)
                    elif kind == 1:
                        out[at] = rng.choice((0, 0x7F, 0x80, 0xFF))
                    elif kind == 2:
                        del out[at : at + rng.randrange(1, 9)]
                    else:
                        out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
                return bytes(out)

            case("mutation", f"{name}-{seed}", mutated, ORDINARY, reader)
    small = safetensors({"a": entry(), "b": entry("I64", (2, 2), (4, 36))}, bytes(36))
    for seed in range(30):

        def mutated_small(seed=seed):
            rng, out = random.Random(seed), bytearray(small)
            for _ in range(rng.choice((1, 3))):
                out[rng.randrange(len(out))] = rng.randrange(256)
            return bytes(out)

        case("mutation", f"safetensors-{seed}", mutated_small, "value|SafetensorError", "safetensors")
