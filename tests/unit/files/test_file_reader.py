"""The records of torch.save's files by name, as lightning's lazy loading reads them."""

import io

import pytest

import torchlite as torch


@pytest.mark.parametrize("by_path", (True, False))
def test_records_are_read(tmp_path, by_path):
    file = tmp_path / "a.pt"
    torch.save({"a": torch.arange(5.0)}, file)
    reader = torch.PyTorchFileReader(str(file) if by_path else io.BytesIO(file.read_bytes()))
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1")
    assert (reader.get_record_size("data/0"), reader.get_record_offset("data/0") % 64) == (20, 0)
    assert len(reader.serialization_id()) == 40 and reader.get_record("version") == b"3\n"
    empty = reader.get_storage_from_record("data/0", 5, torch.float32)
    assert empty.shape == (0,) and torch.empty(0).set_(empty.untyped_storage(), 0, (5,)).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="does not match expected size"):
        reader.get_storage_from_record("data/0", 6, torch.float32)
    with pytest.raises(RuntimeError, match="failed locating file"):
        reader.get_record("data/1")


def test_what_is_written_can_be_read(tmp_path):
    for place in (str(tmp_path / "b.pt"), io.BytesIO()):
        writer = torch._C.PyTorchFileWriter(place)
        writer.write_record("hello", b"abcdef", 4)
        writer.write_record("data/0", torch.arange(3.0).untyped_storage(), 12)
        with pytest.raises(RuntimeError, match="file twice"):
            writer.write_record("hello", b"", 0)
        writer.write_end_of_file()
        if not isinstance(place, str):
            place.seek(0)
        reader = torch.PyTorchFileReader(place)
        assert set(reader.get_all_records()) == writer.get_all_written_records()
        assert reader.get_record("hello") == b"abcd"
        assert reader.get_storage_from_record("data/0", 3, torch.float32).untyped_storage().nbytes() == 12
