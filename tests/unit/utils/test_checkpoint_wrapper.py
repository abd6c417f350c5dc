"""Wrapped modules compute their activations again, and keep their names: PyTorch's answers."""

import pytest
import torchlite as torch
from torchlite import nn
from torchlite.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapping


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = nn.Linear(2, 2), 0

    def forward(self, x, *, times=1):
        self.calls += 1
        return self.layer(x).tanh() * times


@pytest.mark.parametrize("impl", wrapping.CheckpointImpl)
def test_a_wrapped_module(impl):
    plain = Counted()
    wrapped = wrapping.checkpoint_wrapper(plain, checkpoint_impl=impl)
    x = torch.ones(1, 2, requires_grad=True)
    wrapped(x, times=2).sum().backward()
    again = x.detach().requires_grad_()
    got, plain.layer.weight.grad = plain.layer.weight.grad, None
    assert plain.calls == 2
    plain(again, times=2).sum().backward()
    assert torch.equal(x.grad, again.grad) and torch.equal(got, plain.layer.weight.grad)
    assert list(wrapped.state_dict()) == [n for n, _ in wrapped.named_parameters()] == list(plain.state_dict())
    assert str(wrapped.load_state_dict(plain.state_dict())) == "<All keys matched successfully>"
    assert wrapped.calls == 3


def test_modules_inside_a_model():
    model = nn.Sequential(Counted(), nn.Sequential(Counted(), nn.ReLU()))
    keys = list(model.state_dict())
    wrapping.apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Counted))
    assert type(model[0]) is type(model[1][0]) is wrapping.CheckpointWrapper and type(model[1][1]) is nn.ReLU
    assert list(model.state_dict()) == keys
    assert wrapping.offload_wrapper(nn.Linear(2, 3))(torch.ones(1, 2)).shape == (1, 3)
    with pytest.raises(TypeError, match="abstract"):
        wrapping.ActivationWrapper(nn.ReLU())
