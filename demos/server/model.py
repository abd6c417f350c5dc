"""The model that server.mjs serves: an ordinary PyTorch file.

The server wants three names: INPUTS, how many numbers a request has; load(path), called once with the file of weights;
predict(rows), which gets a (requests, INPUTS) tensor and returns one row for each.
"""

import torch
from torch import nn

INPUTS = 64

model = nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, 10)).eval()


def load(path):
    model.load_state_dict(torch.load(path))


@torch.inference_mode()
def predict(rows):
    """Probabilities of ten classes."""
    return torch.softmax(model(rows), dim=1)
