"""Pieces that hostile files are made of: pickle opcodes, zip archives whose headers lie, old formats, safetensors."""

import functools
import struct
import zlib

PROTO = b"\x80\x02"


def u32(n):
    return struct.pack("<I", n)


def text(s):
    """BINUNICODE."""
    data = s.encode("utf-8", "surrogatepass")
    return b"X" + u32(len(data)) + data


def number(n):
    """An int of any size up to 255 bytes."""
    if -(2**31) <= n < 2**31:
        return b"J" + struct.pack("<i", n)
    data = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def real(x):
    return b"G" + struct.pack(">d", x)


def glob(path):
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def tup(*items):
    return b"(" + b"".join(items) + b"t"


def put(n):
    return b"r" + u32(n)


def get(n):
    return b"j" + u32(n)


def call(path, *args):
    """REDUCE of an allowed function."""
    return glob(path) + tup(*args) + b"R"


ORDERED = glob("collections.OrderedDict") + b")R"


def storage(kind="Float", key=text("0"), location=text("cpu"), count=number(4), word=text("storage")):
    """A persistent id and BINPERSID."""
    return tup(word, glob(f"torch.{kind}Storage"), key, location, count) + b"Q"


def tensor(store=None, offset=number(0), size=tup(number(4)), stride=tup(number(1)), *rest):
    """_rebuild_tensor_v2."""
    tail = rest or (b"\x89", ORDERED)
    return call("torch._utils._rebuild_tensor_v2", store or storage(), offset, size, stride, *tail)


def pickled(*body):
    return PROTO + b"".join(body) + b"."


class Zip:
    """A zip archive; what is said of a record may differ from what it is."""

    def __init__(self, folder="archive"):
        self.folder, self.data, self.entries = folder + "/", b"", []

    def add(self, name, data, deflate=False, **lies):
        """Appends a record. lies: size, packed, offset, method, flags, name, in the directory."""
        stored = data
        if deflate:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            stored = packer.compress(data) + packer.flush()
        facts = {
            "name": self.folder + name,
            "offset": len(self.data),
            "size": len(data),
            "packed": len(stored),
            "method": 8 if deflate else 0,
            "flags": 0x800,
            "extra": b"",
            **lies,
        }
        path = (self.folder + name).encode()
        self.data += (
            struct.pack(
                "<4sHHHHHIIIHH",
                b"PK\3\4",
                20,
                0x800,
                8 if deflate else 0,
                0,
                0,
                zlib.crc32(data),
                len(stored),
                len(data),
                len(path),
                0,
            )
            + path
            + stored
        )
        self.entries.append(facts)
        return self

    def directory(self):
        out = []
        for e in self.entries:
            name, extra = e["name"].encode(), e["extra"]
            fields = [e["packed"], e["size"], e["offset"]]
            if max(fields) >= 2**32 - 1:
                extra = struct.pack("<HHQQQ", 1, 24, e["size"], e["packed"], e["offset"]) + extra
                fields = [2**32 - 1] * 3
            out.append(
                struct.pack(
                    "<4sHHHHHHIIIHHHHHII",
                    b"PK\1\2",
                    20,
                    20,
                    e["flags"],
                    e["method"],
                    0,
                    0,
                    0,
                    fields[0],
                    fields[1],
                    len(name),
                    len(extra),
                    0,
                    0,
                    0,
                    0,
                    fields[2],
                )
                + name
                + extra
            )
        return b"".join(out)

    def bytes(self, count=None, length=None, where=None, zip64=None):
        """The file; the arguments are what its last record says instead of the truth. zip64: (count, length, where)."""
        directory = self.directory()
        n = len(self.entries) if count is None else count
        tail = b""
        if zip64 is not None:
            at = len(self.data) + len(directory)
            tail = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, zip64[0], zip64[0], zip64[1], zip64[2])
            tail += struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
        return (
            self.data
            + directory
            + tail
            + struct.pack(
                "<4sHHHHIIH",
                b"PK\5\6",
                0,
                0,
                n & 0xFFFF,
                n & 0xFFFF,
                len(directory) if length is None else length,
                len(self.data) if where is None else where,
                0,
            )
        )


def checkpoint(pickle, *records, **options):
    """A zip file as torch.save writes it, with this data.pkl and storages 0, 1, ..."""
    file = Zip().add("data.pkl", pickle, **options).add("byteorder", b"little")
    for i, data in enumerate(records):
        file.add(f"data/{i}", data)
    return file.add("version", b"3\n").bytes()


@functools.cache
def deflated_zeros(size):
    """Deflated bytes that stand for so many zeros, made without holding those."""
    packer, block = zlib.compressobj(6, zlib.DEFLATED, -15), bytes(1 << 20)
    return b"".join([packer.compress(block) for _ in range(size >> 20)]) + packer.flush()


def bomb(name, size, say=None, pieces=1):
    """A checkpoint with a deflated record of zeros, or with several."""
    file = Zip()
    if name != "data.pkl":
        file.add("data.pkl", pickled(*[storage("Byte", text(str(i)), count=number(size)) for i in range(pieces)]))
    for i in range(pieces):
        file.add(name.format(i), deflated_zeros(size), method=8, size=size if say is None else say)
    return file.bytes()


def legacy(pickle, keys=None, storages=b"", magic=0x1950A86A20F9469CFC6C, version=1001, facts=None):
    """The format before zip."""
    facts = b"}" + text("little_endian") + b"\x88s" if facts is None else facts
    keys = b"]" if keys is None else keys
    return pickled(number(magic)) + pickled(number(version)) + pickled(facts) + pickle + pickled(keys) + storages


def safetensors(header, data=b"", length=None):
    """A safetensors file; `header` is JSON text or an object."""
    import json

    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data
