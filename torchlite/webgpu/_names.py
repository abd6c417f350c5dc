"""Names of kernels for people: which ops are in them, for torch.profiler and torch.webgpu.debug."""

import json
from functools import lru_cache

LONGEST = 160
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# parameters that say how a kernel goes about its work, not what it does
_HOW = frozenset("tile aFast bFast vecA vecB whole lanes stage ndim kept reduced inner rows most".split())
# words that are sizes; others are strides, offsets and numbers
_SIZES = frozenset("n rows outer inner M N K batches batch B H L S planes groups wide narrow cols each m k total".split())


def _number(v):
    return "%g" % v if isinstance(v, float) else str(v)


def _expressions(nodes, words, inputs=()):
    """A function place -> text."""
    def text(at, room):
        node = nodes[at]
        if "in" in node:
            i = node["in"]
            return _LETTERS[i] if i < 26 else "in%d" % i
        if "scalar" in node:
            value = words.get("c%d" % node["scalar"]) if words and node.get("dtype") != "int64" else None
            return "c%d" % node["scalar"] if value is None else _number(value)
        if "coord" in node:
            return "coord%d" % node["coord"] if node["coord"] >= 0 else "coord"
        op = node["op"]
        if op == "cast":
            source = nodes[node["args"][0]].get("in")
            op = "copy" if source is not None and source < len(inputs) and inputs[source].get("dtype") == node["dtype"] else node["dtype"]
        parts, left = [], room - len(op) - 2
        for k in node.get("args") or ():
            part = text(k, left) if left > 8 else "..."
            parts.append(part)
            left -= len(part) + 2
        return "%s(%s)" % (op, ", ".join(parts)) if parts else op
    return lambda at: text(at, LONGEST)


def _plain(params):
    """The parameters that say what a kernel does, in short."""
    out = []
    for name, v in params.items():
        if name in _HOW or name == "out" and v == params.get("dtype") or v is False or v is None or v == "" or name in ("nodes", "inputs", "outputs", "indices", "epilogue"):
            continue
        if v is True:
            out.append(name)
        elif isinstance(v, list):
            if v and all(isinstance(x, int) for x in v) and not (name in ("stride", "dilation") and set(v) == {1} or name == "padding" and set(v) == {0}):
                out.append("%s %s" % (name, "x".join(map(str, v))))
        elif isinstance(v, str):
            out.append(v if name in ("op", "pass", "mode", "dtype") else "%s %s" % (name, v))
        elif isinstance(v, (int, float)):
            out.append("%s %s" % (name, _number(v)))
    return out


def _graph(family, params, words):
    nodes = params["nodes"]
    expression = _expressions(nodes, words, params.get("inputs") or ())
    results = []
    for o in params.get("outputs") or [{"node": len(nodes) - 1}]:
        inner = expression(o["node"])
        results.append("%s(%s)" % (o["op"], inner) if "op" in o else inner)
    dtypes = list(dict.fromkeys(o["dtype"] for o in params.get("outputs") or () if "dtype" in o))
    name = "%s %s" % (family, "; ".join(results))
    if len(name) > LONGEST:
        name = name[:LONGEST - 3] + "..."
    return " ".join([name, *dtypes])


def describe(key, words=None):
    """A kernel's key ("family:{parameters}") in short; numbers in it by their values where `words` has them."""
    family, _, text = key.partition(":")
    try:
        params = json.loads(text) if text else {}
    except ValueError:
        return key
    if not isinstance(params, dict):
        return key
    if params.get("nodes") and family in ("fused", "reduce"):
        name = _graph(family, params, words)
        stage = params.get("stage")
        return name + " (%s)" % stage if stage not in (None, "full") else name
    if family == "matmul" or family == "conv" or {"a", "b", "out"} <= params.keys():
        dtypes = list(dict.fromkeys(params.pop(k) for k in ("a", "b", "out") if isinstance(params.get(k), str)))
        if params.get("bias"):
            params["bias"] = True
        name = " ".join([family, *dtypes, *_plain(params)])
    else:
        name = " ".join([family, *_plain(params)])
    if params.get("nodes"):
        name += ": " + _expressions(params["nodes"], words)(len(params["nodes"]) - 1)
    stage = params.get("stage")
    return name + " (%s)" % stage if isinstance(stage, str) and stage not in ("full", "whole") else name


@lru_cache(4096)
def name_of(key):
    """describe(key), kept."""
    return describe(key)


def sizes(words):
    """The sizes among a kernel's words, as text."""
    return " ".join("%s=%s" % (k, v) for k, v in words.items()
                    if k in _SIZES or k.rstrip("0123456789") in ("size", "n", "in") and isinstance(v, int))
