"""The older PassManager: a list of functions, each of which gets what the one before it gave."""

from __future__ import annotations

import logging
from functools import wraps
from inspect import unwrap
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("torch.fx.passes.pass_manager")
__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "this_before_that_pass_constraint",
    "these_before_those_pass_constraint",
]


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function that changes its argument return it."""

    @wraps(fn)
    def wrapped_fn(gm: Any, *args: Any, **kwargs: Any) -> Any:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped_fn


def log_hook(fn: Callable[..., Any], level: int = logging.INFO) -> Callable[..., Any]:
    """Logs each call of a pass."""

    @wraps(fn)
    def wrapped_fn(gm: Any) -> Any:
        value = fn(gm)
        logger.log(level, "Ran pass %s\n Return value: %s", fn, value)
        return value

    return wrapped_fn


def loop_pass(
    base_pass: Callable[..., Any], n_iter: int | None = None, predicate: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Runs a pass n_iter times, or while predicate(result) holds."""
    if (n_iter is not None) == (predicate is not None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @wraps(base_pass)
    def new_pass(source: Any) -> Any:
        output = source
        if n_iter is not None and n_iter > 0:
            for _ in range(n_iter):
                output = base_pass(output)
        elif predicate is not None:
            while predicate(output):
                output = base_pass(output)
        else:
            raise RuntimeError("loop_pass must be given positive int n_iter (given %s) xor predicate" % n_iter)
        return output

    return new_pass


def _validate_pass_schedule_constraint(constraint: Callable[..., bool], passes: list[Any]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :]):
            if not constraint(a, b):
                raise RuntimeError(
                    "pass schedule constraint violated. Expected %s before %s but found %s at index %d and %s at index"
                    "%d in pass list." % (a, b, a, i, b, j)
                )


def this_before_that_pass_constraint(this: Any, that: Any) -> Callable[..., bool]:
    """A constraint: one pass comes before another."""

    def depends_on(a: Any, b: Any) -> bool:
        return a != that or b != this

    return depends_on


def these_before_those_pass_constraint(these: Any, those: Any) -> Callable[..., bool]:
    """The same for wrapped passes, by the functions inside."""

    def depends_on(a: Any, b: Any) -> bool:
        return unwrap(a) != those or unwrap(b) != these

    return depends_on


class PassManager:
    """PassManager(passes, constraints)(source): the result of the passes in order."""

    passes: list[Any]
    constraints: list[Any]
    _validated: bool = False

    def __init__(self, passes: list[Any] | None = None, constraints: list[Any] | None = None) -> None:
        self.passes, self.constraints = passes or [], constraints or []

    @classmethod
    def build_from_passlist(cls, passes: list[Any]) -> PassManager:
        """A manager of a list of passes."""
        return PassManager(passes)

    def add_pass(self, _pass: Any) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Any) -> None:
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Removes passes by their names."""
        self.passes = [p for p in self.passes if getattr(p, "__name__", None) not in _passes]
        self._validated = False

    def replace_pass(self, _target: Any, _replacement: Any) -> None:
        """Puts one pass in the place of another of its name."""
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self) -> None:
        """Raises where the order of the passes violates a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def __call__(self, source: Any) -> Any:
        self.validate()
        out = source
        for fn in self.passes:
            out = fn(out)
        return out
