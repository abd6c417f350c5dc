"""Runs a script of the package in the page, in whatever way its security policy allows."""

from __future__ import annotations

import asyncio

import js
from pyodide.ffi import create_once_callable, to_js

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


async def _in_node(text: str) -> None:
    js.process.getBuiltinModule("node:vm").runInThisContext(text)


def _blob(text: str) -> Any:
    kind = js.Object.fromEntries(to_js([["type", "text/javascript"]]))
    return js.URL.createObjectURL(js.Blob.new(to_js([text]), kind))


async def _in_window(text: str) -> None:
    element, url = js.document.createElement("script"), _blob(text)
    loaded = asyncio.get_running_loop().create_future()
    element.onload = create_once_callable(lambda event: loaded.set_result(None))
    element.onerror = create_once_callable(
        lambda event: loaded.set_exception(RuntimeError("blob: scripts are not allowed"))
    )
    element.src = url
    js.document.head.append(element)
    try:
        await loaded
    finally:
        element.remove()
        js.URL.revokeObjectURL(url)


async def _in_classic_worker(text: str) -> None:
    url = _blob(text)
    try:
        js.importScripts(url)
    finally:
        js.URL.revokeObjectURL(url)


async def _imported(text: str) -> None:
    # the page provides a function for `import(url)`, which Python cannot call
    url = _blob(text)
    try:
        await js.torchlite_import(url)
    finally:
        js.URL.revokeObjectURL(url)


async def _evaluate(text: str) -> None:
    # eval, if nothing else works: in module workers, if the page provides no importer and its policy allows eval
    js.eval(text)


def here(name: str) -> bool:
    """Whether JavaScript has a global of this name."""
    return getattr(js, name, None) is not None


class Refused(RuntimeError):
    """The page's security policy forbids every way of running a script in this thread."""


async def load(text: str, name: str) -> Any:
    """What the script leaves in the global `name`."""
    ways = [_in_node] if here("process") and hasattr(js.process, "getBuiltinModule") else []
    # `document` alone proves nothing: PyScript's workers have the page's one, and scripts run there
    ways += [_imported] if here("torchlite_import") else []
    if here("importScripts"):
        ways.append(_in_classic_worker)
    elif here("document"):
        ways.append(_in_window)
    problems = []
    for way in (*ways, _evaluate):
        try:
            await way(text)
        except Exception as e:
            problems.append(str(e).splitlines()[0])
            continue
        left = getattr(js, name)
        delattr(js, name)
        return left
    raise Refused("; ".join(problems))
