"""What the picture page shows of the script: the network's picture, the large one once it is there."""

import json

import demo_runner
import torch


def answer(question):
    """Bytes: width and height as 16-bit numbers, then red, green, blue and alpha of each pixel."""
    script = demo_runner.namespace()
    picture = script.get("large", script.get("drawn"))
    if picture is None:
        return json.dumps(None)
    height, width, _ = picture.shape
    rgba = torch.cat([picture, torch.full((height, width, 1), 255, dtype=torch.uint8)], dim=2)
    size = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    return size + bytes(rgba.flatten().tolist())
