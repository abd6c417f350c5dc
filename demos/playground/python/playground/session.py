"""Runs what the Playground's page hands over: a script as `python script.py` would, cells one by one in a namespace
that stays, and the lines typed below the output. It has the functions of the demos' runner, on which it stands.
"""

import ast
import builtins
import codeop
import gc
import html
import inspect
import json
import linecache
import os
import sys
import time
import types

import demo_runner as runner

from . import display, hints, packages, rich

find_gpu, prepare, predict = runner.find_gpu, runner.prepare, runner.predict
fetch = packages.fetch

_folder = "."
_main = types.ModuleType("__main__")
_typed = 0  # lines typed so far


def setup(host, folder):
    global _folder
    _folder = folder
    sys.path.insert(0, folder)
    # notebooks use it without an import
    builtins.display = display.show
    os.environ["MPLBACKEND"] = "module://playground.figures"
    about = runner.setup(host, folder)
    display.connect(host.show)
    fresh("script.py")
    return about


def fresh(name):
    """An empty `__main__`; files of the folder that were imported are forgotten, so that an edited one counts."""
    global _main
    _main = types.ModuleType("__main__")
    vars(_main).update(__file__=os.path.join(_folder, name), __builtins__=builtins)
    # pickle finds a script's classes there
    sys.modules["__main__"] = _main
    for key, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(_folder + "/") and module is not _main:
            del sys.modules[key]
    _reset_torch()
    gc.collect()


def _reset_torch():
    """What a script may set for the whole process, as a new process has it."""
    import torch

    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.use_deterministic_algorithms(False)
    torch.autograd.set_detect_anomaly(False)
    torch.set_printoptions(profile="default")


def run(source, name, device, breathe, options):
    """Runs code; returns JSON {status, traceback, line, hint, part}.

    `options` is JSON: {kind: "script" | "cells" | "line", parts: [[first, last], ...] of the cells' lines, fresh: empty
    the namespace first, profile: show where the time went}.
    """
    options = json.loads(options)
    kind = options.get("kind", "script")
    if kind == "line":
        return json.dumps(_run_line(source, device, breathe))
    if options.get("fresh"):
        fresh(name)
    vars(_main)["__file__"] = os.path.join(_folder, name)
    runner.write_script(source, name)
    place = {}

    def work(watch):
        with _profiled(options.get("profile")):
            if kind == "script":
                code = compile(source, name, "exec", dont_inherit=True)
                watch(code)
                exec(code, vars(_main))
            else:
                lines = source.split("\n")
                for number, (first, last) in enumerate(options["parts"]):
                    place["part"] = number
                    # as many lines before it as in the file: tracebacks have the file's numbers
                    execute("\n" * (first - 1) + "\n".join(lines[first - 1 : last]), name, watch)

    return json.dumps({**_guarded(work, name, device, breathe), **place})


def complete(source):
    """Whether typed text can run as it is, or wants more lines: an open bracket, a block without its empty line."""
    try:
        if codeop.compile_command(source, "<input>", "exec") is None:
            return False
    except (SyntaxError, ValueError, OverflowError):
        return True  # running it says why
    lines = source.split("\n")
    return len(lines) == 1 or not lines[-1][:1].isspace()


def _run_line(source, device, breathe):
    global _typed
    _typed += 1
    name = f"<input {_typed}>"
    linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)
    return _guarded(lambda watch: execute(source, name, watch), name, device, breathe)


def _guarded(work, name, device, breathe):
    result = runner.guarded(work, name, device, breathe, lambda error: {"hint": _hint(error, name)})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].show()
    torch = sys.modules["torch"]
    webgpu = getattr(torch, "webgpu", None)
    if webgpu is not None and webgpu.is_initialized():
        result["gpu_memory"] = webgpu.memory_allocated()
    return result


def _hint(error, name):
    try:
        return hints.hint(error, name)
    except Exception as other:  # an explanation that fails must not hide the error
        return rich.pre(f"The Playground could not explain this error: {type(other).__name__}: {other}")


def execute(source, name, watch):
    """Runs statements in the namespace; the value of the last one, if it is an expression, is shown and kept as `_`."""
    tree = ast.parse(source, name)
    if len(tree.body) == 1 and ast.get_docstring(tree, clean=False) is not None:
        return  # the text at a script's head
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    steps = [(tree, "exec")] if tree.body else []
    if last is not None:
        steps.append((ast.Expression(last.value), "eval"))
    for node, mode in steps:
        code = compile(node, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        watch(code)
        value = eval(code, vars(_main))
        if inspect.iscoroutine(value) and code.co_flags & inspect.CO_COROUTINE:
            value = _wait(value)
    quiet = source.rstrip().endswith(";")
    if last is not None and value is not None and not quiet:
        vars(_main)["_"] = value
        sys.stdout.flush()
        display.emit(rich.safe_html_of(value))


def _wait(coroutine):
    from pyodide.ffi import can_run_sync, run_sync

    if not can_run_sync():
        coroutine.close()
        raise RuntimeError("await outside a function needs a browser in which Python can wait for the page (JSPI)")
    return run_sync(coroutine)


class _profiled:
    """torch.profiler around a run, with its table in the output; nothing where it is not asked for."""

    def __init__(self, wanted):
        self.wanted = wanted

    def __enter__(self):
        if self.wanted:
            from torch.profiler import profile

            self.began = time.perf_counter()
            self.profile = profile()
            self.profile.__enter__()

    def __exit__(self, *error):
        if self.wanted:
            self.profile.__exit__(*error)
            seconds = time.perf_counter() - self.began
            display.emit(f'<div class="profile"><p>{seconds:.2f} s, by operation</p>{_table(self.profile)}</div>')


def _table(profile, most=25):
    """The operations by their own time; what PyTorch's table has beside it is left out, as it would not fit."""
    found = sorted(profile.key_averages(), key=lambda row: -row.self_cpu_time_total)
    whole = sum(row.self_cpu_time_total for row in found) or 1
    head = "".join(f"<th>{text}</th>" for text in ("operation", "own ms", "of all", "ms with its calls", "calls"))
    rows = "".join(
        f"<tr><th>{html.escape(row.key)}</th><td>{row.self_cpu_time_total / 1e3:.2f}</td>"
        f"<td>{row.self_cpu_time_total / whole:.0%}</td><td>{row.cpu_time_total / 1e3:.2f}</td>"
        f"<td>{row.count}</td></tr>"
        for row in found[:most]
    )
    more = f"<p>{len(found) - most} other operations</p>" if len(found) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def missing(source):
    """JSON list of the modules that a script imports and that are not here."""
    return json.dumps(packages.missing(source, _folder))


def remember(problems):
    """Why modules could not be had, as JSON {name: sentence}, for the error that follows."""
    packages.problems.update(json.loads(problems))


def members(dotted):
    """JSON list of the names in a name of the namespace, for completion; properties are not run."""
    value = _main
    for part in dotted.split(".") if dotted else []:
        try:
            value = inspect.getattr_static(value, part) if value is not _main else vars(_main)[part]
        except (AttributeError, KeyError):
            modules = getattr(value, "_modules", {})
            if part not in modules:
                return "[]"
            value = modules[part]
    names = vars(_main) if value is _main else dict.fromkeys(dir(value))
    if value is not _main:
        names.update(dict.fromkeys(getattr(value, "_modules", {})))
    return json.dumps([name for name in names if not name.startswith("_")])
