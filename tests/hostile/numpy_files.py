"""Arrays and scalars of numpy where the reader allows them, sparse tensors, and the long headers of old tar files."""

from cases import ORDINARY, case, pickle_case
from container_files import FILES
from parts import call, get, glob, number, pickled, put, real, storage, tensor, text, tup


def raw(data):
    """Bytes, as they are pickled where there is no opcode for them."""
    return call("_codecs.encode", text(data.decode("latin1")), text("latin1"))


def dtype(name, *state):
    """numpy's dtype as it pickles one: a call, then BUILD with its state."""
    made = call("numpy.dtype", text(name), b"\x89", b"\x88")
    return made + tup(*state) + b"b" if state else made


def order(mark="<", size=-1, align=-1, flags=0, sub=b"N", names=b"N", fields=b"N", version=3):
    return number(version), text(mark), sub, names, fields, number(size), number(align), number(flags)


def array(shape, kind, data, version=1, fortran=b"\x89"):
    made = call("numpy._core.multiarray._reconstruct", glob("numpy.ndarray"), tup(number(0)), raw(b"b"))
    return made + tup(number(version), tup(*map(number, shape)), kind, fortran, data) + b"b"


def scalar(kind, *data):
    return call("numpy._core.multiarray.scalar", kind, *data)


F8 = dtype("f8", *order())
OBJECT_AT_0 = tup(call("numpy.dtype", text("O"), b"\x89", b"\x88"), number(0))
ANY = ORDINARY + "|DeprecationWarning|OverflowError|MemoryError"  # numpy's own, in no time and without memory


def arrays():
    deep = F8
    for _ in range(400):
        deep = call("numpy.dtype", tup(deep, tup(number(1))), b"\x89", b"\x88")
    wide = b"](" + b"".join(tup(text(f"f{i}"), text("<f8")) for i in range(3000)) + b"e"
    for name, body in {
        "array": array((2,), F8, raw(bytes(16))),
        "array-short": array((2,), F8, raw(bytes(15))),
        "array-long": array((2,), F8, raw(bytes(17))),
        "array-huge": array((10**12,), F8, raw(b"")),
        "array-wraps": array((2**32, 2**32), F8, raw(b"")),
        "array-negative": array((-1,), F8, raw(bytes(16))),
        "array-negative-two": array((-2, -1), F8, raw(bytes(16))),
        "array-dims": array([1] * 100, F8, raw(bytes(8))),
        "array-many-dims": array([1] * 100_000, F8, raw(bytes(8))),
        "array-zero-wide": array((0, 2**62), F8, raw(b"")),
        "array-no-bytes-each": array((10**15,), dtype("V0", *order("|", 0, 1)), raw(b"")),
        "array-list": array((2,), F8, b"](" + real(1.0) * 2 + b"e"),
        "array-text": array((2,), F8, text("\0" * 16)),
        "array-objects": array((2,), dtype("O", *order("|")), b"](NNe"),
        "array-objects-few": array((10**9,), dtype("O", *order("|")), b"](NNe"),
        "array-objects-raw": array((2,), dtype("O", *order("|")), raw(b"\x41" * 16)),
        "array-objects-hidden": array((2,), dtype("O", *order("|", flags=0)), raw(b"\x41" * 16)),
        "array-objects-field": array(
            (1,),
            dtype("V8", *order("|", 8, 1, names=tup(text("a")), fields=b"}" + text("a") + OBJECT_AT_0 + b"s")),
            raw(b"\x41" * 8),
        ),
        "array-version": array((2,), F8, raw(bytes(16)), version=2**40),
        "array-no-dtype": array((2,), text("f8"), raw(bytes(16))),
        "array-state": array((2,), F8, raw(bytes(16))) + b"K\1b",
        "reconstruct-huge": call(
            "numpy._core.multiarray._reconstruct", glob("numpy.ndarray"), tup(number(10**9)), raw(b"d")
        ),
        "reconstruct-list": call(
            "numpy._core.multiarray._reconstruct", glob("numpy.ndarray"), b"](" + number(10**9) + b"e", raw(b"d")
        ),
        "reconstruct-kind": call(
            "numpy._core.multiarray._reconstruct", glob("numpy.ndarray"), tup(number(0)), text("V2000000000")
        ),
        "reconstruct-other": call(
            "numpy._core.multiarray._reconstruct", glob("numpy.dtype"), tup(number(0)), raw(b"b")
        ),
        "ndarray": call("numpy.ndarray", tup(number(10**9))),
        "ndarray-new": glob("numpy.ndarray") + tup(tup(number(10**9))) + b"\x81",
        "ndarray-list": call("numpy.ndarray", b"](" + number(10**9) + b"e"),
        "ndarray-kind": call("numpy.ndarray", tup(number(0)), text("V2000000000")),
        "scalar": scalar(F8, raw(bytes(8))),
        "scalar-short": scalar(F8, raw(bytes(7))),
        "scalar-nothing": scalar(F8),
        "scalar-void": scalar(dtype("V1900000000", *order("|", 1900000000, 1))),
        "scalar-void-call": scalar(dtype("V1900000000")),
        "scalar-bytes": scalar(dtype("S1900000000", *order("|", 1900000000, 1)), raw(b"a")),
        "scalar-text": scalar(dtype("U400000000", *order("<", 1600000000, 4))),
        "scalar-sub": scalar(call("numpy.dtype", tup(F8, tup(number(10**9))), b"\x89", b"\x88")),
        "scalar-object": scalar(dtype("O", *order("|")), b"N"),
        "scalar-object-raw": scalar(dtype("O", *order("|")), raw(b"\x41" * 8)),
        "dtype-deep": deep,
        "dtype-wide": call("numpy.dtype", wide, b"\x89", b"\x88"),
        "dtype-commas": call("numpy.dtype", text(",".join(["f8"] * 20_000)), b"\x89", b"\x88"),
        "dtype-long": call("numpy.dtype", text("f8" * 100_000), b"\x89", b"\x88"),
        "dtype-state-sizes": dtype("V8", *order("|", 2**31 - 1, 2**31 - 1)),
        "dtype-state-beyond": dtype("V8", *order("|", 2**70, 1)),
        "dtype-state-version": dtype("f8", *order(version=2**31)),
        "dtype-state-mark": dtype("f8", *order("?")),
        "dtype-state-sub": dtype("V8", *order("|", 8, 1, sub=tup(F8, tup(number(10**9))))),
        "dtype-state-names": dtype("V8", *order("|", 8, 1, names=tup(text("a")), fields=b"}")),
        "dtype-state-flags": dtype("f8", *order(flags=2**31)),
    }.items():
        for where in ("plain", "many"):
            whole = pickled(body) if where == "plain" else pickled(b"](" + body * 20 + b"e")
            pickle_case(
                "numpy", f"{name}-{where}", expect=ANY + "|UnpicklingError", reader="numpy", make=lambda w=whole: w
            )
        pickle_case("numpy", name + "-refused", body, make=None)


def _lies():
    """Sparse and nested tensors of real storages, whose indices and tables say what cannot be. Storage 0 has 16 bytes,
    storage 1 the integers 0, 1, 1, 0, 2^40 and storage 2 one 0, which strides of 0 repeat."""
    values = tensor()

    def table(*size):
        return tensor(
            storage("Long", text("1"), count=number(5)),
            number(0),
            tup(*map(number, size)),
            tup(*map(number, (2, 1)[-len(size) :])),
        )

    def many(*size):
        shape, steps = tup(*map(number, size)), tup(*[number(0)] * len(size))
        return tensor(storage("Long", text("2"), count=number(1)), number(0), shape, steps)

    def far(*size):
        """A 2^40."""
        ones = tup(*[number(1)] * len(size))
        return tensor(storage("Long", text("1"), count=number(5)), number(4), ones, ones)

    coo, csr, bsr = (
        call("torch.serialization._get_layout", text("torch.sparse_" + kind)) for kind in ("coo", "csr", "bsr")
    )
    build, nested = "torch._utils._rebuild_sparse_tensor", "torch._utils._rebuild_nested_tensor"

    def jagged(**given):
        return call(
            "torch.nested._internal.nested_tensor._rebuild_njt",
            b"}(" + b"".join(text(k) + v for k, v in given.items()) + b"u",
        )

    two, flags = tup(number(2), number(2)), b"\x88"
    typed = (
        glob("torch.nested._internal.nested_tensor._rebuild_njt"),
        glob("torch.nested._internal.nested_tensor.NestedTensor"),
    )
    return {
        "coo-many-indices": call(build, coo, tup(many(1, 2**40), values, tup(number(2)), b"\x89")),
        "coo-outside": call(
            build, coo, tup(table(2, 2), tensor(size=tup(number(2))), tup(number(1), number(1)), b"\x89")
        ),
        "coo-not-sorted": call(build, coo, tup(table(2, 2), tensor(size=tup(number(2))), two, flags)),
        "csr-many-rows": call(build, csr, tup(many(10**8 + 1), many(0), values, tup(number(10**8), number(2)))),
        "csr-heads": call(build, csr, tup(table(4), table(4), values, tup(number(3), number(2)))),
        "bsr-no-elements": call(
            build,
            bsr,
            tup(
                table(2), many(1), tensor(size=tup(number(1), number(0), number(2)), stride=tup(*[number(1)] * 3)), two
            ),
        ),
        "nested-many-parts": call(nested, values, many(10**7, 1), many(10**7, 1), many(10**7)),
        "nested-outside": call(nested, values, far(1, 1), table(1, 1), many(1)),
        "nested-overlapping": call(
            nested,
            values,
            tensor(storage("Long", text("1"), count=number(5)), number(1), two, tup(number(0), number(0))),
            table(2, 2),
            many(2),
        ),
        "nested-no-tables": call(nested, values, values, values, values),
        "nested-huge": call(
            nested, tensor(size=tup(number(2**40)), stride=tup(number(0))), many(1, 1), many(1, 1), many(1)
        ),
        "jagged-many-parts": jagged(values=values, offsets=many(10**8)),
        "jagged-backwards": jagged(values=values, offsets=table(4)),
        "jagged-outside": jagged(
            values=values,
            offsets=table(2),
            lengths=far(1),
        ),
        "jagged-dim": jagged(values=values, offsets=many(2), _ragged_idx=number(2**40)),
        "jagged-no-values": jagged(offsets=many(2)),
        "jagged-in-itself": put(0) + jagged(values=get(0), offsets=many(2)),
        "jagged-of-a-type": call(
            "torch._tensor._rebuild_from_type_v2",
            *typed,
            tup(b"}(" + text("values") + values + text("offsets") + many(3) + b"u"),
            b"}(" + text("_offsets") + many(2**40) + text("_values") + number(3) + b"u",
        ),
        "jagged-new": typed[1] + tup(values, many(2)) + b"\x81",
        "mark": glob("torch._dynamo.decorators._DimRange") + b")\x81](" + text("x") * 10_000 + b"eb",
    }


def sparse():
    """Sparse and nested tensors."""
    coo, csr = glob("torch.sparse_coo"), glob("torch.sparse_csr")
    for name, body in {
        "coo": call("torch._utils._rebuild_sparse_tensor", coo, tup(b"N", b"N", tup(number(2)), b"\x88")),
        "csr": call("torch._utils._rebuild_sparse_tensor", csr, tup(b"N", b"N", b"N", tup(number(2)))),
        "huge": call("torch._utils._rebuild_sparse_tensor", coo, tup(b"N", b"N", tup(number(2**62)), b"\x88")),
        "dims": call("torch._utils._rebuild_sparse_tensor", coo, tup(b"N", b"N", tup(*[number(1)] * 50_000), b"\x88")),
        "no-layout": call("torch._utils._rebuild_sparse_tensor", number(3), tup()),
        "nested": call("torch._utils._rebuild_nested_tensor", b"N", b"N", b"N", b"N"),
        "layout": coo,
        "layout-by-name": call("torch.serialization._get_layout", text("torch.sparse_coo")),
        "layout-unknown": call("torch.serialization._get_layout", text("torch.sparse_" + "o" * 5000)),
        "layout-int": call("torch.serialization._get_layout", number(3)),
    }.items():
        for reader in ("load", "unsafe"):
            pickle_case("sparse", f"{name}-{reader}", body, expect=ORDINARY, reader=reader)
    records = b"\0" * 16, b"".join(n.to_bytes(8, "little") for n in (0, 1, 1, 0, 2**40)), b"\0" * 8
    for name, body in _lies().items():
        pickle_case("lies", name, body, expect=ORDINARY, records=records, reader="repr")


def pax():
    """Headers of tar files that say more of the next member: lengths, sizes and names that are lies."""
    file = (FILES / "tar.pt").read_bytes()

    def header(kind, data, size=None):
        block = bytearray(512)
        block[:10] = b"PaxHeaders"
        block[100:108], block[108:116], block[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
        block[124:136] = b"%011o\0" % (len(data) if size is None else size)
        block[136:148], block[156:157], block[257:265] = b"00000000000\0", kind, b"ustar\x0000"
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        return bytes(block) + data + bytes(-len(data) % 512)

    def record(key, value):
        body = b" " + key + b"=" + value + b"\n"
        size = len(body) + 1
        while len(str(size)) + len(body) != size:
            size = len(str(size)) + len(body)
        return str(size).encode() + body

    right = record(b"comment", b"right")
    for name, data in {
        "right": header(b"x", right) + file,
        "global": header(b"g", right) + file,
        "solaris": header(b"X", right) + file,
        "size-huge": header(b"x", record(b"size", b"9" * 18)) + file,
        "size-digits": header(b"x", record(b"size", b"9" * 5000)) + file,
        "size-negative": header(b"x", record(b"size", b"-1000000")) + file,
        "size-text": header(b"x", record(b"size", b"many")) + file,
        "size-nothing": header(b"x", record(b"size", b"0")) + file,
        "path": header(b"x", record(b"path", b"pickle")) + file,
        "path-long": header(b"x", record(b"path", b"a/" * 200_000)) + file,
        "path-zero": header(b"x", record(b"path", b"a\0b")) + file,
        "charset": header(b"x", record(b"hdrcharset", b"BINARY") + record(b"path", b"\xff\xfe")) + file,
        "charset-odd": header(b"x", record(b"hdrcharset", b"utf-7")) + file,
        "bytes": header(b"x", record(b"path", b"\xff\xfe\x80")) + file,
        "length-0": header(b"x", b"0 a=b\n") + file,
        "length-big": header(b"x", b"99999999 a=b\n") + file,
        "length-short": header(b"x", b"3 comment=right\n") + file,
        "length-digits": header(b"x", b"9" * 200_000) + file,
        "length-spaces": header(b"x", b"1" * 50_000 + b" " * 50_000 + b"=" * 50_000) + file,
        "no-newline": header(b"x", b"11 a=bbbbbb") + file,
        "equals": header(b"x", record(b"=" * 50_000, b"=" * 50_000)) + file,
        "records": header(b"x", record(b"a", b"b") * 60_000) + file,
        "keys": header(b"x", b"".join(record(b"k%d" % i, b"v") for i in range(40_000))) + file,
        "says-huge": header(b"x", right, 8**11 - 1) + file,
        "says-huge-global": header(b"g", right, 8**11 - 1) + file,
        "name-says-huge": header(b"L", b"storages\0", 8**11 - 1) + file,
        "name-long": header(b"L", b"a" * 500_000) + file,
        "chain": header(b"x", right) * 3000 + file,
        "chain-names": header(b"L", b"storages\0") * 3000 + file,
        "chain-global": header(b"g", right) * 3000 + file,
        "sparse-0.0": header(b"x", record(b"GNU.sparse.size", b"9" * 15) + record(b"GNU.sparse.offset", b"0")) + file,
        "sparse-0.1": header(b"x", record(b"GNU.sparse.map", b"0,1," * 50_000 + b"0,1")) + file,
        "sparse-1.0": header(
            b"x", record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0") + record(b"size", b"100")
        )
        + file,
        "sparse-realsize": header(b"x", record(b"GNU.sparse.realsize", b"9" * 15)) + file,
        "members": header(b"0", b"") * 20_000 + file,
        "members-large": header(b"0", b"", 8**11 - 1) + file,
        "ends": header(b"x", right),
        "nothing-follows": header(b"x", right) + bytes(1024),
    }.items():
        case("pax", name, lambda data=data: data, ORDINARY, "unsafe")
        if "says" in name or name in ("members-large", "chain"):
            case("pax", name + "-path", lambda data=data: data, ORDINARY, "path")
