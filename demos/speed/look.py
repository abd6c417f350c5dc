"""What the speed page shows of the script: the times so far."""

import json

import demo_runner


def answer(question):
    """JSON: device -> name -> ms."""
    return json.dumps(demo_runner.namespace().get("results", {}))
