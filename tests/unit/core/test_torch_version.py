"""torch.__version__ compares as a version."""

import pytest

import torchlite as torch
from torchlite.torch_version import TorchVersion

ORDERED = """1.9.1 1.10 2.0.dev5 2.0a0+git1 2.0a1 2.0b1 2.0rc1 2.0 2.0+cpu 2.0+cu121 2.0.post1.dev2 2.0.post1 2.0.1 2.10
2.13.0+abc.1 2.13.0+1 2.13.0+2""".split()


def test_versions_are_in_order():
    for i, one in enumerate(ORDERED):
        for j, other in enumerate(ORDERED):
            assert (TorchVersion(one) < other, TorchVersion(one) > TorchVersion(other)) == (i < j, i > j), (one, other)
    assert TorchVersion("2.0.0") == "2.0" and TorchVersion("2.0.0") != "2.0.1"


def test_the_version_of_this_package():
    version = torch.__version__
    assert isinstance(version, str) and type(version) is TorchVersion and hash(version) == hash(str(version))
    assert (2, 1) < version and version >= (2, 13) and version < (2, 13, 1) and version > "2.9"
    assert version > "2.13.0" and version != "2.13.0" and not version > "no version"
    with pytest.raises(TypeError):
        version > 3  # noqa: B015


def test_as_in_pytorch():
    real = pytest.importorskip("torch", reason="PyTorch is not installed")
    if real is torch:
        pytest.skip("torch is torchlite here")
    from torch.torch_version import TorchVersion as Real

    for one in ORDERED:
        for other in [*ORDERED, "text", (2, 0), (2, 13), (2, 0, 1)]:
            mine, its = TorchVersion(one), Real(one)
            assert (mine < other, mine == other, mine >= other) == (its < other, its == other, its >= other)


def test_functions_of_recurrent_layers():
    x = torch.ones(2, 3)
    assert torch.equal(torch._VF.add(x, x), x + x)
    with pytest.raises(AttributeError):
        torch._VF.no_such_function  # noqa: B018


def test_small_private_functions():
    assert torch._is_all_true(torch.tensor([True, True])) and not torch._is_all_true(torch.tensor([True, False]))
    assert torch._is_any_true(torch.tensor([True, False])) and not torch._is_any_true(torch.tensor([False]))
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    assert torch.legacy_contiguous_format is torch.contiguous_format
    with pytest.raises(RuntimeError, match="expected Bool|must have dtype"):
        torch._is_all_true(torch.ones(2))
