"""Queues of torch.multiprocessing on Linux, where workers of a DataLoader are processes. Wheels for pages leave this
file out."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import queue
import threading

from ..multiprocessing import NoOtherProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 0.2  # seconds between looks whether anybody else could put or take something


def _alone() -> bool:
    """Whether neither a process nor a thread is there, but for those that write to queues."""
    here = threading.current_thread()
    return (
        multiprocessing.parent_process() is None
        and not multiprocessing.active_children()
        and all(t is here or t.name == "QueueFeederThread" for t in threading.enumerate())
    )


class Queue(multiprocessing.queues.JoinableQueue):
    """A queue between processes. To wait for what no other can do is an error: functions run in this process."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize, ctx=multiprocessing.get_context())
        if multiprocessing.parent_process() is None:
            self.cancel_join_thread()  # what nobody took does not keep the program from its end

    def empty(self) -> bool:
        """Whether nobody has put anything. What has not left this process counts: a process that ends sends it first,
        and functions that would be one run here."""
        return self.qsize() == 0

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not block and not self.empty():
            block, timeout = True, PATIENCE  # it is on its way
        while block and timeout is None:
            try:
                return super().get(True, PATIENCE)
            except queue.Empty:
                if self.empty() and _alone():
                    raise NoOtherProcess(
                        "Queue.get(): the queue is empty, and torchlite has no other process that could put something"
                    ) from None
        return super().get(block, timeout)

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        while block and timeout is None:
            try:
                return super().put(obj, True, PATIENCE)
            except queue.Full:
                if _alone():
                    raise NoOtherProcess(
                        "Queue.put(): the queue is full, and torchlite has no other process that could take something"
                    ) from None
        return super().put(obj, block, timeout)
