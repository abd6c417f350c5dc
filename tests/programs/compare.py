"""Compares what a program printed with what it printed under PyTorch:
the same text, numbers to a relative tolerance."""

import re

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:inf|nan)\b")


def difference(got, want, rtol=1e-4, atol=2e-6):
    """None when the texts agree, else a sentence about the first line that does not."""
    a, b = got.split("\n"), want.split("\n")
    for n, (x, y) in enumerate(zip(a, b), 1):
        why = _line(x, y, rtol, atol)
        if why:
            return f"line {n}: {why}\n  got:  {x}\n  want: {y}"
    if len(a) != len(b):
        return f"{len(a)} lines instead of {len(b)}"
    return None


def _line(x, y, rtol, atol):
    if " ".join(NUMBER.sub("#", x).split()) != " ".join(NUMBER.sub("#", y).split()):
        return "other text"
    for u, v in zip(NUMBER.findall(x), NUMBER.findall(y)):
        if u == v:
            continue
        if not re.search(r"[.einf]", v):
            return f"{u} instead of {v}"
        digits = len(v.partition(".")[2].partition("e")[0])
        unit = 0 if "e" in v.lower() else 1.01 * 10.0**-digits  # the last printed digit may be rounded the other way
        if not abs(float(u) - float(v)) <= max(rtol * abs(float(v)), unit, atol):
            return f"{u} instead of {v}"
    return None
