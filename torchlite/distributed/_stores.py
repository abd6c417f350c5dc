"""Key-value stores of torch.distributed, in the memory of the only process. Threads of it can wait for each other."""

from __future__ import annotations

import datetime
import os
import sys
import threading
from typing import Any

_TIMEOUT = datetime.timedelta(seconds=300)


class DistError(RuntimeError):
    __module__ = "torch.distributed"


class DistStoreError(DistError):
    __module__ = "torch.distributed"


class DistNetworkError(DistError):
    __module__ = "torch.distributed"


class DistBackendError(DistError):
    __module__ = "torch.distributed"


def _bytes(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise TypeError("a store's values are str, got " + type(value).__name__)


class _Memory:
    """Values and queues by key."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}
        self.changed = threading.Condition(threading.RLock())


class Store:
    """What all stores do."""

    __module__ = "torch.distributed"

    def __init__(self) -> None:
        self._memory, self._timeout = _Memory(), _TIMEOUT

    timeout = property(lambda self: self._timeout)

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        self._timeout = timeout

    def _until(self, there: Any, timeout: datetime.timedelta | None) -> None:
        """Waits for what another thread may do; without one, nobody does it."""
        limit = (self._timeout if timeout is None else timeout).total_seconds()
        alone = sys.platform == "emscripten" or threading.active_count() < 2
        if not (there() if alone else self._memory.changed.wait_for(there, limit)):
            raise DistStoreError("Wait timeout")

    def set(self, key: str, value: Any) -> None:
        with self._memory.changed:
            self._memory.values[key] = _bytes(value)
            self._memory.changed.notify_all()

    def get(self, key: str) -> bytes:
        with self._memory.changed:
            self.wait([key])
            return self._memory.values[key]

    def wait(self, keys: list[str], timeout: datetime.timedelta | None = None) -> None:
        with self._memory.changed:
            self._until(lambda: self.check(keys), timeout)

    def check(self, keys: list[str]) -> bool:
        return all(key in self._memory.values for key in keys)

    def add(self, key: str, amount: int) -> int:
        with self._memory.changed:
            try:
                total = int(self._memory.values.get(key, b"0")) + amount
            except ValueError:
                raise ValueError("stoll") from None
            self.set(key, str(total))
            return total

    def append(self, key: str, value: Any) -> None:
        with self._memory.changed:
            self.set(key, self._memory.values.get(key, b"") + _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Sets a key that has the expected value, or no value where that is ""; gives what it has then."""
        expected = _bytes(expected_value)
        with self._memory.changed:
            have = self._memory.values.get(key)
            if have is None and expected:
                return expected
            if have is None or have == expected:
                self.set(key, desired_value)
            return self._memory.values[key]

    def delete_key(self, key: str) -> bool:
        return self._memory.values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._memory.values)

    def list_keys(self) -> list[str]:
        return list(self._memory.values)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: Any) -> None:
        with self._memory.changed:
            self._memory.queues.setdefault(key, []).append(_bytes(value))
            self._memory.changed.notify_all()

    def queue_len(self, key: str) -> int:
        return len(self._memory.queues.get(key, ()))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        with self._memory.changed:
            self._until(lambda: self.queue_len(key) > 0, None if block else datetime.timedelta(0))
            return self._memory.queues[key].pop(0)

    def has_extended_api(self) -> bool:
        return True

    def clone(self) -> Any:
        """Another store with the same memory."""
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update(self.__dict__)
        return other


class HashStore(Store):
    __module__ = "torch.distributed"


_servers: dict[tuple[str, int], _Memory] = {}
_files: dict[str, _Memory] = {}


class TCPStore(Store):
    """The store of the process that is the master, without a network."""

    __module__ = "torch.distributed"

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: datetime.timedelta = _TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.host, self._timeout = host_name, timeout
        self.port = port or 29400 + len(_servers)
        if is_master:
            if wait_for_workers and world_size is not None and world_size > 1:
                raise DistStoreError("TCPStore: torchlite runs in one process, so %d workers cannot come" % world_size)
            _servers[host_name, self.port] = self._memory
        elif (host_name, self.port) in _servers:
            self._memory = _servers[host_name, self.port]
        else:
            raise DistNetworkError(
                "TCPStore: torchlite has no sockets, and no master in this process for (%s, %d)" % (host_name, port)
            )


class FileStore(Store):
    """Stores of the same path share their memory. Nothing is written to the file."""

    __module__ = "torch.distributed"

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._memory = _files.setdefault(os.path.abspath(file_name), self._memory)


class PrefixStore(Store):
    """Another store, with a prefix before each key."""

    __module__ = "torch.distributed"

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix, store

    timeout = property(lambda self: self.underlying_store.timeout)

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        return self.underlying_store.list_keys()


def _prefixed(name: str) -> Any:
    def call(self: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
        keys = [f"{self._prefix}/{k}" for k in key] if isinstance(key, (list, tuple)) else f"{self._prefix}/{key}"
        return getattr(self.underlying_store, name)(keys, *args, **kwargs)

    call.__name__ = name
    return call


for _name in """set get wait check add append compare_set delete_key multi_get multi_set queue_push queue_len
        queue_pop""".split():
    setattr(PrefixStore, _name, _prefixed(_name))
