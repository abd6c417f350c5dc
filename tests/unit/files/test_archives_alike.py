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


OLD = "import io; b = io.BytesIO(); s = lambda x: torch.save(x, b, _use_new_zipfile_serialization=False); "


@cases("""
s(torch.ones(2)); s([torch.zeros(3)]); b.seek(0); torch.load(b), torch.load(b)
b.write(b"abc"); s({"a": torch.zeros(3)}); s(3); b.seek(3); torch.load(b, map_location="cpu"), torch.load(b)
s(torch.ones(2)); b.write(b"more"); b.seek(0); torch.load(b), b.read()
""")
def test_one_old_file_holds_several_objects(line):
    alike(OLD + line)


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
