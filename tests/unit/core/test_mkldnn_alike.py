"""Tensors of the layout torch._mkldnn, and torch._C._select_conv_backend: what PyTorch does with the same line."""

import itertools

import pytest
import torchlite
from alike import alike, cases


@cases("""
x=torch.arange(6.).reshape(2,3).to_mkldnn(); x
torch.ones(2,2).to_mkldnn().requires_grad_()
x=torch.ones(2).to_mkldnn(); (x.layout,x.is_mkldnn,x.is_sparse,x.dtype,x.device,x.element_size(),x.numel())
torch.ones(3).is_mkldnn
torch.ones(3,dtype=torch.float64).to_mkldnn()
torch.ones(3,dtype=torch.int64).to_mkldnn()
torch.ones(3).bfloat16().to_mkldnn().to_dense()
torch.ones(3).to_mkldnn(torch.bfloat16).to_dense()
torch.ones(3).bfloat16().to_mkldnn().to_dense(torch.float32)
torch.zeros(2,3,layout=torch._mkldnn)
torch.zeros(2,0,layout=torch._mkldnn).shape
torch.empty(2,dtype=torch.float64,layout=torch._mkldnn)
torch.ones(3).to_mkldnn().numpy()
torch.ones(3).to_mkldnn().tolist()
torch.ones(3).to_mkldnn().data_ptr()
torch.ones(3).to_mkldnn().untyped_storage()
import copy; copy.deepcopy(torch.ones(3).to_mkldnn())
import pickle; pickle.dumps(torch.ones(3).to_mkldnn())
x=torch.arange(4.).to_mkldnn(); (x+x, x*x, x*2, x.clone(), x.detach())
x=torch.arange(4.).to_mkldnn(); x.add_(x); x.mul_(3); x
x=torch.arange(4.).to_mkldnn(); x.zero_(); x
x=torch.arange(4.).to_mkldnn(); x.copy_(torch.ones(4).to_mkldnn()); x
x=torch.arange(4.).to_mkldnn(); x.copy_(torch.ones(4))
x=torch.arange(4.).to_mkldnn(); x+torch.ones(4)
x=torch.arange(4.).to_mkldnn(); torch.ones(4)+x
x=torch.arange(-2.,2.).to_mkldnn(); (x.relu(), torch.sigmoid(x).to_dense(), x.tanh(), F.gelu(x), x.softmax(-1))
x=torch.arange(6.).to_mkldnn(); x.reshape(2,3)
x=torch.arange(6.).reshape(2,3).to_mkldnn(); (x.transpose(0,1), x.flatten())
x=torch.arange(6.).reshape(2,3).to_mkldnn(); F.linear(x,torch.ones(4,3),torch.ones(4))
x=torch.arange(32.).reshape(1,2,4,4).to_mkldnn(); (F.max_pool2d(x,2), F.avg_pool2d(x,2), F.adaptive_avg_pool2d(x,2))
x=torch.arange(32.).reshape(1,2,4,4).to_mkldnn(); F.conv2d(x,torch.ones(3,2,3,3)).layout
x=torch.arange(32.).reshape(1,2,4,4).to_mkldnn();
    F.batch_norm(x,torch.ones(2),torch.ones(2),torch.ones(2),torch.ones(2))
w=torch.ones(3,2,3,3,requires_grad=True); x=torch.ones(1,2,4,4,requires_grad=True);
    F.conv2d(x.to_mkldnn(),w).to_dense().sum().backward(); (w.grad,x.grad)
w=torch.ones(3,2,requires_grad=True); x=torch.ones(4,2,requires_grad=True);
    F.linear(x.to_mkldnn(),w).to_dense().sum().backward(); (w.grad,x.grad)
x=torch.ones(4,2).to_mkldnn().requires_grad_(); (x*x).to_dense().sum().backward(); x.grad
x=torch.ones(4,2,requires_grad=True); x.to_mkldnn().relu().to_dense().sum().backward(); x.grad
x=torch.ones(4,2,requires_grad=True); x.to_mkldnn().backward(torch.ones(4,2))
(torch.backends.mkldnn.is_available(), torch.backends.mkldnn.enabled, torch._C._has_mkldnn)
(torch.backends.mkldnn.deterministic, torch.ops.mkldnn._is_mkldnn_acl_supported())
""")
def test_lines(line):
    alike(line)


@pytest.mark.parametrize("name", "exp sum mean sqrt neg abs cumsum sort argmax t unsqueeze".split())
def test_other_ops_are_refused(name):
    x = torchlite.ones(2, 3).to_mkldnn()
    args = (0,) if name in ("cumsum", "unsqueeze") else ()
    with pytest.raises((NotImplementedError, RuntimeError), match="MkldnnCPU"):
        getattr(x, name)(*args)


def test_the_backend_of_a_convolution():
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    shapes = [(1, 6, 7), (2, 6, 7, 8), (0, 6, 7, 8), (1, 6, 7, 8, 9), (1, 6, 70, 80), (17, 6, 5, 5)]
    names = {int(b): b.name for b in torchlite._C._ConvBackend}

    def choice(lib, shape, transposed, dilation, stride, groups, kernel, dtype):
        dims = len(shape) - 2
        weight = lib.ones(6 if transposed else 12, (12 if transposed else 6) // groups, *(kernel,) * dims)
        x, weight = lib.ones(shape).to(getattr(lib, dtype)), weight.to(getattr(lib, dtype))
        each = [(n,) * dims for n in (stride, 0, dilation)]
        return lib._C._select_conv_backend(x, weight, None, *each, bool(transposed), (0,) * dims, groups)

    try:
        for given in itertools.product(shapes, (0, 1), (1, 2), (1, 2), (1, 3), (1, 3, 5), ("float32", "float64")):
            try:
                expected = choice(torch, *given)
            except RuntimeError:  # no such convolution
                continue
            assert names[int(expected)] == choice(torchlite, *given).name, given
    finally:
        torch.set_num_threads(threads)
