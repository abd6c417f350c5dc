"""Summaries for TensorBoard: the entries of an event file. Each function returns Summary objects for a FileWriter.

Numbers may be tensors of any device, numpy arrays, or Python numbers; images are uint8 in 0..255 or floats in 0..1.
"""

from __future__ import annotations

import io
import json
import math
import struct
import wave
import zlib
from typing import Any, Sequence

import torchlite as torch

from ._events import BYTES, DOUBLE, FLOAT, VARINT, Summary, doubles, field, message

_DT_FLOAT, _DT_DOUBLE, _DT_STRING = 1, 2, 7
_SCALARS = 1  # SummaryMetadata's data class


def tensor_of(x: Any) -> Any:
    """A tensor on the CPU without a history."""
    if not isinstance(x, torch.Tensor):
        if not isinstance(x, (bool, int, float)) and not hasattr(x, "__array__"):
            raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
        x = torch.as_tensor(x)
    return x.detach().cpu()


def number_of(x: Any) -> float:
    """One number, of a tensor or an array with one element."""
    if isinstance(x, (bool, int, float)):
        return float(x)
    t = tensor_of(x)
    if t.numel() != 1:
        raise AssertionError("scalar should be 0D")
    return float(t.item())


def _bytes(t: Any) -> bytes:
    return bytes(t.clone(memory_format=torch.contiguous_format).untyped_storage())


def _value(tag: str, *fields: bytes) -> Summary:
    return Summary([message(field(1, BYTES, tag), *fields)])


def _metadata(plugin: str, content: bytes = b"", data_class: int = 0) -> bytes:
    data = message(field(1, BYTES, plugin), field(2, BYTES, content) if content else b"")
    return field(9, BYTES, message(field(1, BYTES, data), field(4, VARINT, data_class) if data_class else b""))


def _shape(sizes: Sequence[int]) -> bytes:
    return field(2, BYTES, b"".join(field(2, BYTES, field(1, VARINT, n)) for n in sizes))


def _text(text: str | bytes, shape: Sequence[int]) -> bytes:
    return field(8, BYTES, message(field(1, VARINT, _DT_STRING), _shape(shape), field(8, BYTES, text)))


def _floats(t: Any) -> bytes:
    return field(
        8, BYTES, message(field(1, VARINT, _DT_FLOAT), _shape(t.shape), field(4, BYTES, _bytes(t.to(torch.float32))))
    )


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Summary:
    """One number: a float32 field, or with new_style a tensor of float32, with double_precision of float64."""
    value = number_of(tensor)
    if not new_style:
        return _value(name, field(2, FLOAT, _float32(value)))
    kind, number, wire = (_DT_DOUBLE, 6, DOUBLE) if double_precision else (_DT_FLOAT, 5, FLOAT)
    proto = message(field(1, VARINT, kind), field(number, wire, value if double_precision else _float32(value)))
    return _value(name, field(8, BYTES, proto), _metadata("scalars", data_class=_SCALARS))


def _float32(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32)) if math.isfinite(value) else value


def tensor_proto(tag: str, tensor: Any) -> Summary:
    """A tensor of float32, whatever its shape."""
    return _value(tag, _floats(tensor_of(tensor)))


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Summary:
    """A histogram whose counts are known: bucket_limits are the upper edges."""
    numbers = (float(v) for v in (min, max, num, sum, sum_squares))
    head = message(*(field(i + 1, DOUBLE, v) for i, v in enumerate(numbers)))
    return _value(
        name,
        field(5, BYTES, head + doubles(6, map(float, bucket_limits)) + doubles(7, map(float, bucket_counts))),
    )


def default_bins() -> list[float]:
    """TensorBoard's own edges: powers of 1.1 from 1e-12 to 1e20, both signs, and 0."""
    edges, v = [], 1e-12
    while v < 1e20:
        edges.append(v)
        v *= 1.1
    return [-e for e in reversed(edges)] + [0.0] + edges


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """Counts of values between the edges `bins` (a list or tensor of them, or their number).
    With max_bins, len(bins) // max_bins neighbours are put together."""
    x = tensor_of(values).reshape(-1).double()
    if not x.numel():
        raise ValueError("The input has no element.")
    if isinstance(bins, (str, int)):
        lo, hi = float(x.min()), float(x.max())
        if lo == hi:
            lo, hi = lo - 0.5, hi + 0.5
        number = bins if isinstance(bins, int) else max(1, math.ceil(math.log2(x.numel()) + 1))
        edges = torch.linspace(lo, hi, number + 1, dtype=torch.float64)
    else:
        edges = torch.as_tensor(bins, dtype=torch.float64)
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    at = torch.searchsorted(edges, inside, right=True).clamp_(max=edges.numel() - 1) - 1  # the last edge is inside
    counts = torch.bincount(at, minlength=edges.numel() - 1).tolist()
    limits = edges.tolist()
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        counts = [sum(counts[i : i + together]) for i in range(0, len(counts), together)]
        limits = [*limits[:-1:together], limits[-1]]
    filled = [i for i, n in enumerate(counts) if n]
    if not filled:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = filled[0], filled[-1]
    return histogram_raw(  # an empty bucket on the left says where the first one begins
        name,
        float(x.min()),
        float(x.max()),
        x.numel(),
        float(x.sum()),
        float(x.dot(x)),
        limits[first : last + 2],
        [0, *counts[first : last + 1]],
    )


def _pixels(tensor: Any, dataformats: str) -> Any:
    """[H, W, C] of uint8; several images are laid out as a grid of at most eight columns."""
    t = tensor_of(tensor)
    letters = dataformats.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(f"The dimension shorthand should not have repeated letters. input_format: {dataformats}")
    if t.dim() != len(letters):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {tuple(t.shape)}, "
            f"input_format: {dataformats}"
        )
    t = t if t.dtype == torch.uint8 else (t.float() * 255).clamp_(0, 255).to(torch.uint8)
    for letter in "NC":
        if letter not in letters:
            t, letters = t.unsqueeze(0), letter + letters
    t = t.permute([letters.index(letter) for letter in "NHWC"])
    if t.shape[3] == 1:
        t = t.expand(-1, -1, -1, 3)
    n, h, w, c = t.shape
    columns = min(n, 8)
    grid = t.new_zeros(-(-n // columns) * h, columns * w, c)
    for i in range(n):
        y, x = i // columns * h, i % columns * w
        grid[y : y + h, x : x + w] = t[i]
    return grid


def sprite(images: Any) -> Any:
    """A square of small images [N, C, H, W], row by row: [H, W, C] of uint8."""
    n, c, h, w = images.shape
    side = math.ceil(math.sqrt(n))
    t = images if images.dtype == torch.uint8 else (images.float() * 255).clamp_(0, 255).to(torch.uint8)
    padded = torch.cat([t, t.new_zeros(side * side - n, c, h, w)])
    return padded.view(side, side, c, h, w).permute(0, 3, 1, 4, 2).reshape(side * h, side * w, c)


def png(pixels: Any) -> bytes:
    """A PNG file of [H, W, C] bytes with 1 to 4 channels."""
    h, w, c = pixels.shape
    data = _bytes(pixels)
    rows = b"".join(b"\0" + data[i : i + w * c] for i in range(0, len(data), w * c))

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", w, h, 8, (0, 4, 2, 6)[c - 1], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """An image, or several in a grid. dataformats: an order of N, C, H and W, of which N and C may be left out."""
    pixels = _pixels(tensor, dataformats)
    if rescale != 1:
        size = [max(1, int(n * rescale)) for n in pixels.shape[:2]]
        scaled = torch.nn.functional.interpolate(pixels.permute(2, 0, 1)[None].float(), size, mode="area")
        pixels = scaled[0].permute(1, 2, 0).round().to(torch.uint8)
    h, w, c = pixels.shape
    return _value(
        tag,
        field(
            4,
            BYTES,
            message(field(1, VARINT, h), field(2, VARINT, w), field(3, VARINT, c), field(4, BYTES, png(pixels))),
        ),
    )


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel, samples in -1..1, as 16-bit PCM."""
    x = tensor_of(tensor).squeeze()
    if x.numel() and float(x.abs().max()) > 1:
        print("warning: audio amplitude out of range, auto clipped.")
    if x.dim() != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(_bytes((x.double().clamp(-1, 1) * 32767).to(torch.int16)))
    fields = message(
        field(1, FLOAT, sample_rate),
        field(2, VARINT, 1),
        field(3, VARINT, x.numel()),
        field(4, BYTES, file.getvalue()),
        field(5, BYTES, "audio/wav"),
    )
    return _value(tag, field(6, BYTES, fields))


def text(tag: str, text: str) -> Summary:
    """A text, shown as Markdown."""
    return _value(tag + "/text_summary", _text(text, [1]), _metadata("text"))


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Summary:
    """A precision-recall curve whose six rows are known."""
    rows = torch.stack([tensor_of(r).float() for r in (tp, fp, tn, fn, precision, recall)])
    content = field(2, VARINT, min(num_thresholds, 127))
    return _value(tag, _floats(rows), _metadata("pr_curves", content))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """A precision-recall curve of binary labels and of predictions in 0..1."""
    number = min(num_thresholds, 127)  # what TensorBoard shows
    y, p = tensor_of(labels).reshape(-1).double(), tensor_of(predictions).reshape(-1).double()
    w = torch.ones_like(y) if weights is None else tensor_of(weights).double() * torch.ones_like(y)
    at = (p * (number - 1)).floor().long()

    def above(counts: Any) -> Any:
        return torch.bincount(at, counts, number).flip(0).cumsum(0).flip(0)

    tp, fp = above(y * w), above((1 - y) * w)
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    return pr_curve_raw(
        tag, tp, fp, tn, fn, tp / (tp + fp).clamp(min=least), tp / (tp + fn).clamp(min=least), number, weights
    )


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Summary:
    """Which scalars share a chart: {category: {title: ["Multiline" or "Margin", tags]}}."""
    categories = []
    for category, charts in layout.items():
        shown = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Margin charts should have 3 tags, got {len(tags)}")
                series = message(*(field(i + 1, BYTES, tag) for i, tag in enumerate(tags)))
                content = field(3, BYTES, field(1, BYTES, series))
            else:
                content = field(2, BYTES, b"".join(field(1, BYTES, tag) for tag in tags))
            shown.append(field(2, BYTES, field(1, BYTES, title) + content))
        categories.append(field(2, BYTES, field(1, BYTES, category) + b"".join(shown)))
    return _value("custom_scalars__config__", _text(b"".join(categories), []), _metadata("custom_scalars"))


def _hparam(v: Any) -> tuple[int, bytes]:
    """The data type of a hyperparameter, and its value as a message."""
    if isinstance(v, bool):
        return 2, field(4, VARINT, v)
    if isinstance(v, str):
        return 1, field(3, BYTES, v)
    if isinstance(v, (int, float)):
        return 3, field(2, DOUBLE, v)
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def hparams(
    hparam_dict: dict[str, Any] | None = None,
    metric_dict: dict[str, Any] | None = None,
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Summary, Summary, Summary]:
    """The three entries that tell TensorBoard of one run: its experiment, its start and its end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    assert hparam_dict is not None and metric_dict is not None
    domains = hparam_domain_discrete or {}
    for name, values in domains.items():
        if (
            name not in hparam_dict
            or not isinstance(values, list)
            or not all(isinstance(v, type(hparam_dict[name])) for v in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
    infos, starts = [], []
    for name, v in hparam_dict.items():
        if v is None:
            continue
        kind, encoded = _hparam(v.item() if isinstance(v, torch.Tensor) else v)
        listed = b"".join(field(1, BYTES, _hparam(d)[1]) for d in domains.get(name, ()))
        domain = field(5, BYTES, listed) if name in domains else b""
        infos.append(field(4, BYTES, field(1, BYTES, name) + field(4, VARINT, kind) + domain))
        starts.append(field(1, BYTES, field(1, BYTES, name) + field(2, BYTES, encoded)))
    metrics = [field(5, BYTES, field(1, BYTES, field(2, BYTES, name))) for name in metric_dict]

    def entry(tag: str, number: int, content: bytes) -> Summary:
        return _value("_hparams_/" + tag, _metadata("hparams", field(number, BYTES, content)))

    return (
        entry("experiment", 2, b"".join(infos + metrics)),
        entry("session_start_info", 3, b"".join(starts)),
        entry("session_end_info", 4, field(1, VARINT, 1)),  # success
    )


def _refused(name: str, why: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.utils.tensorboard.summary.{name}: {why}")

    refuse.__name__ = name
    return refuse


video = _refused("video", "torchlite encodes no video; add_images shows its frames")
mesh = _refused("mesh", "torchlite writes no meshes")
image_boxes = _refused("image_boxes", "torchlite draws no boxes; draw them into the image")


def projector(tensors: str, metadata: str, sprite: str, size: tuple[int, int], tag: str) -> str:
    """One embedding in the projector's configuration, a text."""
    lines = [f"tensor_name: {json.dumps(tag)}", f"tensor_path: {json.dumps(tensors)}"]
    if metadata:
        lines.append(f"metadata_path: {json.dumps(metadata)}")
    if sprite:
        lines += ["sprite {", f"image_path: {json.dumps(sprite)}"]
        lines += [f"single_image_dim: {n}" for n in size] + ["}"]
    return "embeddings {\n" + "\n".join(lines) + "\n}\n"
