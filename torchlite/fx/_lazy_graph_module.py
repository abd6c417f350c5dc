"""GraphModules that compile their code when it is first needed."""

from __future__ import annotations

import contextlib
from typing import Any

from ._source import _format_import_block
from .graph_module import GraphModule, _deserialize_graph_module, _forward_from_src

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_use_lazy_graph_module_flag = False
_force_skip_lazy_graph_module_flag = False


@contextlib.contextmanager
def _force_skip_lazy_graph_module() -> Iterator[None]:
    """Inside, _make_graph_module makes no lazy ones."""
    global _force_skip_lazy_graph_module_flag
    before, _force_skip_lazy_graph_module_flag = _force_skip_lazy_graph_module_flag, True
    try:
        yield
    finally:
        _force_skip_lazy_graph_module_flag = before


@contextlib.contextmanager
def _use_lazy_graph_module(should_use: bool) -> Iterator[None]:
    """Inside, _make_graph_module makes lazy ones, or not."""
    global _use_lazy_graph_module_flag
    before = _use_lazy_graph_module_flag
    _use_lazy_graph_module_flag = should_use and not _force_skip_lazy_graph_module_flag
    try:
        yield
    finally:
        _use_lazy_graph_module_flag = before


def _get_graph_module_cls() -> Any:
    return _LazyGraphModule if _use_lazy_graph_module_flag else GraphModule


def _make_graph_module(*args: Any, graph_module_cls: Any = None, **kwargs: Any) -> Any:
    return (graph_module_cls or _get_graph_module_cls())(*args, **kwargs)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Any:
    """A lazy GraphModule from what its pickle holds."""
    forward = _forward_from_src(import_block + (body.get("_code") or body["code"]), {})
    return _deserialize_graph_module(forward, body, graph_module_cls=_LazyGraphModule)


class _LazyGraphModule(GraphModule):
    """A GraphModule whose recompile() only takes note; the code is made when somebody calls or reads it."""

    @classmethod
    def from_graphmodule(cls, gm: Any) -> Any:
        """The module itself if it is lazy, else a lazy one of the same graph."""
        return gm if isinstance(gm, _LazyGraphModule) else _LazyGraphModule(gm, gm.graph)

    @staticmethod
    def force_recompile(gm: Any) -> None:
        """Makes the code now."""
        if isinstance(gm, _LazyGraphModule):
            gm.real_recompile()

    def real_recompile(self) -> None:
        """Makes the code, if it is not made."""
        if self._needs_recompile():
            self._real_recompile()

    @classmethod
    def _needs_recompile(cls) -> bool:
        return cls.forward is cls._lazy_forward

    def _lazy_forward(self, *args: Any, **kwargs: Any) -> Any:
        self.real_recompile()
        if self._needs_recompile():
            raise AssertionError("recompile did not replace forward")
        return self(*args, **kwargs)

    forward = _lazy_forward

    def __reduce_package__(self, exporter: Any) -> Any:
        self.real_recompile()
        return super().__reduce_package__(exporter)

    def __reduce__(self) -> Any:
        body = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        imports = _format_import_block(self._real_recompile().globals)
        body["_code"] = self._code
        return reduce_graph_module, (body, imports)

    def _real_recompile(self) -> Any:
        return super().recompile()

    @classmethod
    def recompile(cls) -> Any:
        cls.forward = cls._lazy_forward

    @property
    def code(self) -> str:
        self.real_recompile()
        return super().code

    def __str__(self) -> str:
        """The text of the module, with its code."""
        self.real_recompile()
        return super().__str__()
