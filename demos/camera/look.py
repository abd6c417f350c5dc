"""What the camera page asks of the script: how far it is, and what it makes of a picture."""

import json
import os
import shutil

import demo_runner


def answer(question, pixels=None):
    """JSON: {done, all, step, loss, right} of the script; {shares} for a picture's pixels, once there is a layer."""
    script = demo_runner.namespace()
    if pixels is not None:
        classify = script.get("classify")
        return json.dumps({"shares": classify(pixels.to_bytes()) if classify else None})
    loss = script.get("loss")
    return json.dumps(
        {
            "done": script.get("done", 0),
            "all": len(script.get("pictures", ())),
            "step": script.get("step"),
            "loss": None if loss is None else loss.item(),
            "right": script.get("right"),
        }
    )


async def clear():
    """Removes what the last run was given."""
    shutil.rmtree("pictures", ignore_errors=True)
    if os.path.exists("head.pt"):
        os.remove("head.pt")
    return "null"
