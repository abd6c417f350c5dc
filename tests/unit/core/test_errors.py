"""Bad input raises PyTorch's exception types with PyTorch's words (tests/goldens/errors.json)."""

import json
import pathlib

import pytest

import torchlite

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens"
import make_errors

CASES = json.loads((GOLDENS / "errors.json").read_text())["cases"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=[f"{c['group']}-{i}" for i, c in enumerate(CASES)])
def test_error(case):
    error = make_errors.run(torchlite, case["code"])
    assert error is not None, f"no error from: {case['code']}"
    kinds = [cls.__name__ for cls in type(error).__mro__]
    wanted = case["type"].removeprefix("_")
    shown = (
        f"{case['code']}\n  expected {case['type']}: {case['text'][:300]}\n  got {type(error).__name__}: "
        f"{str(error)[:300]}"
    )
    assert case["type"] in kinds or wanted in kinds, shown
    for part in case["find"]:
        assert part in str(error), shown
