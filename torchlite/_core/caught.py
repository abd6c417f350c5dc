"""Exceptions that one thread hands to another."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A text that KeyError prints as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with the text of its traceback, which does not keep the frames alive."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raises it here, with where it came from in its text; RuntimeError where its class takes no text alone."""
        text = "Caught %s %s.\nOriginal %s" % (self.exc_type.__name__, self.where, self.exc_msg)
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(KeyErrorMessage(text) if self.exc_type is KeyError else text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


for _kind in (ExceptionWrapper, KeyErrorMessage):
    _kind.__module__ = "torch._utils"
