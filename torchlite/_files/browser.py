"""Downloads in a page: the browser's fetch, a file that stays in its Cache API, and goes on where it broke off.

A file lies in the cache as parts of PART bytes, the last one shorter, and an entry that says what it is. What was
fetched before an error is a file with too few parts: the next call asks the server for the rest. torch.hub uses this.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError

import js
from pyodide.ffi import JsException, can_run_sync, run_sync, to_js

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

CACHE = "torch-hub"
PART = 4 << 20
TRIES = 4  # times in a row that a connection may break without a byte
_MARK = "torch-hub="


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, in code that is not async; RuntimeError where Python cannot wait for the page."""
    if not can_run_sync():
        work.close()
        raise RuntimeError(
            "Python cannot wait for the page here: enter it by runPythonAsync in a browser with stack switching (JSPI),"
            " or await the function of torch.hub whose name ends in _async"
        )
    return run_sync(work)


class Stored:
    """What the browser has of the file at an address."""

    def __init__(self, cache: Any, url: str) -> None:
        self.cache, self.url = cache, url
        self.about: dict[str, Any] = {"url": url, "bytes": 0, "total": None, "sha256": None}

    def key(self, part: int | str) -> str:
        """The address of a part in the cache."""
        return "%s%s%s%s" % (self.url, "&" if "?" in self.url else "?", _MARK, part)

    async def read(self) -> None:
        """Reads what the entry says."""
        if self.cache and (found := await self.cache.match(self.key("about"))):
            self.about = json.loads(await found.text())

    async def part(self, number: int) -> Any:
        """A part's bytes as an ArrayBuffer, or None."""
        found = await self.cache.match(self.key(number)) if self.cache else None
        return await found.arrayBuffer() if found else None

    async def keep(self, number: int | None = None, chunks: Any = None) -> None:
        """Stores a part, and the entry. A full disk ends the storing, not the download."""
        if self.cache is None:
            return
        try:
            if number is not None:
                await self.cache.put(self.key(number), js.Response.new(js.Blob.new(chunks)))
            await self.cache.put(self.key("about"), js.Response.new(json.dumps(self.about)))
        except JsException:
            await self.remove()
            self.cache = None

    async def remove(self) -> None:
        """Deletes all of it."""
        self.about.update(bytes=0, total=None, sha256=None)
        if self.cache is not None:
            for request in await self.cache.keys():
                if request.url.startswith(self.key("")):
                    await self.cache.delete(request)


async def stored_files() -> list[dict[str, Any]]:
    """What is said of each file in the cache."""
    cache = await _open()
    entries = [] if cache is None else [r for r in await cache.keys() if r.url.endswith(_MARK + "about")]
    return [json.loads(await (await cache.match(r)).text()) for r in entries]


async def remove(url: str) -> None:
    """Deletes a file from the cache."""
    await Stored(await _open(), url).remove()


async def _open() -> Any:
    """The cache, or None where there is none: without HTTPS, in node, in some private windows."""
    with contextlib.suppress(JsException, AttributeError):
        return await js.caches.open(CACHE)
    return None


class _Sink:
    """The file that is written, its hash, and the bar."""

    def __init__(self, file: Any, bar: Any) -> None:
        self.file, self.bar, self.size, self.digest = file, bar, 0, hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.file.write(data)
        self.digest.update(data)
        self.size += len(data)
        self.bar.update(len(data))


async def download(url: str, dst: str, hash_prefix: str | None, bar: Callable[[int | None], Any]) -> None:
    """Writes the file at an address to dst, from the cache as far as it is there."""
    url = js.Request.new(url).url.partition("#")[0]
    stored = Stored(await _open(), url)
    await stored.read()
    partial = "%s.%s.partial" % (dst, uuid.uuid4().hex)
    try:
        while True:
            with open(partial, "wb") as file, bar(stored.about["total"]) as shown:
                sink = _Sink(file, shown)
                whole, kept = await _from_cache(stored, sink), sink.size
                if not whole:
                    await _from_network(stored, sink)
            found = sink.digest.hexdigest()
            if hash_prefix is None or found.startswith(hash_prefix):
                break
            await stored.remove()
            if not kept:  # else what was stored may be of an older file: once more, without it
                raise RuntimeError('invalid hash value (expected "%s", got "%s")' % (hash_prefix, found))
        shutil.move(partial, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


async def _from_cache(stored: Stored, sink: _Sink) -> bool:
    """Copies what is stored; whether that is the whole file."""
    number = 0
    while stored.about["bytes"] > sink.size and (part := await stored.part(number)):
        sink.add(part.to_bytes())
        number += 1
    if sink.size != stored.about["bytes"]:  # the browser dropped some of it
        stored.about["sha256"] = None
    return stored.about["sha256"] is not None


async def _from_network(stored: Stored, sink: _Sink) -> None:
    """Fetches what is missing; after a broken connection from where it broke."""
    failed = 0
    while stored.about["total"] is None or sink.size < stored.about["total"]:
        before = sink.size
        try:
            await _fetch(stored, sink)
            break
        except (JsException, _Broken) as error:
            failed = 0 if sink.size > before else failed + 1
            if failed == TRIES or isinstance(error, JsException) and not sink.size:
                raise URLError(
                    "%s: %d bytes of %s came; the next call goes on from there"
                    % (getattr(error, "message", error), sink.size, stored.about["total"] or "an unknown number")
                ) from None
            await _pause(0.2 * 2**failed)
    stored.about.update(total=sink.size, sha256=sink.digest.hexdigest())
    await stored.keep()


async def _pause(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


class _Broken(Exception):
    """A connection that ended before the file did."""


async def _fetch(stored: Stored, sink: _Sink) -> None:
    """One request, for all that comes after sink.size bytes."""
    about, start = stored.about, sink.size
    headers = {"Range": "bytes=%d-" % start} if start else {}
    options = {"headers": headers, "cache": "no-store"}
    answer = await js.fetch(stored.url, to_js(options, dict_converter=js.Object.fromEntries))
    if start and (answer.status == 416 or not _goes_on(about, answer, start)):
        # another file by now, or a server that knows no ranges: from the beginning
        await stored.remove()
        sink.file.seek(0)
        sink.file.truncate()
        sink.bar.update(-start)
        sink.size, sink.digest, start = 0, hashlib.sha256(), 0
        if answer.status != 200:
            return await _fetch(stored, sink)
    if not answer.ok:
        raise HTTPError(stored.url, answer.status, answer.statusText, None, None)  # type: ignore[arg-type]
    length = answer.headers.get("Content-Length")
    packed = answer.headers.get("Content-Encoding")  # then the length is that of the packed bytes
    about["total"] = start + int(length) if length and not packed else about["total"]
    if not start:
        about.update(_version(answer))
    sink.bar.total = about["total"]
    await _read(answer.body.getReader(), stored, sink)
    if about["total"] and sink.size < about["total"]:
        raise _Broken("the connection ended early")


def _version(answer: Any) -> dict[str, str | None]:
    """What an answer says of the file's version; other origins show the second header only."""
    return {name: answer.headers.get(name) or None for name in ("ETag", "Last-Modified")}


def _goes_on(about: dict[str, Any], answer: Any, start: int) -> bool:
    """Whether an answer is the rest of the file that is stored in part."""
    length = answer.headers.get("Content-Length")
    return (
        answer.status == 206
        and all(about.get(name) == value for name, value in _version(answer).items())
        and (not length or about["total"] in (None, start + int(length)))
    )


async def _read(reader: Any, stored: Stored, sink: _Sink) -> None:
    """Takes the body of an answer chunk by chunk, and stores it in parts."""
    number, chunks = sink.size // PART, js.Array.new()
    if sink.size % PART:  # the part that was cut short is stored again, whole
        part = await stored.part(number)
        chunks.push(part.slice(0, sink.size % PART) if part else js.Uint8Array.new(0))
    try:
        while not (piece := await reader.read()).done:
            data = piece.value
            while data.length:
                room = PART - sink.size % PART
                taken = data.subarray(0, room)
                data = data.subarray(taken.length)
                chunks.push(taken)
                sink.add(taken.to_bytes())
                if sink.size % PART == 0:
                    stored.about["bytes"] = sink.size
                    await stored.keep(number, chunks)
                    number, chunks = number + 1, js.Array.new()
    finally:
        if sink.size % PART:
            stored.about["bytes"] = sink.size
            await stored.keep(number, chunks)
