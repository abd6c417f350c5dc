"""What the pitch page asks of the script: what it heard so far, and what it hears in a moment from the microphone."""

import json

import demo_runner
import torch


def answer(question, samples=None):
    """JSON: {done, all, pitches} of the file; {pitches} of samples from the microphone, float32."""
    script = demo_runner.namespace()
    if samples is not None:
        if "hear" not in script:
            return json.dumps({"pitches": []})
        sound = torch.frombuffer(bytearray(samples.to_bytes()), dtype=torch.float32)
        return json.dumps({"pitches": script["hear"](sound, json.loads(question)["hop"]).tolist()})
    done = script.get("done", 0)
    start = json.loads(question).get("start", 0)
    heard = script["pitches"][start:done].tolist() if done > start else []
    return json.dumps({"done": done, "all": script.get("moments", 0), "start": start, "pitches": heard})
