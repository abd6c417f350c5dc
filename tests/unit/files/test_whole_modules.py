"""Whole modules in files: each class of torch.nn, written by one library and read by the other."""

import io
import warnings

import pytest

import torchlite

torch = pytest.importorskip("torch")
from module_cases import modules

OURS, THEIRS = modules(torchlite), modules(torch)


def through_a_file(module, writer, reader, protocol):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.save(module, file, pickle_protocol=protocol)
        file.seek(0)
        return reader.load(file, weights_only=False)


def test_every_module_is_here():
    assert OURS.keys() == THEIRS.keys() and len(OURS) > 155


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("protocol", [2, 5])
def test_both_ways(name, protocol):
    for module, writer, reader in ((OURS[name], torchlite, torch), (THEIRS[name], torch, torchlite)):
        back = through_a_file(module, writer, reader, protocol)
        assert type(back) is getattr(reader.nn, name)
        assert [n for n, _ in back.named_modules()] == [n for n, _ in module.named_modules()]
        assert repr(back) == repr(module)
        assert back.state_dict().keys() == module.state_dict().keys()
        for key, value in module.state_dict().items():
            if not name.startswith("Lazy"):  # their parameters have no values yet
                assert back.state_dict()[key].tolist() == value.tolist(), key
        through_a_file(back, reader, writer, protocol)


def test_attributes_are_those_of_pytorch():
    """Other programs read them, and a module out of a file has no others."""
    for name, module in OURS.items():
        mine, want = set(vars(module)), set(vars(THEIRS[name]))
        assert want - mine <= {"_flat_weights", "_flat_weight_refs"} and not mine - want, (name, mine ^ want)
