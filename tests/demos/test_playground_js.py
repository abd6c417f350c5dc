"""The Playground's JavaScript that needs no page, on node: cells, notebooks, links, names and calls."""

import json
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def out():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    done = subprocess.run(["node", str(HERE / "playground.mjs")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_cells(out):
    assert out["cells"] == [[[1, 1]], [[1, 2]], [[1, 2], [3, 5]], [[1, 1], [2, 3]], [[3, 4]]]
    assert out["at"] == [0, 0, 1, 1] and out["has"] == [False, False, True, True]
    assert out["old"] == "# %%\n1\n" and "no notebook" in out["none"]


def test_printed_numbers_stay_whole(out):
    assert out["printed"] == ["1.289", "0.5"]


def test_links(out):
    assert out["same"] and out["other"] is None and out["length"] < 200
    assert "damaged" in out["damaged"] and "another version" in out["later"]


def test_calls(out):
    f = "f"
    wanted = [[f, 0], [f, 1], [f, 2], None, None, ["g", 0], None, [f, 2]]
    assert out["calls"] == wanted
    assert out["arguments"] == {"list": ["a", "b: tuple[int, int]=(1, 2)", "*", "c=None"], "rest": ") -> Tensor"}


def test_names_in_a_script(out):
    tensor, module, optimizer = ["view", "T"], ["to"], ["step"]
    assert out["names"] == {
        "torch": ["ones", "nn"],
        "nn": ["Linear", "functional"],
        "F": ["relu"],
        "x": tensor,
        "y": tensor,
        "x.T": tensor,
        "net2": module,
        "lin": module,
        "opt": optimizer,
        "opt2": optimizer,
        "O": ["Adam"],
        "unknown": ["live_unknown"],
    }
    assert sorted(out["own"]) == sorted(["F", "Net", "m", "nn", "print", "while", "x"])
    assert out["entry"] == ["c", "(i, o)", "doc"]
