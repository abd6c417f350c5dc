"""Loads one hostile file and tells what came of it, how long it took, and how much memory."""

import gc
import io
import json
import os
import sys
import time
import warnings

import torchlite as torch
import torchlite._files.legacy
import torchlite._files.unpickler
from torchlite.utils import safetensors

FACTOR, FREE, SECONDS = 4, 64 << 20, 2.0  # the limits: memory by file size, and beside it; time
PYODIDE = sys.platform == "emscripten"


def _numpy():
    """What a user allows for files with arrays; nothing where there is no numpy."""
    try:
        import numpy as np
    except ImportError:
        return []
    kinds = {type(np.dtype(kind)) for kind in ("f8", "i4", "V8", "S1", "U1", "O")}
    return [np._core.multiarray._reconstruct, np._core.multiarray.scalar, np.ndarray, np.dtype, *kinds]


NUMPY = _numpy()


def read(case, data):
    """The outcome: "value", or the exception's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.reader == "safetensors":
                safetensors.load(data)
            elif case.reader == "globals":
                torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
            elif case.reader == "mmap":
                torch.load(_written(data), mmap=True)
            elif case.reader == "path":
                torch.load(_written(data), weights_only=False)
            elif case.reader == "numpy":
                with torch.serialization.safe_globals(NUMPY):
                    repr(torch.load(io.BytesIO(data)))
            else:
                result = torch.load(io.BytesIO(data), weights_only=case.reader != "unsafe")
                if case.reader == "repr":
                    repr(result)
                    str(result)
                del result
        except BaseException as error:
            if len(str(error)) > 10_000:
                return f"{type(error).__name__} with {len(str(error))} characters"
            return type(error).__name__
    return "value"


def _written(data):
    import tempfile

    handle, path = tempfile.mkstemp()
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return path


def measure(case):
    """(bytes of the file, outcome, seconds, bytes of memory) of one case."""
    data = case.make()
    load = _in_pyodide if PYODIDE else _in_child
    outcome, seconds, memory = load(case, data)
    if seconds > SECONDS:  # once more: CPU time, too, is longer where another process shares the core's caches
        seconds = min(seconds, load(case, data)[1])
    return len(data), outcome, seconds, memory


def _in_pyodide(case, data):
    """The heap never shrinks, so its growth is what the file cost beyond what was free before."""
    from js import process
    from pyodide_js import _module

    before, start = _module.HEAP8.length, process.cpuUsage()
    outcome = read(case, data)
    used = process.cpuUsage(start)  # of this process, as in _in_child: the machine may be busy
    return outcome, (used.user + used.system) / 1e6, _module.HEAP8.length - before


def _peaks():
    with open("/proc/self/status") as file:
        facts = dict(line.split(":", 1) for line in file)
    return [int(facts.get(name, "0").split()[0]) << 10 for name in ("VmHWM", "VmPeak")]


def _in_child(case, data):
    """A forked child: it starts with new peaks of resident and of address space, and a crash is its own."""
    receive, send = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            import resource
            import signal

            signal.setitimer(signal.ITIMER_PROF, 20)  # of CPU time: the machine may be busy
            signal.alarm(900)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            linux = os.path.exists("/proc/self/status")
            gc.freeze()  # the tests' own objects: visiting them would copy their pages, at the file's cost
            before = _peaks() if linux else [0, 0]
            resource.setrlimit(resource.RLIMIT_AS, (before[1] + (2 << 30), resource.RLIM_INFINITY))
            start = time.process_time()
            outcome = read(case, data)
            seconds = time.process_time() - start
            after = _peaks() if linux else [0, 0]
            os.write(send, json.dumps([outcome, seconds, max(b - a for a, b in zip(before, after))]).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        text = file.read()
    status = os.waitpid(pid, 0)[1]
    if not text:
        return f"died of {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "died", 60.0, 0
    return json.loads(text)


def wrong(case, size, outcome, seconds, memory):
    """What is wrong with an outcome; empty when nothing is."""
    faults = []
    if outcome not in case.expect.split("|"):
        faults.append(f"ended in {outcome}, expected {case.expect}")
    if memory > FACTOR * size + FREE:
        faults.append(f"took {memory >> 20} MB for a file of {size} bytes")
    if seconds > SECONDS:
        faults.append(f"took {seconds:.1f} s")
    return "; ".join(faults)
