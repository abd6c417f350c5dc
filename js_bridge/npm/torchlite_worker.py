"""Scripts in the worker of the npm package: the demo pages' runner, and what a script leaves behind."""

import demo_runner as runner
from demo_runner import find_gpu, predict, prepare, setup

__all__ = ["find_gpu", "namespace", "predict", "prepare", "run", "setup"]


def run(source, name, device, breathe):
    """Runs a script; returns JSON {status, traceback, line}."""
    return runner.run(source, name, device, breathe)


def namespace():
    """The names of the script that ran last."""
    return runner._globals
