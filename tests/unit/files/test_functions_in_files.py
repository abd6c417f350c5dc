"""Functions that objects hold, such as the activation of a layer, go through pickle and torch.save, both ways."""

import copy
import io
import pickle

import pytest
import torchlite as torch

SPACES = [torch, torch.nn.functional, torch.linalg, torch.fft, torch.special, torch.functional]
FUNCTIONS = {
    f"{space.__name__}.{name}": getattr(space, name)
    for space in SPACES
    for name in dir(space)
    if name[0].islower() and type(getattr(space, name, None)).__name__ in ("Function", "Op")
}


def test_there_are_functions():
    assert len(FUNCTIONS) > 700 and {type(f).__name__ for f in FUNCTIONS.values()} == {"Function", "Op"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pickled(name):
    function = FUNCTIONS[name]
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_layers_that_hold_one(activation):
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=activation, batch_first=True).eval()
    file = io.BytesIO()
    torch.save(layer, file)
    x = torch.arange(8.0).reshape(1, 2, 4)
    for other in (None, pytest.importorskip("torch")):
        file.seek(0)
        library = other or torch
        read = library.load(file, weights_only=False)
        got = read(library.tensor(x.tolist())).tolist()
        assert torch.allclose(torch.tensor(got), layer(x), atol=1e-5)


def test_layers_of_pytorch():
    real = pytest.importorskip("torch")
    file = io.BytesIO()
    layer = real.nn.TransformerEncoderLayer(4, 2, 8, activation=real.nn.functional.mish)
    real.save(layer, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).activation is torch.nn.functional.mish


@pytest.mark.parametrize(
    "name",
    """nn.functional.logsigmoid nn.functional.relu nn.functional.softmax nn.functional.linear nn.functional.gelu cdist
    linalg.det fft.fft special.expit einsum split norm add block_diag""".split(),
)
def test_the_other_library_finds_the_same_function(name):
    real = pytest.importorskip("torch")

    def named(library):
        for part in name.split("."):
            library = getattr(library, part)
        return library

    for writer, reader in ((torch, real), (real, torch)):
        module, file = writer.nn.Module(), io.BytesIO()
        module.function = named(writer)
        writer.save(module, file)
        file.seek(0)
        assert reader.load(file, weights_only=False).function is named(reader)
