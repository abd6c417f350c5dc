"""What Python and a GPU worker say to each other. `npm run tables` (js_bridge) writes this from
js_bridge/src/api/worker_calls.ts, which says what each thing is; states, read modes and texts are those of the page's
own bridge (bridge.ts, errors.ts)."""

HEAD_BYTES = 64


class Word:
    ANSWER = 0
    KIND = 1
    BYTES = 2
    FAILED = 3
    BACKLOGGED = 4
    EPOCH = 5
    BEAT = 6


class Kind:
    VALUE = 0
    BYTES = 1
    ERROR = 2


class State:
    CLOSED = 0
    READY = 1
    LOST = 2


class ReadMode:
    MAP = 1
    CANVAS = 2
    WORKER = 4


class Text:
    UNOPENED = "WebGPU was not opened yet"
    CLOSED = "WebGPU was closed"
    LOST = "[webgpu] the device was lost (%s); its tensors are gone"
    NO_WORKERS = "workers cannot start workers here"
    WORKER_FAILED = "the GPU worker failed: %s"
    REFUSED = "its script was not loaded; a Content-Security-Policy must allow blob: in worker-src"
    SILENT = "the GPU worker gave no sign of life for %s s"
    UNANSWERED = "the GPU worker gave no answer for %s s"


MOST_POSTED = 64
MOST_BYTES = 67108864
DEFAULTS = {
    "shared": 1048576,
    "tick": 1000,
    "silent": 60,
    "patient": 1800,
}
CALLS = frozenset(
    """
open reset synchronize read times spans check plan claim emptyCache info limit has state reason figures
resetPeaks setBudget setTiming watch notes
""".split()
)
# answered by a message, however long it takes
PROMISED = frozenset("open reset synchronize read times spans".split())
# settings, which the next worker gets as well
KEPT = frozenset("setBudget setTiming watch".split())
# answers where the worker has ended
GONE = {
    "reset": False,
    "times": "[]",
    "spans": '{"kernels":[],"rows":[],"lost":0,"pending":0}',
    "emptyCache": 0,
    "has": False,
    "state": 2,
    "reason": "",
    "figures": "{}",
    "resetPeaks": None,
    "setBudget": None,
    "setTiming": False,
    "watch": 0,
    "notes": "[]",
}
