"""What a file may ask of the program that loads it. PyTorch's own files stay far below these limits, which are in
proportion to the size of the file; SECURITY.md lists them."""

from __future__ import annotations


from pickle import UnpicklingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Containers in containers. Python frees, prints and hashes them recursively, and a page's stack is small.
DEPTH = 1000
# Elements of a tuple that is the key of a dict, with those of tuples in it: each look-up hashes all of them.
KEY_ITEMS = 64
# Memory: so many times the size of the file, and so many bytes more.
MEMORY_FACTOR, MEMORY_FREE = 4, 48 << 20
# Elements that calls and keys may go through: so many per byte of the file, and so many more.
WORK_FACTOR, WORK_FREE = 4, 1 << 20
# Elements in the text of what was loaded, where it holds containers more than once:
# so many per byte of the file, and so many more.
TEXT_FACTOR, TEXT_FREE = 4, 10_000_000
# Seconds of this thread (in Pyodide of the clock) in look-ups, after which their average, normally below a microsecond,
# is looked at.
KEY_SECONDS, KEY_AVERAGE = 0.5, 20e-6
# The same by the clock, for systems that count a thread's time wrongly: more than a busy machine makes of a good file.
KEY_WAIT = 20.0


class Budget:
    """What is left to a file of `size` bytes."""

    __slots__ = ("_size", "memory", "work")

    def __init__(self, size: int) -> None:
        self._size = size
        self.memory = MEMORY_FACTOR * size + MEMORY_FREE
        self.work = WORK_FACTOR * size + WORK_FREE

    def take(self, nbytes: int) -> None:
        """Notes an allocation, before it is made."""
        self.memory -= nbytes
        if self.memory < 0:
            raise UnpicklingError(
                f"the file has {self._size} bytes and asks for more than {MEMORY_FACTOR} times as much "
                f"memory and {MEMORY_FREE >> 20} MB"
            )

    def spend(self, items: int) -> None:
        """Notes work on so many elements, before it is done."""
        self.work -= items
        if self.work < 0:
            raise UnpicklingError(
                f"the file has {self._size} bytes and its calls and keys go through more than "
                f"{WORK_FACTOR} elements per byte and {WORK_FREE} more"
            )


def too_deep() -> Any:
    """The error for nesting beyond the limit."""
    return UnpicklingError(f"the file nests objects more than {DEPTH} deep")


def check_shared(obj: Any, size: int) -> None:
    """An error where containers that occur in obj more than once make it so large that printing
    or comparing it does not end."""
    limit, sizes, path = TEXT_FACTOR * size + TEXT_FREE, {}, []

    def enter(item: Any) -> None:
        sizes[id(item)] = 1  # of one that holds itself, Python prints no more
        inner = [*item.keys(), *item.values()] if isinstance(item, dict) else item
        path.append((item, iter(inner), [1]))

    enter((obj,))
    while path:
        item, rest, total = path[-1]
        for inner in rest:
            if isinstance(inner, (dict, list, tuple, set)):
                if id(inner) not in sizes:
                    enter(inner)
                    break
                total[0] += sizes[id(inner)]
            else:
                total[0] += 1
        else:
            path.pop()
            if total[0] > limit:
                raise UnpicklingError(
                    f"the file holds containers many times over: written out, it has more than {limit} elements"
                )
            sizes[id(item)] = total[0]
            if path:
                path[-1][2][0] += total[0]


def brief(obj: Any) -> Any:
    """repr of an object from a file, in at most about 200 characters and without a look into containers."""
    cls = type(obj)
    if cls in (str, bytes):
        return repr(obj) if len(obj) <= 100 else f"{obj[:100]!r}... ({len(obj)} long)"
    if cls in (bool, type(None), float, complex) or cls is int and obj.bit_length() < 600:
        return repr(obj)
    if (
        isinstance(obj, type)
        or cls.__module__ == "builtins"
        and callable(obj)
        or cls.__name__ in ("StorageType", "dtype")
    ):
        return repr(obj)[:200]
    return f"an object of {cls}"


class Keys:
    """Puts keys from a file into dicts and sets, with limits on what their hashes cost."""

    def __init__(self, budget: Budget) -> None:
        import time

        # of this thread, where the system counts it: on a busy machine the file's own share
        self._clock, self._wall = getattr(time, "thread_time", time.perf_counter), time.perf_counter
        self._budget, self._seconds, self._waited, self._count = budget, 0.0, 0.0, 0

    def check(self, key: Any) -> None:
        """Raises an error where the key is too large to be hashed and compared again and again."""
        if isinstance(key, (str, bytes)):
            if len(key) > 4096:
                self._budget.spend(len(key) >> 6)
        elif isinstance(key, tuple):
            waiting, n = [key], 0
            while waiting:
                inner = waiting.pop()
                n += len(inner)
                self._budget.spend(len(inner))
                if n > KEY_ITEMS:
                    raise UnpicklingError(f"a tuple of more than {KEY_ITEMS} elements is the key of a dict or in a set")
                for item in inner:
                    if isinstance(item, tuple):
                        waiting.append(item)
                    elif isinstance(item, (str, bytes)):
                        self._budget.spend(len(item) >> 6)

    def set_item(self, target: Any, key: str, value: Any) -> None:
        """target[key] = value."""
        if key.__class__ is str and len(key) <= 4096 or key is None:
            target[key] = value
        elif len(target) < 256:  # too few for collisions to matter
            self.check(key)
            target[key] = value
        else:
            self.set_items(target, [key, value])

    def set_items(self, target: Any, items: list[Any]) -> None:
        """target[key] = value for a list of keys and values in turn."""
        if len(items) & 1:
            raise IndexError("list index out of range")
        for start in range(0, len(items), 512):
            part = items[start : start + 512]
            keys = part[::2]
            for key in keys:
                if key.__class__ is not str or len(key) > 4096:
                    self.check(key)
            begin, wall = self._clock(), self._wall()
            for key, value in zip(keys, part[1::2]):
                target[key] = value
            self._watch(self._clock() - begin, self._wall() - wall, len(keys))

    def add(self, target: Any, items: list[Any]) -> None:
        """Adds the elements of a list or tuple to a set."""
        for start in range(0, len(items), 256):
            part = items[start : start + 256]
            for key in part:
                self.check(key)
            begin, wall = self._clock(), self._wall()
            target.update(part)
            self._watch(self._clock() - begin, self._wall() - wall, len(part))

    def _watch(self, seconds: float, waited: float, n: int) -> None:
        # Hashes of numbers are no secret, so a file can choose keys that all collide:
        # then each costs as much as all before.
        self._seconds += min(seconds, 0.1)  # one pause of the whole machine is not the file's fault
        self._waited += min(waited, 1.0)
        self._count += n
        if self._seconds > max(KEY_SECONDS, KEY_AVERAGE * self._count) or self._waited > max(
            KEY_WAIT, KEY_AVERAGE * self._count
        ):
            raise UnpicklingError("the hashes of the file's keys collide")
