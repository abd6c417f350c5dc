"""The Digits page's script on less data, for devices that are slow."""

from __future__ import annotations

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "demos" / "digits"
DATA = FOLDER / "digits.bin.gz"


def source(steps: int, epochs: int = 1, batch: int = 8, test: int = 16) -> str:
    """digits.py with `steps` steps in each epoch; its first steps are the same for every number of epochs."""
    train = steps * batch
    text = (FOLDER / "digits.py").read_text()
    for old, new in (
        ("EPOCHS = 15", f"EPOCHS = {epochs}"),
        ("BATCH_SIZE = 32", f"BATCH_SIZE = {batch}"),
        (
            "train_set, test_set = random_split(dataset, [1437, 360])",
            f"train_set, test_set, _ = random_split(dataset, [{train}, {test}, {1797 - train - test}])",
        ),
    ):
        assert text.count(old) == 1, f"digits.py has no line {old!r} any more"
        text = text.replace(old, new)
    return text


def close(losses: list[float], expected: list[float]) -> bool:
    """Whether losses of a run on the GPU are those of the CPU's run with the same seed, to 1e-3."""
    return len(losses) == len(expected) > 0 and all(abs(a - b) <= 1e-3 * abs(b) for a, b in zip(losses, expected))
