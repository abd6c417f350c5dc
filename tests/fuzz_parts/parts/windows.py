"""torch.signal.windows and the older torch.*_window."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

WINDOWS: dict[str, list[str]] = {
    "bartlett": [],
    "blackman": [],
    "cosine": [],
    "exponential": ["tau=0.5", "tau=3", "center=1.0, sym=False", "tau=-1", "center=1.0"],
    "gaussian": ["std=0.5", "std=3", "std=0", "std=-1"],
    "general_cosine": ["a=[0.5, 0.3, 0.2]", "a=[1]", "a=[]", "a=(0.1, 0.9)", "a=0.5"],
    "general_hamming": ["alpha=0.3", "alpha=1"],
    "hamming": ["alpha=0.3"],
    "hann": [],
    "kaiser": ["beta=0", "beta=14.0", "beta=-1"],
    "nuttall": [],
}
OLD = {
    "bartlett_window": [],
    "blackman_window": [],
    "hamming_window": ["alpha=0.4", "alpha=0.4, beta=0.6"],
    "hann_window": [],
    "kaiser_window": ["beta=3.0", "beta=0.0"],
}


def draw(r: Random) -> Case:
    old = chance(r, 0.3)
    name = r.choice(list(OLD if old else WINDOWS))
    length = r.choice([0, 1, 2, 3, 4, 7, 16, 33, r.choice([-1, 2.0, "3", None, True])])
    arguments = [repr(length)]
    if chance(r, 0.6) and (extra := (OLD if old else WINDOWS)[name]):
        arguments.append(r.choice(extra))
    flag = "periodic" if old else "sym"
    if chance(r) and "sym" not in "".join(arguments):
        arguments.append(f"{flag}={chance(r)}")
    if chance(r):
        names = ["float64", "float32", "float16", "bfloat16", "int64", "complex64", "float"]
        arguments.append("dtype=torch." + r.choice(names))
    if chance(r, 0.2):
        arguments.append("requires_grad=True")
    if chance(r, 0.1):
        arguments.append("layout=" + r.choice(["torch.strided", "torch.sparse_coo"]))
    if chance(r, 0.05):
        arguments.append("device='cpu'")
    if chance(r, 0.03):
        arguments.append("foo=1")
    return code(f"out = torch.{'' if old else 'signal.windows.'}{name}({', '.join(arguments)})")
