"""pytorch-lightning: the older name of lightning.pytorch."""

from . import lightning


def fit():
    return lightning.fit("pytorch_lightning", "pytorch_lightning.callbacks")
