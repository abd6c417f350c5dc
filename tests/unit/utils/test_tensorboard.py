"""Event files: their records and messages, read back by a small reader of protocol buffers that is written here."""

import json
import pathlib
import struct
import zlib

import pytest

import torchlite as torch
from torchlite.utils.tensorboard import FileWriter, SummaryWriter
from torchlite.utils.tensorboard._events import checksum


def message(data):
    """{field number: [values]} of a message; nested ones stay bytes."""
    out, at = {}, 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value = data[at : at + size]
            at += size
            if key & 7 != 2:
                (value,) = struct.unpack("<d" if size == 8 else "<f", value)
        out.setdefault(key >> 3, []).append(value)
    return out


def events(folder):
    """The events of all files of a folder, each record's checksums tested."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            size, head = struct.unpack("<QI", data[:12])
            body, (tail,) = data[12 : 12 + size], struct.unpack("<I", data[12 + size : 16 + size])
            assert checksum(data[:8]) == head and checksum(body) == tail
            found.append(message(body))
            data = data[16 + size :]
    return found


def values(folder):
    """[(tag, step, fields of the value)] of a folder."""
    out = []
    for event in events(folder):
        for entry in event.get(5, ()):
            for value in message(entry).get(1, ()):
                fields = message(value)
                out.append((fields[1][0].decode(), event.get(2, [0])[0], fields))
    return out


def test_checksum_is_that_of_the_standard():
    # RFC 3720 B.4: CRC-32C of 32 bytes of zeros is 8a9136aa; TFRecord rotates it by 15 and adds a constant
    crc = 0x8A9136AA
    assert checksum(bytes(32)) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars_and_steps(tmp_path):
    with SummaryWriter(tmp_path) as w:
        for i in range(3):
            w.add_scalar("loss", torch.tensor(0.5) / (i + 1), torch.tensor(i), walltime=10.0 + i)
        w.add_scalar("new", 0.1, 7, new_style=True, double_precision=True)
        w.add_scalars("two", {"a": 1, "b": 2.5}, 3)
    first, *rest = events(tmp_path)
    assert first[3] == [b"brain.Event:2"]
    assert [e[1][0] for e in rest[:3]] == [10.0, 11.0, 12.0]
    got = values(tmp_path)
    assert [(tag, step, v[2][0]) for tag, step, v in got[:3]] == [
        ("loss", 0, 0.5),
        ("loss", 1, 0.25),
        ("loss", 2, pytest.approx(1 / 6)),
    ]
    assert message(got[3][2][8][0])[6] == [0.1]
    assert [(t, s, v[2]) for t, s, v in values(tmp_path / "two_b")] == [("two", 3, [2.5])]


def test_histogram_counts_all_values(tmp_path):
    x = torch.tensor([-3.0, -3.0, 0.0, 0.5, 1e-3, 20.0])
    with SummaryWriter(tmp_path) as w:
        w.add_histogram("h", x, 1)
        w.add_histogram("edges", x, 1, bins=[-5.0, 0.0, 1.0, 20.0, 30.0])
        with pytest.raises(ValueError, match="no element"):
            w.add_histogram("none", torch.zeros(0))
    (_, _, powers), (_, _, edges) = values(tmp_path)

    def lists(fields):
        h = message(fields[5][0])
        return h, *(list(struct.unpack(f"<{len(h[n][0]) // 8}d", h[n][0])) for n in (6, 7))

    h, limits, counts = lists(powers)
    assert [h[n][0] for n in (1, 2, 3, 5)] == [-3.0, 20.0, 6.0, pytest.approx(418.250001)]
    assert sum(counts) == 6 and len(limits) == len(counts) and limits == sorted(limits)
    for low, high, n in zip(limits, limits[1:], counts[1:]):
        assert n == sum(low <= v < high for v in x.tolist())
    # a bucket has its lower edge; the empty one in front says where the first begins
    assert lists(edges)[1:] == ([-5.0, 0.0, 1.0, 20.0, 30.0], [0.0, 2.0, 3.0, 0.0, 1.0])


def decoded(png):
    """Width, height, channels and rows of a PNG file without filters."""
    width, height, _, kind = struct.unpack(">IIBB", png[16:26])
    start = png.index(b"IDAT")
    size = struct.unpack(">I", png[start - 4 : start])[0]
    assert zlib.crc32(png[start : start + 4 + size]) == struct.unpack(">I", png[start + 4 + size : start + 8 + size])[0]
    raw, channels = zlib.decompress(png[start + 4 : start + 4 + size]), {0: 1, 2: 3, 6: 4}[kind]
    line = width * channels + 1
    return width, height, [list(raw[i * line + 1 : (i + 1) * line]) for i in range(height)]


@pytest.mark.parametrize(
    "dataformats, shape", [("CHW", (3, 2, 4)), ("HWC", (2, 4, 3)), ("HW", (2, 4)), ("WHC", (4, 2, 1))]
)
def test_images_in_each_order(tmp_path, dataformats, shape):
    image = torch.arange(float(torch.Size(shape).numel())).reshape(shape) / 24
    with SummaryWriter(tmp_path) as w:
        w.add_image("i", image, dataformats=dataformats)
        w.add_image("bytes", (image * 255).to(torch.uint8), dataformats=dataformats)
        with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
            w.add_image("i", image[0], dataformats=dataformats)
    (_, _, a), (_, _, b) = values(tmp_path)
    fields = message(a[4][0])
    assert fields[1] + fields[2] + fields[3] == [2, 4, 3] and a[4] == b[4]
    full = image if "C" in dataformats else image.unsqueeze(-1)
    order = (dataformats + "C" if "C" not in dataformats else dataformats).index
    pixels = (full.permute(order("H"), order("W"), order("C")) * 255).to(torch.uint8).expand(2, 4, 3)
    assert decoded(fields[4][0]) == (4, 2, pixels.reshape(2, 12).tolist())


def test_several_images_are_a_grid(tmp_path):
    with SummaryWriter(tmp_path) as w:
        w.add_images("i", torch.ones(10, 1, 2, 3))
    fields = message(values(tmp_path)[0][2][4][0])
    width, height, rows = decoded(fields[4][0])
    assert (width, height) == (24, 4)
    assert rows[0] == [255] * 72 and rows[2] == [255] * 18 + [0] * 54


def test_text_sound_curve_layout(tmp_path):
    with SummaryWriter(tmp_path) as w:
        w.add_text("t", "**a**", 2)
        w.add_audio("s", torch.tensor([0.0, 0.5, -1.0]), 2, sample_rate=8000)
        w.add_pr_curve("p", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.6, 0.5]), 2, num_thresholds=5)
        w.add_custom_scalars_multilinechart(["x", "y"])
    text, sound, curve, layout = values(tmp_path)
    assert text[0] == "t/text_summary" and message(text[2][8][0])[8] == [b"**a**"]
    wav = message(sound[2][6][0])
    assert wav[1] == [8000.0] and wav[3] == [3] and struct.unpack("<3h", wav[4][0][-6:]) == (0, 16383, -32767)
    rows = message(curve[2][8][0])[4][0]
    assert struct.unpack("<30f", rows)[:10] == (2, 2, 2, 1, 0, 2, 1, 1, 0, 0)  # true and false positives
    chart = message(message(message(message(layout[2][8][0])[8][0])[2][0])[2][0])
    assert message(chart[2][0])[1] == [b"x", b"y"]


def test_hyperparameters_have_a_run(tmp_path):
    with SummaryWriter(tmp_path) as w:
        w.add_hparams({"lr": 0.1, "opt": "sgd", "nesterov": True}, {"accuracy": 0.5}, {"opt": ["sgd", "adam"]}, "run")
        with pytest.raises(TypeError, match="should be a dictionary"):
            w.add_hparams(None, {})
        with pytest.raises(ValueError, match="should be one of int, float, str, bool"):
            w.add_hparams({"x": []}, {})
    tags = [tag for tag, _, _ in values(tmp_path / "run")]
    assert tags == ["_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "accuracy"]
    start = message(message(message(values(tmp_path / "run")[1][2][9][0])[1][0])[2][0])
    pairs = [message(p) for p in message(start[3][0])[1]]
    assert {p[1][0]: message(p[2][0]) for p in pairs} == {
        b"lr": {2: [0.1]},
        b"opt": {3: [b"sgd"]},
        b"nesterov": {4: [1]},
    }


def test_embedding_for_the_projector(tmp_path):
    with SummaryWriter(tmp_path) as w:
        w.add_embedding(torch.eye(3), ["a", "b", "c"], torch.ones(3, 1, 2, 2), global_step=4)
        with pytest.raises(AssertionError, match="labels"):
            w.add_embedding(torch.eye(3), ["a"])
    folder = tmp_path / "00004" / "default"
    assert (folder / "tensors.tsv").read_text().splitlines()[1] == "0.0\t1.0\t0.0"
    assert (folder / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert decoded((folder / "sprite.png").read_bytes())[:2] == (4, 4)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert json.dumps("00004/default/sprite.png") in config and config.count("single_image_dim: 2") == 2


def test_file_is_written_while_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(FileWriter, "made", 9)  # the next is the tenth: names sort as numbers
    w = SummaryWriter(tmp_path, max_queue=2, purge_step=5, filename_suffix=".x")
    assert [e[7] for e in events(tmp_path) if 7 in e] == []  # held back
    w.add_scalar("a", 1.0)
    assert message(events(tmp_path)[1][7][0])[1] == [1]  # the session starts
    w.flush()
    w.close()
    w.add_scalar("a", 2.0)  # into a new file
    w.close()
    assert [v[2][0] for _, _, v in values(tmp_path)] == [1.0, 2.0]
    assert all(p.name.endswith(".x") for p in tmp_path.iterdir())


def test_what_is_refused_says_so(tmp_path):
    with SummaryWriter(tmp_path) as w:
        for call in (w.add_video, w.add_mesh):
            with pytest.raises(NotImplementedError, match="torchlite"):
                call("t", torch.ones(1))
        with pytest.raises(NotImplementedError, match="does not trace"):
            w.add_graph(torch.nn.Linear(1, 1))
        with pytest.raises(NotImplementedError, match="numpy array or torch tensor are expected"):
            w.add_scalar("t", "x")
