"""Entrances kept for old programs, and hooks that are refused rather than ignored: PyTorch's answers and errors."""

import warnings

import pytest

import torchlite as torch


def test_variable_is_a_detached_tensor():
    x = torch.ones(2, requires_grad=True)
    v = torch.autograd.Variable(x * 2)
    assert type(v) is torch.Tensor and v.is_leaf and not v.requires_grad
    assert torch.autograd.Variable(x, requires_grad=True).is_leaf
    t = torch.zeros(3)
    assert torch.autograd.Variable(t).data_ptr() == t.data_ptr()
    assert torch.autograd.Variable().shape == (0,)


def test_variable_refuses():
    with pytest.raises(TypeError, match="^Variable data has to be a tensor, but got list$"):
        torch.autograd.Variable([1.0])
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require gradients$"):
        torch.autograd.Variable(torch.arange(2), requires_grad=True)
    with pytest.warns(UserWarning, match="^volatile was removed and now has no effect"):
        torch.autograd.Variable(torch.ones(1), volatile=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.Variable(torch.ones(1))


@pytest.mark.parametrize("args", [(2, 3), ([1.0],), ()])
def test_legacy_constructor_does_not_ignore_its_device(args):
    assert torch.Tensor(*args, device="cpu").device.type == "cpu"
    with pytest.raises(RuntimeError, match="^legacy constructor expects device type: cpu but device type: meta was"):
        torch.Tensor(*args, device="meta")
    with pytest.raises(RuntimeError, match=r"^Legacy tensor constructor of the form torch\.Tensor\(tensor, device="):
        torch.Tensor(torch.ones(1), device="cpu")
