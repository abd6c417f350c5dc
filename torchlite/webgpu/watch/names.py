"""Readable names of kernels, by the ops in them, for torch.profiler and torch.webgpu.debug."""

from __future__ import annotations


import json
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


LONGEST = 160
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# parameters that say how a kernel computes, not what
_HOW = frozenset("woven direct tile aFast bFast vecA vecB whole lanes stage ndim kept reduced inner rows most".split())
# words that are sizes; the others are strides, offsets and numbers
_SIZES = frozenset(
    "n rows outer inner M N K batches batch B H L S planes groups wide narrow cols each m k total".split()
)


def _number(v: Any) -> str:
    return "%g" % v if isinstance(v, float) else str(v)


def _expressions(
    nodes: list[dict[str, Any]], words: dict[str, int] | None, inputs: list[dict[str, str]] | tuple[()] = ()
) -> Callable[..., Any]:
    """A function from a node's place to its text."""

    def text(at: int, room: int) -> str:
        node = nodes[at]
        if "in" in node:
            i = node["in"]
            return _LETTERS[i] if i < 26 else "in%d" % i
        if "product" in node:
            return "product"
        if "scalar" in node:
            value = words.get("c%d" % node["scalar"]) if words and node.get("dtype") != "int64" else None
            return "c%d" % node["scalar"] if value is None else _number(value)
        if "coord" in node:
            return "coord%d" % node["coord"] if node["coord"] >= 0 else "coord"
        op = node["op"]
        if op == "cast":
            source = nodes[node["args"][0]].get("in")
            op = (
                "copy"
                if source is not None and source < len(inputs) and inputs[source].get("dtype") == node["dtype"]
                else node["dtype"]
            )
        parts, left = [], room - len(op) - 2
        for k in node.get("args") or ():
            part = text(k, left) if left > 8 else "..."
            parts.append(part)
            left -= len(part) + 2
        return "%s(%s)" % (op, ", ".join(parts)) if parts else op

    return lambda at: text(at, LONGEST)


def _plain(params: dict[str, Any]) -> list[str]:
    """The parameters that say what a kernel computes, as short texts."""
    out = []
    for name, v in params.items():
        if (
            isinstance(v, dict)
            or name in _HOW
            or name == "out"
            and v == params.get("dtype")
            or v is False
            or v is None
            or v == ""
            or name in ("nodes", "inputs", "outputs", "indices")
        ):
            continue
        if v is True:
            out.append(name)
        elif isinstance(v, list):
            if (
                v
                and all(isinstance(x, int) for x in v)
                and not (name in ("stride", "dilation") and set(v) == {1} or name == "padding" and set(v) == {0})
            ):
                out.append("%s %s" % (name, "x".join(map(str, v))))
        elif isinstance(v, str):
            out.append(v if name in ("op", "pass", "mode", "dtype") else "%s %s" % (name, v))
        elif isinstance(v, (int, float)):
            out.append("%s %s" % (name, _number(v)))
    return out


def _results(graph: dict[str, Any], words: dict[str, int] | None) -> str:
    """The outputs of a graph as expressions."""
    nodes = graph["nodes"]
    expression = _expressions(nodes, words, graph.get("inputs") or ())
    results = []
    for o in graph.get("outputs") or [{"node": len(nodes) - 1}]:
        inner = expression(o["node"])
        results.append("%s(%s)" % (o["op"], inner) if "op" in o else inner)
    text = "; ".join(results)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _dtypes(graph: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(o["dtype"] for o in graph.get("outputs") or () if "dtype" in o))


def describe(key: str, words: dict[str, int] | None = None) -> str:
    """A short text for a kernel's key ("family:{parameters}"). Scalars appear by value if `words` has them."""
    family, _, text = key.partition(":")
    try:
        params = json.loads(text) if text else {}
    except ValueError:
        return key
    if not isinstance(params, dict):
        return key
    parts = [family]
    if params.get("nodes"):
        parts += [_results(params, words), *_dtypes(params)]
    if {"a", "b", "out"} <= params.keys():  # a product: its dtypes, mostly one
        parts += dict.fromkeys(params.pop(k) for k in ("a", "b", "out"))
        if params.get("bias"):
            params["bias"] = True
    parts += _plain(params)
    stage = params.get("stage")
    if isinstance(stage, str) and stage not in ("full", "whole"):
        parts.append("(%s)" % stage)
    for name, v in params.items():  # prologues and the epilogue
        if isinstance(v, dict) and v.get("nodes"):
            parts += ["of", name, _results(v, None)] if name in ("first", "second") else ["then", _results(v, words)]
    return " ".join(map(str, parts))


@lru_cache(4096)
def name_of(key: str) -> str:
    """describe(key), cached."""
    return describe(key)


def sizes(words: dict[str, int]) -> str:
    """The sizes among a kernel's words, as text."""
    return " ".join(
        "%s=%s" % (k, v)
        for k, v in words.items()
        if k in _SIZES or k.rstrip("0123456789") in ("size", "n", "in") and isinstance(v, int)
    )
