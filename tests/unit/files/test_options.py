"""What torch.serialization's setters change in files, beside PyTorch."""

import pytest
from alike import alike, cases

HEAD = "import io, mmap, tempfile, zipfile; s = torch.serialization\n"


@cases("""
(s.get_default_load_endianness(), s.get_crc32_options(), s.get_default_mmap_options())
s.set_default_load_endianness('big')
[str(e) for e in s.LoadEndianness]
s.set_default_mmap_options(7)
with s.set_default_mmap_options(mmap.MAP_SHARED): r = s.get_default_mmap_options()
(r, s.get_default_mmap_options())
s.set_default_load_endianness(s.LoadEndianness.BIG); r = str(s.get_default_load_endianness());
    s.set_default_load_endianness(None); r
""")
def test_values(line):
    alike(HEAD + line)


@pytest.mark.parametrize("on", [True, False])
def test_files_without_checksums_load(on):
    alike(
        HEAD
        + f"s.set_crc32_options({on}); b = io.BytesIO(); torch.save(torch.arange(3), b); s.set_crc32_options(True)\n"
        "b.seek(0); z = zipfile.ZipFile(b).testzip()\nb.seek(0); torch.load(b), z"
    )


def test_shared_maps_write_the_file():
    alike(
        HEAD + "f = tempfile.NamedTemporaryFile(); torch.save({'w': torch.ones(3)}, f.name)\n"
        "with s.set_default_mmap_options(mmap.MAP_SHARED): torch.load(f.name, mmap=True)['w'].zero_()\n"
        "a = torch.load(f.name)\ntorch.load(f.name, mmap=True)['w'].fill_(5)\na, torch.load(f.name)"
    )


@pytest.mark.parametrize("order", ["LITTLE", "BIG", "NATIVE", None])
def test_files_that_do_not_say_their_order(order):
    value = f"s.LoadEndianness.{order}" if order else "None"
    alike(
        HEAD + "b, c = io.BytesIO(), io.BytesIO(); torch.save(torch.tensor([1, 256], dtype=torch.int16), b)\n"
        "with zipfile.ZipFile(b) as old, zipfile.ZipFile(c, 'w') as new:\n"
        "    for n in old.namelist():\n"
        "        if 'byteorder' not in n: new.writestr(n, old.read(n))\n"
        f"c.seek(0); s.set_default_load_endianness({value}); t = torch.load(c); s.set_default_load_endianness(None); t"
    )
