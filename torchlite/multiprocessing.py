"""torch.multiprocessing in one process: what would start a process runs the function here, with one note. The workers
of a DataLoader are processes on Linux (utils/data/_utils/processes.py); locks and queues reach them."""

import contextlib
import queue as _queue

_noted: list[str] = []


def _note(what):
    """Says once that functions run in this process."""
    if _noted:
        return
    import warnings

    _noted.append(what)
    warnings.warn(
        "torch.multiprocessing.%s: torchlite has one process; functions run in it, one after another." % what,
        stacklevel=3,
    )


class ProcessException(Exception):
    """What a function raised that was started as a process."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """Its function raised an exception."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """It ended by exit()."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """The processes that spawn started: all of them have ended."""

    def __init__(self, processes, error_files=()):
        self.processes = processes
        self.error_files = list(error_files)
        self.sentinels = {}

    def pids(self):
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        return True


SpawnContext = ProcessContext


@contextlib.contextmanager
def _own_group():
    """A new process is in no process group, and takes its own away with it."""
    import sys

    world = sys.modules.get("torchlite.distributed._world")
    held = list(world._groups) if world else []
    if world:
        world._groups.clear()
    try:
        yield
    finally:
        world = sys.modules.get("torchlite.distributed._world")
        if world:
            world._groups[:] = held


class Process:
    """Runs its function when it is started, in this process."""

    _made = 0

    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        if group is not None:
            raise AssertionError("group argument must be None for now")
        Process._made += 1
        self._target, self._args, self._kwargs = target, tuple(args), dict(kwargs or {})
        self.name = name or "%s-%d" % (type(self).__name__, Process._made)
        self.daemon = bool(daemon)
        self.exitcode = None
        self.authkey = b""

    def run(self):
        """The function; classes may have their own."""
        if self._target:
            self._target(*self._args, **self._kwargs)

    def _fresh_ends(self):
        """The ends of pipes among the arguments are the process's own: it may close them."""
        import sys

        pipes = sys.modules.get("torchlite._core.inline_pipe")
        if not pipes:
            return []
        ends = []

        def fresh(value):
            if isinstance(value, pipes.Connection) and not value.closed:
                ends.append(value.__copy__())
                return ends[-1]
            return value

        self._args = tuple(map(fresh, self._args))
        self._kwargs = {name: fresh(value) for name, value in self._kwargs.items()}
        return ends

    def start(self):
        if self.exitcode is not None:
            raise AssertionError("cannot start a process twice")
        _note("Process")
        ends = self._fresh_ends()
        try:
            with _own_group():
                self.run()
            self.exitcode = 0
        except SystemExit as e:
            if e.code is None:
                self.exitcode = 0
            else:
                self.exitcode = e.code if isinstance(e.code, int) else 1
        except NoOtherProcess:
            raise  # the program cannot go on
        except Exception:
            import sys
            import traceback

            self.exitcode = 1
            print("Process %s:" % self.name, file=sys.stderr)
            traceback.print_exc()
        finally:
            for end in ends:
                end.close()

    def join(self, timeout=None):
        if self.exitcode is None:
            raise AssertionError("can only join a started process")

    def is_alive(self):
        return False

    def terminate(self):
        """It has ended."""

    kill = close = terminate

    @property
    def pid(self):
        import os

        return None if self.exitcode is None else os.getpid()

    ident = pid

    def __repr__(self):
        state = "initial" if self.exitcode is None else "stopped exitcode=%d" % self.exitcode
        return "<%s name=%r %s>" % (type(self).__name__, self.name, state)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Calls fn(i, *args) for i below nprocs, one after another."""
    _note("spawn" if start_method == "spawn" else "start_processes")
    processes = []
    for i in range(nprocs):
        process = Process(target=fn, args=(i, *args), daemon=daemon)
        try:
            with _own_group():
                process.run()
        except SystemExit as e:
            if e.code:
                text = "process %d terminated with exit code %s" % (i, e.code)
                raise ProcessExitedException(text, i, 0, e.code) from None
        except Exception as e:
            import traceback

            text = "\n\n-- Process %d terminated with the following error:\n%s" % (i, traceback.format_exc())
            raise ProcessRaisedException(text, i, 0) from e
        process.exitcode = 0
        processes.append(process)
    return None if join else ProcessContext(processes)


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Calls fn(i, *args) for i below nprocs, one after another."""
    if start_method != "spawn":
        import warnings

        warnings.warn(
            "This method only supports start_method=spawn (got: %s).\nTo use a different start_method use:\n\t\t "
            "torch.multiprocessing.start_processes(...)" % start_method,
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


class NoOtherProcess(RuntimeError):
    """A function waits for what only another process could do."""


class _Queue(_queue.Queue):
    """A queue of one process. To wait for what no other can put is an error."""

    def get(self, block=True, timeout=None):
        try:
            return super().get(block=False)
        except _queue.Empty:
            if block and timeout is None:
                raise NoOtherProcess(
                    "Queue.get(): the queue is empty, and torchlite has no other process that could put something"
                ) from None
            raise

    def put(self, obj, block=True, timeout=None):
        from ._core.inline_pipe import passed

        try:
            super().put(passed(obj), block=False)
        except _queue.Full:
            if block and timeout is None:
                raise NoOtherProcess(
                    "Queue.put(): the queue is full, and torchlite has no other process that could take something"
                ) from None
            raise

    def close(self):
        """Nothing to close."""

    join_thread = cancel_join_thread = close


def Queue(maxsize=0):
    """A queue: between processes on Linux, where a DataLoader has some, else within this one."""
    import sys

    if sys.platform == "linux":
        from ._core import process_queues

        return process_queues.Queue(maxsize)
    return _Queue(maxsize)


JoinableQueue = Queue


def SimpleQueue():
    """A queue without an end."""
    return Queue()


def Pipe(duplex=True):
    """Two ends of a pipe within this process. To wait for what nobody could send is an error."""
    from ._core import inline_pipe

    return inline_pipe.pipe(duplex)


def _primitive(name):
    """Of processes on Linux, where a DataLoader has some; else of threads."""

    def make(*args, **kwargs):
        import sys
        from importlib import import_module

        module = import_module("multiprocessing" if sys.platform == "linux" else "threading")
        return getattr(module, name)(*args, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = "multiprocessing.%s on Linux, threading.%s elsewhere." % (name, name)
    return make


Lock, RLock, Event, Condition, Semaphore, BoundedSemaphore, Barrier = map(
    _primitive, ("Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")
)


def Pool(processes=None, initializer=None, initargs=(), maxtasksperchild=None):
    """A pool of one worker: this process."""
    from ._core.inline_pool import InlinePool

    _note("Pool")
    return InlinePool(processes, initializer, initargs)


_method: list = [None]


def set_start_method(method, force=False):
    """Remembers the name only: there is nothing to start. Once, unless `force`, as in Python."""
    if _method[0] and not force:
        raise RuntimeError("context has already been set")
    if method is not None:
        get_context(method)
    _method[0] = method


def get_start_method(allow_none=False):
    if not allow_none and not _method[0]:
        import sys

        _method[0] = "fork" if sys.platform == "linux" else "spawn"
    return _method[0]


def get_all_start_methods():
    return ["fork", "spawn", "forkserver"]


def get_context(method=None):
    """What has Process, Queue, Pool and the others: this module."""
    import sys

    if method is not None and method not in get_all_start_methods():
        raise ValueError("cannot find context for %r" % method)
    return sys.modules[__name__]


def set_sharing_strategy(new_strategy):
    """There is nothing to share with."""


def get_sharing_strategy():
    return "file_system"


def get_all_sharing_strategies():
    return {"file_system"}


def active_children():
    return []


def _get_thread_name():
    """The name of the running thread."""
    import threading

    return threading.current_thread().name


def _set_thread_name(name):
    """Names the running thread."""
    import threading

    threading.current_thread().name = name


def __getattr__(name):
    """What else PyTorch takes over from the standard library."""
    import multiprocessing

    if name.startswith("__") or not hasattr(multiprocessing, name):
        return _absent(name)
    return getattr(multiprocessing, name)


from ._core import absent

_absent = absent.of(__name__)
