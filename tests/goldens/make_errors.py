"""Writes errors.json: what real PyTorch answers to the bad input of error_snippets.txt.

Each line of that file is one snippet ("# name" starts a group; a class and the line after it belong together). It runs
with the names of `names()` bound. "find" holds the parts of the message that people search for and that must agree.
Run with PyTorch installed: python tests/goldens/make_errors.py
"""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent


def snippets():
    """Pairs (group, code)."""
    group, pending = "", []
    for line in (HERE / "error_snippets.txt").read_text().splitlines():
        if line.startswith("# "):
            group = line[2:]
        elif line.startswith(("class ", "    ")):
            pending.append(line.removesuffix("#"))
        else:
            yield group, "\n".join([*pending, line])
            pending = []


def names(torch):
    """What a snippet can use: t is a 2x3 float tensor, g the same requiring grad, and all of torch.utils.data."""
    data = {name: getattr(torch.utils.data, name) for name in dir(torch.utils.data) if not name.startswith("_")}
    return {
        **data,
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "t": torch.ones(2, 3),
        "g": torch.ones(2, 3, requires_grad=True),
    }


def run(torch, code):
    """The exception that the snippet raises, or None."""
    try:
        exec(code, names(torch))
    except Exception as error:
        return error
    return None


def parts_to_find(text):
    """The parts of a message that must agree:
    not lists of devices or of overloads, addresses, or the order of a set."""
    if "received an invalid combination of arguments" in text:
        return [text.split(", but expected")[0]]
    if "Weights only load failed" in text:
        return [
            "Weights only load failed.",
            *re.findall(r"GLOBAL \S+ (?:was not an allowed|whose module \S+ is blocked)", text),
        ]
    if "at start of device string" in text:
        return [text[text.index("device type at start") :]]
    if text.startswith("[Errno"):  # the numbers differ between systems
        return [text.split("] ", 1)[1]]
    if "has no attribute" in text:
        return [text[text.index("has no attribute") :].split(". ")[0]]
    found = []
    for line in text.splitlines()[:3]:
        line = line.split(" (Could this error")[0].split("{'")[0].split("(Triggered")[0].strip()
        if line:
            found.append(line[:160])
    return found


def main():
    import warnings

    import torch

    warnings.simplefilter("ignore")
    cases = []
    for group, code in snippets():
        error = run(torch, code)
        if error is None:
            print("no error:", code)
            continue
        text = str(error)
        cases.append(
            {
                "group": group,
                "code": code,
                "type": type(error).__name__,
                "text": text[:600],
                "find": parts_to_find(text),
            }
        )
    data = {"torch": torch.__version__, "cases": cases}
    (HERE / "errors.json").write_text(json.dumps(data, indent=0, ensure_ascii=False) + "\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
