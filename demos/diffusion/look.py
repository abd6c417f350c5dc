"""What the diffusion page shows of the script: the digits as they are now, or one drawn for the visitor."""

import json

import demo_runner


def answer(question):
    """JSON: shown, the pictures as rows of 64 numbers from 0 to 255; or frames, the same for one digit step by step."""
    digit = json.loads(question).get("digit")
    script = demo_runner.namespace()
    if digit is not None:
        return json.dumps({"frames": [_grey(picture) for picture in script["draw"]([digit])]})
    if "shown" not in script:
        return json.dumps(None)
    return json.dumps({"shown": _grey(script["shown"]), "step": script.get("step", 0)})


def _grey(pictures):
    return ((pictures.clamp(-1, 1) + 1) * 127.5).round().int().tolist()
