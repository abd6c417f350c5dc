"""Archives of other versions, several objects in one old file, and odd lists of allowed classes, beside PyTorch."""

import re

import pytest

import torchlite
from alike import alike, cases, outcome, torch

REWRITE = (
    "import io, zipfile; b = io.BytesIO(); torch.save(torch.ones(2), b); "
    "z = zipfile.ZipFile(b); o = io.BytesIO(); "
    "w = zipfile.ZipFile(o, 'w'); "
    "[w.writestr(n, {} if n.endswith('/version') else z.read(n)) for n in z.namelist()]; "
    "w.close(); o.seek(0); torch.load(o)"
)


@pytest.mark.parametrize("version", ["b'1'", "b'10\\n'", "b'99\\n'", "b'0'", "b'abc'", "b''"])
def test_versions_of_archives(version):
    line = REWRITE.format(version)
    got, want = ([re.sub(r"\[enforce .*?\] \. ", "", repr(outcome(lib, line)))] for lib in (torchlite, torch))
    assert got == want


SIZED = (
    "import io, zipfile; b = io.BytesIO(); torch.save(torch.ones(2), b); z = zipfile.ZipFile(b); o = io.BytesIO(); "
    "w = zipfile.ZipFile(o, 'w'); "
    "[w.writestr(n, z.read(n)[:3] * {} if n.endswith('/0') else z.read(n)) for n in z.namelist()]; "
    "w.close(); o.seek(0); torch.load(o)"
)


@pytest.mark.parametrize("parts", [1, 3])
def test_bytes_of_another_number(parts):
    alike(SIZED.format(parts))


OLD = "import io; b = io.BytesIO(); s = lambda x: torch.save(x, b, _use_new_zipfile_serialization=False); "


@cases("""
s(torch.ones(2)); s([torch.zeros(3)]); b.seek(0); torch.load(b), torch.load(b)
b.write(b"abc"); s({"a": torch.zeros(3)}); s(3); b.seek(3); torch.load(b, map_location="cpu"), torch.load(b)
s(torch.ones(2)); b.write(b"more"); b.seek(0); torch.load(b), b.read()
s({"a": torch.eye(3).to_sparse(), "b": torch.ones(2)}); b.seek(0); torch.load(b)
s(torch.eye(3).to_sparse_csr()); b.seek(0); torch.load(b, weights_only=False, map_location="cpu")
""")
def test_one_old_file_holds_several_objects(line):
    alike(OLD + line)


def test_nested_tensor_of_an_old_file():
    """PyTorch reads the sizes before they are there, too, and fails."""
    line = OLD + "s(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])); b.seek(0); torch.load(b).unbind()"
    kind, parts = outcome(torchlite, line)[0]
    assert kind == "tuple" and [p[1] for p in parts] == [["1"] * 2, ["1"] * 3]


@cases("""
b = io.BytesIO(); torch.save({"a": 1}, b); b.seek(0); torch.load(b)
b = io.BytesIO(); torch.save(fractions.Fraction(1, 2), b); b.seek(0); torch.load(b)
""")
def test_what_has_no_name_is_allowed_in_vain(line):
    allow, forget = "torch.serialization.add_safe_globals([3])", "torch.serialization.clear_safe_globals()"
    try:
        alike(f"import io, fractions; {allow}; {line}")
    finally:
        for lib in (torchlite, torch):
            outcome(lib, forget)
