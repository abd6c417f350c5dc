"""The operators of torchvision's image library, torch.ops.image: files and their formats, by Pillow."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

import torchlite as torch
from torchlite._core.checks import _check

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # of ImageReadMode; also of the number of channels
SIGNATURES = {
    b"\xff\xd8\xff": "jpeg",
    b"\x89PNG": "png",
    b"GIF89a": "gif",
    b"GIF87a": "gif",
    b"RIFF": "webp",
}


def read_file(filename: str) -> Any:
    if not os.path.exists(filename):
        raise RuntimeError("[Errno 2] No such file or directory: '%s'" % filename)
    if os.path.getsize(filename) == 0:
        raise RuntimeError("Expected a non empty file")
    with open(filename, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)


def write_file(filename: str, data: Any) -> None:
    _check(data.device.type == "cpu", lambda: "Input tensor should be on CPU")
    _check(data.dtype == torch.uint8, lambda: "Input tensor dtype should be uint8")
    _check(data.dim() == 1, lambda: "Input data should be a 1-dimensional tensor")
    with open(filename, "wb") as file:
        file.write(raw(data))


def raw(data: Any) -> bytes:
    return memoryview(data.detach().cpu().clone(memory_format=torch.contiguous_format).untyped_storage()).tobytes()


def check_encoded(data: Any) -> bytes:
    _check(data.is_contiguous(), lambda: "Input tensor must be contiguous.")
    _check(data.dtype == torch.uint8, lambda: "Input tensor must have uint8 data type, got %s" % name(data))
    _check(
        data.dim() == 1 and data.numel() > 0,
        lambda: (
            "Input tensor must be 1-dimensional and non-empty, got %d dims  and %d numels." % (data.dim(), data.numel())
        ),
    )
    _check(data.device.type == "cpu", lambda: "Input tensor must be on CPU")
    return raw(data)


def name(tensor: Any) -> str:
    return tensor.dtype._scalar_type.lower()


def opened(data: bytes, kind: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise RuntimeError("torchvision.io reads and writes images with Pillow here: install pillow") from None
    try:
        return Image.open(io.BytesIO(data), formats=[kind.upper()])
    except Exception as error:
        if "runcated" in str(error):
            raise RuntimeError("Image is incomplete or truncated") from None
        raise RuntimeError("%s: the data is no valid image: %s" % (kind, error)) from None


def loaded(image: Any) -> Any:
    try:
        image.load()
    except Exception as error:
        raise RuntimeError("the image's data is damaged: %s" % error) from None
    return image


def tensor_of(image: Any) -> Any:
    """(C, H, W), in memory as Pillow has it: channels last."""
    flat = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return flat.view(image.height, image.width, -1).permute(2, 0, 1)


def channels_last(pixels: Any) -> Any:
    return pixels.movedim(-3, -1).contiguous().movedim(-1, -3)


def turned(image: Any, tensor: Any, wanted: bool) -> Any:
    """As the camera was held: EXIF's orientation."""
    orientation = image.getexif().get(0x0112, 1) if wanted else 1
    if orientation in (5, 6, 7, 8):
        tensor = tensor.transpose(1, 2)
    flips = {2: [2], 3: [1, 2], 4: [1], 6: [2], 7: [1, 2], 8: [1]}.get(orientation)
    return tensor.flip(flips) if flips else tensor


def grey(pixels: Any) -> Any:
    """libpng's weights for grey, with its 15 bits."""
    red, green, blue = (pixels[i].to(torch.int32) for i in range(3))
    return (red * 9794 + green * 19234 + blue * 3740) >> 15


def decode_png(data: Any, mode: int, apply_exif_orientation: bool = False) -> Any:
    image = loaded(opened(check_encoded(data), "png"))
    wide = image.mode.startswith("I")  # 16 bits
    if wide:
        values = torch.frombuffer(bytearray(image.convert("I").tobytes()), dtype=torch.int32)
        pixels = values.view(image.height, image.width, 1).permute(2, 0, 1)
    else:
        if image.mode == "P" and mode != 0:  # UNCHANGED are the numbers of the colours
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        elif image.mode == "1":
            image = image.convert("L")
        elif image.mode != "P" and "transparency" in image.info:
            image = image.convert("LA" if image.mode == "L" else "RGBA")
        pixels = tensor_of(image)
    out = turned(image, as_mode(pixels, mode, 65535 if wide else 255), apply_exif_orientation)
    return out.to(torch.uint16) if wide else out


def as_mode(pixels: Any, mode: int, most: int) -> Any:
    """Pixels (C, H, W) with the channels of an ImageReadMode."""
    if mode == 0:
        return pixels
    _check(mode in MODES, lambda: "The provided mode is not supported for PNG files")
    colour, alpha = pixels, torch.full_like(pixels[:1], most)
    if pixels.size(0) in (2, 4):
        colour, alpha = pixels[:-1], pixels[-1:]
    if mode in (1, 2) and colour.size(0) == 3:
        colour = grey(colour)[None].to(pixels.dtype)
    if mode in (3, 4) and colour.size(0) == 1:
        colour = colour.expand(3, -1, -1)
    return channels_last(torch.cat([colour, alpha]) if mode in (2, 4) else colour)


def decode_jpeg(data: Any, mode: int, apply_exif_orientation: bool = False) -> Any:
    image = opened(check_encoded(data), "jpeg")
    _check(mode in (0, 1, 3), lambda: "The provided mode is not supported for JPEG files")
    if mode == 1:
        image.draft("L", None)  # the brightness that the file itself holds
    loaded(image)
    pixels = tensor_of(image.convert(MODES[mode]) if mode else image)
    if image.mode == "CMYK" and mode == 0:
        pixels = 255 - pixels  # Pillow turns Adobe's inverted colours back
    return turned(image, pixels, apply_exif_orientation)


def decode_webp(data: Any, mode: int) -> Any:
    image = loaded(opened(check_encoded(data), "webp"))
    if mode in (1, 2):
        warnings.warn(
            "Webp does not support grayscale conversions. The returned tensor will be in the colorspace of the "
            "original image.",
            stacklevel=2,
        )
    if mode in (3, 4) and image.mode != MODES[mode]:
        image = image.convert(MODES[mode])
    return tensor_of(image)


def decode_gif(data: Any) -> Any:
    image = opened(check_encoded(data), "gif")
    frames = []
    for i in range(getattr(image, "n_frames", 1)):
        image.seek(i)
        frames.append(tensor_of(image.convert("RGB")))
    return frames[0] if len(frames) == 1 else channels_last(torch.stack(frames))


def decode_image(data: Any, mode: int, apply_exif_orientation: bool = False) -> Any:
    _check(data.dim() == 1 and data.numel() > 0, lambda: "Expected a non empty 1-dimensional tensor")
    start = check_encoded(data)[:16]
    kind = next((kind for signature, kind in SIGNATURES.items() if start.startswith(signature)), None)
    if kind == "jpeg":
        return decode_jpeg(data, mode, apply_exif_orientation)
    if kind == "png":
        return decode_png(data, mode, apply_exif_orientation)
    if kind == "gif":
        return decode_gif(data)
    if kind == "webp":
        return decode_webp(data, mode)
    raise RuntimeError(
        "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic format, "
        "please rely on `decode_avif` and `decode_heic` directly."
    )


def encoded(image: Any, kind: str, **options: Any) -> Any:
    _check(image.device.type == "cpu", lambda: "Input tensor should be on CPU")
    _check(image.dtype == torch.uint8, lambda: "Input tensor dtype should be uint8")
    _check(image.dim() == 3, lambda: "Input data should be a 3-dimensional tensor")
    _check(
        image.size(0) in (1, 3),
        lambda: "The number of channels should be 1 or 3, got: %d" % image.size(0),
    )
    try:
        from PIL import Image
    except ImportError:
        raise RuntimeError("torchvision.io reads and writes images with Pillow here: install pillow") from None
    size = (image.size(2), image.size(1))
    made = Image.frombytes(MODES[image.size(0)], size, raw(image.permute(1, 2, 0)))
    out = io.BytesIO()
    made.save(out, kind, **options)
    return torch.frombuffer(bytearray(out.getvalue()), dtype=torch.uint8)


def encode_png(data: Any, compression_level: int) -> Any:
    _check(0 <= compression_level <= 9, lambda: "Compression level should be between 0 and 9")
    return encoded(data, "PNG", compress_level=compression_level)


def encode_jpeg(data: Any, quality: int) -> Any:
    _check(1 <= quality <= 100, lambda: "Image quality should be a positive number between 1 and 100")
    return encoded(data, "JPEG", quality=quality)


def on_cuda(*args: Any) -> Any:
    raise RuntimeError("torchlite has no CUDA: decode and encode images on the CPU")


OPERATORS: dict[str, Any] = {
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> ()": write_file,
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_png,
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_jpeg,
    "decode_webp(Tensor encoded_data, int mode) -> Tensor": decode_webp,
    "decode_gif(Tensor data) -> Tensor": decode_gif,
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_image,
    "encode_png(Tensor data, int compression_level) -> Tensor": encode_png,
    "encode_jpeg(Tensor data, int quality) -> Tensor": encode_jpeg,
    "decode_jpegs_cuda(Tensor[] encoded_images, int mode, Device device) -> Tensor[]": on_cuda,
    "encode_jpegs_cuda(Tensor[] decoded_images, int quality) -> Tensor[]": on_cuda,
    "_jpeg_version() -> int": lambda: 80,
    "_is_compiled_against_turbo() -> bool": lambda: True,
}

library = torch.library.Library("image", "FRAGMENT")
for schema, kernel in OPERATORS.items():
    library.impl(library.define(schema), kernel, "CompositeExplicitAutograd")
