"""Tensors print as in PyTorch, character for character (tests/goldens/printing.json)."""

import json
import pathlib

import pytest

import torchlite

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens"
import make_printing

CASES = json.loads((GOLDENS / "printing.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[str(i) for i in range(len(CASES))])
def test_printing(case):
    assert make_printing.show(torchlite, case) == case["text"], case["code"]


def test_options_are_restored():
    before = torchlite._tensor_str.get_printoptions()
    with torchlite._tensor_str.printoptions(precision=2):
        assert repr(torchlite.tensor(1.2345)) == "tensor(1.23)"
    assert torchlite._tensor_str.get_printoptions() == before


def test_against_torch():
    torch = pytest.importorskip("torch")
    import random

    rng = random.Random()
    for _ in range(200):
        case = {
            "code": make_printing.random_case(rng),
            "options": rng.choice(make_printing.OPTIONS),
            "default": "float32",
        }
        assert make_printing.show(torchlite, case) == make_printing.show(torch, case), case


@pytest.mark.parametrize(
    "shape", [(5 * 10**17,), (10**9, 10**8), (2,) * 58, (7,) * 20, (1,) * 60 + (10**15,), (3,) * 12]
)
def test_text_of_huge_expanded_tensors_is_bounded(shape):
    x = torchlite.ones(1).expand(shape)
    assert len(repr(x)) < 10_000_000
    assert repr(x).startswith("tensor(")


def test_summaries_that_fit_are_as_before():
    x = torchlite.zeros(1).expand((9,) * 5)
    assert repr(x).count("0.") == 6**5
