"""The Python side of the demo pages: runs a script as `python script.py` would, and lets the page in now and then.

The script is not touched. Four things happen around it:
* at the loop jumps of the script's own code (`sys.monitoring`) Python yields to the browser, some ten times a second,
  so that a Stop or a drawing that came in by message is seen;
  without JSPI this is not possible and the page falls back to the interrupt byte, or to a fresh worker;
* PyTorch's global module hook reports the value of each training loss;
* the page says whether torch.accelerator shows the GPU to the script;
* an error is given back as the traceback from the script downwards.

`time.sleep` sleeps in slices, between which a Stop is seen; `input` asks in the page.
"""

import builtins
import gc
import json
import linecache
import os
import signal
import sys
import time
import traceback
import types
from time import perf_counter

BREATH = 0.08  # seconds between two looks at the page's messages
REPORT = 0.05  # seconds between two batches of losses
SLICE = 0.05  # seconds of sleep without a look

_TOOL = 4  # one of the tool ids that sys.monitoring leaves free

_host = None
_folder = "."
_globals = {}


def standard_modules():
    """The modules of the standard library that are loaded, as JSON; not those that keep random numbers or secrets."""
    own = {"__main__", "random", "secrets", "tempfile", "uuid"}
    return json.dumps(sorted(n for n in sys.modules if n.partition(".")[0] in sys.stdlib_module_names - own))


def _stoppable(on):
    """Whether Stop's interrupt reaches Python: only while a script runs. It may come twice, or late, and would end the
    code that tells the page how the script ended, or that loads packages for the next one."""
    signal.signal(signal.SIGINT, signal.default_int_handler if on else signal.SIG_IGN)


def setup(host, folder):
    """Imports torch and installs the hooks; returns what the page shows about this Python, as JSON."""
    global _host, _folder
    _host, _folder = host, folder
    os.chdir(folder)
    began = perf_counter()
    import torch

    took = perf_counter() - began
    sys.monitoring.use_tool_id(_TOOL, "torchlite demo")
    time.sleep = _sleep
    builtins.input = _input
    _stoppable(False)
    return json.dumps(
        {
            "python": sys.version.split()[0],
            "torch": getattr(torch, "__version__", "?"),
            "import_seconds": took,
            "live_loss": _losses.install(),
        }
    )


async def find_gpu():
    """Opens the GPU; returns what the page shows about it, or why there is none, as JSON."""
    import torch

    if not await torch.webgpu.ready():
        return json.dumps({"problem": torch.webgpu.why_not()})
    gpu = torch.webgpu.get_device_properties()
    name = "" if gpu.name == "unknown GPU" else gpu.name
    return json.dumps(
        {"device": torch.accelerator.current_accelerator().type, "name": name, "software": gpu.is_software}
    )


async def prepare(device):
    """Before a run on the GPU: a new one where the last was lost."""
    import torch

    if device not in (None, "cpu") and not torch.webgpu.is_available():
        await torch.webgpu.reset()


def _offer(device):
    """The page's choice, as what torch.accelerator tells the script;
    so CUDA_VISIBLE_DEVICES="" hides a desktop's GPU."""
    import torch

    for name, hidden in (("is_available", lambda: False), ("device_count", lambda: 0)):
        shown = _shown.setdefault(name, getattr(torch.accelerator, name))
        setattr(torch.accelerator, name, hidden if device == "cpu" else shown)


_shown = {}  # torch.accelerator's own functions


class _Losses:
    """Collects (step, loss) pairs and sends them in batches: from a GPU they are read together, as each read waits."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.step, self.steps, self.values, self.sent = 0, [], [], 0.0

    def install(self):
        try:
            from torch.nn.modules.loss import _Loss
            from torch.nn.modules.module import register_module_forward_hook
        except ImportError:
            return False

        def report(module, args, output):
            if isinstance(module, _Loss) and output.requires_grad and output.ndim == 0:
                self.step += 1
                self.steps.append(self.step)
                self.values.append(output.item() if output.is_cpu else output.detach().clone())
                if perf_counter() - self.sent > REPORT:
                    self.flush()

        register_module_forward_hook(report)
        return True

    def flush(self):
        if self.steps:
            from pyodide.ffi import to_js

            steps, values = self.steps, self.values
            self.steps, self.values = [], []
            tensors = [value for value in values if not isinstance(value, float)]
            if tensors:
                import torch

                read = iter(torch.stack(tensors).tolist())
                values = [value if isinstance(value, float) else next(read) for value in values]
            _host.losses(to_js(steps), to_js(values))
        self.sent = perf_counter()


_losses = _Losses()


class _Breath:
    """Called at every loop jump of the script and while it sleeps; yields to the page when it is time."""

    def __init__(self):
        self.due = 0.0

    def __call__(self, *_):
        if perf_counter() < self.due:
            return
        from pyodide.ffi import can_run_sync, run_sync

        if can_run_sync():
            wish = run_sync(_host.breathe())
            if wish == "stop":
                raise KeyboardInterrupt
            if wish == "answer":
                _host.answerAll()
        self.due = perf_counter() + BREATH


def _watch(code, events):
    sys.monitoring.set_local_events(_TOOL, code, events)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _watch(constant, events)


def _sleep(seconds):
    """time.sleep in slices: the page's messages, and the interrupt byte, are seen between two of them."""
    if not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        return _whole_sleep(seconds)  # its errors, too
    end = perf_counter() + seconds
    while (left := end - perf_counter()) > 0:
        _whole_sleep(min(left, SLICE))
        if _breath is not None:
            _breath()


_whole_sleep = time.sleep
_breath = None  # that of the running script, where Python can wait for a promise


def _input(prompt="", /):
    """builtins.input: the page shows a line to type into. Stop is a KeyboardInterrupt."""
    from pyodide.ffi import can_run_sync, run_sync

    print(prompt, end="", flush=True)
    if not can_run_sync():
        raise OSError(
            "input() needs a browser in which Python can wait for the page (JSPI, WebAssembly stack switching)"
        )
    answer = run_sync(_host.ask())
    if answer is None:
        raise KeyboardInterrupt
    return answer


def run(source, name, device, breathe):
    """Runs `source` as the file `name`; returns JSON {status: done | stopped | failed, traceback, line}."""
    global _globals
    _globals = {"__name__": "__main__", "__file__": os.path.join(_folder, name), "__builtins__": __builtins__}
    gc.collect()
    write_script(source, name)

    def work(watch):
        code = compile(source, name, "exec")
        watch(code)
        exec(code, _globals)

    result = guarded(work, name, device, breathe)
    result["model"] = _model() is not None
    return json.dumps(result)


def write_script(source, name):
    """The script lies beside its files, where a traceback finds its lines."""
    with open(os.path.join(_folder, name), "w", encoding="utf-8") as file:
        file.write(source)
    linecache.checkcache()


def guarded(work, name, device, breathe, explain=None):
    """Calls `work(watch)`, which runs code of the file `name`; returns {status, traceback, line}.

    Code that was given to `watch` lets the page in at its loop jumps. `explain(error)` may add to the result.
    """
    global _breath
    _losses.clear()
    result = {"status": "done", "traceback": "", "line": None}
    monitoring, events = sys.monitoring, sys.monitoring.events

    def watch(code):
        if breathe:
            _watch(code, events.JUMP | events.PY_START)

    try:
        if breathe:
            _breath = _Breath()
            for event in (events.JUMP, events.PY_START):
                monitoring.register_callback(_TOOL, event, _breath)
        import torch

        _offer(device)
        if device not in (None, "cpu") and not torch.accelerator.is_available():
            raise RuntimeError(f"The GPU is gone: {torch.webgpu.why_not()}")
        # a run that was stopped inside no_grad() must not leave its mode to this one
        torch.set_grad_enabled(True)
        try:
            _stoppable(True)
            work(watch)
        finally:
            _stoppable(False)
    except KeyboardInterrupt:
        result["status"] = "stopped"
    except SystemExit as error:
        if error.code not in (None, 0):
            result.update(status="failed", traceback=f"SystemExit: {error.code}")
    except BaseException as error:
        if explain is not None:
            result.update(explain(error))
        result.update(status="failed", **_explain(error, name))
    finally:
        _stoppable(False)  # again: the interrupt may have come while it was called
        for event in (events.JUMP, events.PY_START):
            monitoring.register_callback(_TOOL, event, None)
        _breath = None
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        _losses.flush()
    except RuntimeError:  # the device went away, as the result says
        _losses.clear()
    return result


def _explain(error, name):
    """The traceback from the script's first frame on, and the last line number in the script."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != name:
        frames = frames.tb_next
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == name else None
    step = frames
    while step is not None:
        if step.tb_frame.f_code.co_filename == name:
            line = step.tb_lineno
        step = step.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    error.__traceback__ = None  # lets go of the script's tensors
    return {"traceback": text, "line": line}


def namespace():
    """The variables of the script that runs, or ran last."""
    return _globals


def _model():
    """The network that the script made: its `model`, or else the first module it holds that is no loss."""
    try:
        from torch.nn import Module
        from torch.nn.modules.loss import _Loss
    except ImportError:
        return None
    named = [_globals.get(name) for name in ("model", "net", "network")]
    for value in [*named, *_globals.values()]:
        if isinstance(value, Module) and not isinstance(value, _Loss):
            return value
    return None


def predict(pixels):
    """Class probabilities of one 8x8 drawing (64 values from 0 to 16), as JSON."""
    model = _model()
    if model is None:
        return json.dumps({"error": "no model"})
    try:
        return json.dumps({"probabilities": _probabilities(model, list(pixels))})
    except Exception as error:
        return json.dumps({"error": f"The model could not read the drawing. {type(error).__name__}: {error}"})


def _probabilities(model, pixels):
    import torch

    image = torch.tensor(pixels, dtype=torch.float32).view(1, 1, 8, 8) / 16
    parameter = next(model.parameters(), None)
    if parameter is not None:
        image = image.to(parameter.device)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return torch.softmax(model(image).float(), dim=1)[0].tolist()
    finally:
        for module, training in modes:
            module.training = training
