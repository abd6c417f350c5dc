"""Private helpers of containers that subclasses in other projects call, and the typed storage that they ask for."""

import torchlite as torch
from torchlite import nn


def test_subclasses_find_items_as_pytorch_does():
    class Chain(nn.Sequential):
        def __getitem__(self, i):
            return self._get_item_by_idx(self._modules.values(), i)

    class Stack(nn.ModuleList):
        def __getitem__(self, i):
            return self._modules[self._get_abs_string_index(i)]

    relu, tanh = nn.ReLU(), nn.Tanh()
    assert Chain(relu, tanh)[-1] is tanh
    assert Stack([relu, tanh])[-2] is relu
    assert nn.ParameterList([torch.ones(2)])._get_abs_string_index(-1) == "0"


def test_typed_storage():
    x = torch.arange(4.0)
    made = x.new(x._typed_storage()._new_shared(4)).resize_(2, 2)
    assert made.shape == (2, 2) and made.dtype is torch.float32
    assert x._typed_storage().data_ptr() == x.data_ptr()
