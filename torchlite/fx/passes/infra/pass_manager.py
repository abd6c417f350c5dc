"""PassManager: runs passes in an order that constraints allow, until nothing changes."""

from __future__ import annotations

import inspect
import logging
from functools import wraps
from typing import Any

from ..._compatibility import compatibility
from ...graph_module import GraphModule
from .pass_base import PassResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("torch.fx.passes.infra.pass_manager")
__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


@compatibility(is_backward_compatible=False)
def pass_result_wrapper(fn: Any) -> Any:
    """A pass that gives a PassResult, of a function that gives a module or changes the one it gets."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped_fn(gm: Any) -> Any:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        wrapped_fn.__name__ = str(type(fn))
    return wrapped_fn


def _validate_pass_schedule_constraint(constraint: Callable[[Any, Any], bool], passes: list[Any]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :]):
            if not constraint(a, b):
                raise RuntimeError(
                    "pass schedule constraint violated. Expected %s before %s but found %s at index %d and %s at index"
                    "%d in pass list." % (a, b, a, i, b, j)
                )


def _topological_sort_passes(passes: list[Any], constraints: list[Any]) -> list[Any]:
    if not constraints:
        return passes
    after: dict[Any, list[Any]] = {p: [] for p in passes}
    waiting: dict[Any, int] = dict.fromkeys(passes, 0)
    for constraint in constraints:
        for a in passes:
            for b in passes:
                if a is not b and not constraint(a, b):
                    after[b].append(a)
                    waiting[a] += 1
    ready = [p for p in passes if waiting[p] == 0]
    done: list[Any] = []
    while ready:
        p = ready.pop(0)
        done.append(p)
        for other in after[p]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    circular = [p for p in passes if waiting[p] != 0]
    if circular:
        raise RuntimeError("Circular dependency detected within the following passes: %s" % circular)
    return done


@compatibility(is_backward_compatible=False)
def this_before_that_pass_constraint(this: Any, that: Any) -> Any:
    """A constraint: one pass comes before another."""

    def depends_on(a: Any, b: Any) -> bool:
        return a != that or b != this

    return depends_on


@compatibility(is_backward_compatible=False)
class PassManager:
    """PassManager(passes=[...])(module): runs the passes up to `steps` times, while they change something."""

    passes: list[Any]
    constraints: list[Any]
    _validated: bool = False
    steps: int = 1

    def __init__(
        self,
        passes: list[Any] | None = None,
        constraints: list[Any] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Any) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Any) -> None:
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raises where the order of the passes violates a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes into an order that the constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Any) -> None:
        """Replaces check(), which runs after the passes."""
        sig = inspect.signature(check)
        if len(list(sig.parameters.values())) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        setattr(self, "check", check)  # noqa: B010

    def check(self, module: Any) -> None:
        """Looks at the module; raises if something is wrong."""

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
                logger.debug("Running pass '%s'", name)
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(
                            "The result of the pass %s should be type PassResult. Please wrap it with "
                            "pass_result_wrapper()" % name
                        )
                    module = result.graph_module
                    modified = modified or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as e:
                    previous = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:i]]
                    raise Exception(
                        "An error occurred when running the '%s' pass after the following passes: %s" % (name, previous)
                    ) from e
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)
