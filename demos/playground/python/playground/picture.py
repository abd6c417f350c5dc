"""Small PNG pictures of tensors, in data URLs. Only what every browser reads: 8 bits a channel, no interlace."""

import base64
import math
import struct
import zlib

LARGEST = 512  # pixels of a side; a larger picture is thinned out
# viridis (CC0), eleven of its colours
COLOURS = [
    *((68, 1, 84), (72, 36, 117), (65, 68, 135), (53, 95, 141), (42, 120, 142), (33, 145, 140)),
    *((34, 168, 132), (68, 191, 112), (122, 209, 81), (189, 223, 38), (253, 231, 37)),
]


def png(width, height, channels, rows):
    """The bytes of a PNG; `rows` are bytes objects of width * channels."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    kind = {1: 0, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def data_url(data):
    return "data:image/png;base64," + base64.b64encode(data).decode()


def images_in(shape, is_float):
    """(images, channels, height, width) if a tensor of this shape looks like pictures, else None."""
    shape = tuple(shape)
    if len(shape) == 2 and min(shape) >= 6 and max(shape) <= 16 * LARGEST:
        return (1, 1, *shape)
    if len(shape) == 3 and shape[0] in (1, 3, 4) and min(shape[1:]) >= 6:
        return (1, *shape)
    if len(shape) == 4 and shape[1] in (1, 3, 4) and min(shape[2:]) >= 6 and shape[0] > 0:
        return shape
    if len(shape) == 3 and shape[0] > 1 and min(shape[1:]) >= 6 and is_float:
        return (shape[0], 1, *shape[1:])
    return None


def encode(image):
    """One (channels, height, width) tensor as a data URL, and what its colours mean: (url, low, high).

    Channels are colours: uint8 as it is, floats from 0 to 1 or, beyond that, from the least to the greatest. A single
    channel of numbers beyond 0 to 1 is drawn as a map of heat.
    """
    import torch

    step = max(1, math.ceil(max(image.shape[1:]) / LARGEST))
    image = image.detach()[:, ::step, ::step].cpu()
    channels, height, width = image.shape
    if image.dtype == torch.uint8:
        low, high = 0, 255
        scaled = image
    else:
        image = torch.nan_to_num(image.float(), 0.0)
        low, high = image.min().item(), image.max().item()
        if 0 <= low and high <= 1:
            low, high = 0.0, 1.0
        scaled = ((image - low) / ((high - low) or 1) * 255).round().to(torch.uint8)
    if channels == 1 and (low, high) not in ((0, 255), (0.0, 1.0)):
        table = torch.tensor([_colour(i / 255) for i in range(256)], dtype=torch.uint8)
        scaled, channels = table[scaled[0].long()].permute(2, 0, 1), 3
    flat = bytes(scaled.permute(1, 2, 0).reshape(-1).tolist())
    size = width * channels
    rows = [flat[i * size : (i + 1) * size] for i in range(height)]
    return data_url(png(width, height, channels, rows)), low, high


def _colour(share):
    place = share * (len(COLOURS) - 1)
    index = min(int(place), len(COLOURS) - 2)
    part = place - index
    return [round(a + (b - a) * part) for a, b in zip(COLOURS[index], COLOURS[index + 1])]


def read_image(path, gray=False):
    """An image file as a uint8 tensor (3, height, width), or (1, height, width); the browser decodes it."""
    import torch
    from pyodide.ffi import can_run_sync, run_sync

    if not can_run_sync():
        raise RuntimeError("read_image() needs a browser in which Python can wait for the page (JSPI)")
    import playground_page

    with open(path, "rb") as file:
        data = file.read()
    try:
        width, height, pixels = run_sync(playground_page.decode(data))
    except Exception as error:
        raise ValueError(f"{path} is no image that this browser can read: {error}") from None
    image = torch.frombuffer(bytearray(pixels.to_bytes()), dtype=torch.uint8).view(height, width, 4)
    image = image[..., :3].permute(2, 0, 1).contiguous()
    if gray:
        weights = torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)
        image = (image.float() * weights).sum(0, keepdim=True).round().to(torch.uint8)
    return image
