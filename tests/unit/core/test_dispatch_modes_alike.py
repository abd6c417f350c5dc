"""What a TorchDispatchMode sees of public calls: PyTorch's operators, with the same shapes, in the same order."""

import pytest
from alike import cases

import torchlite

torch = pytest.importorskip("torch")


def seen(lib, line):
    class Log(lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            ops.append((str(func), shown(args), {k: shown(v) for k, v in (kwargs or {}).items()}, shown(out)))
            return out

    def shown(a):
        if isinstance(a, lib.Tensor):
            return tuple(a.shape)
        return [shown(x) for x in a] if isinstance(a, (list, tuple)) else str(a)

    ops = []
    lib.manual_seed(0)
    names = {
        "torch": lib,
        "F": lib.nn.functional,
        "nn": lib.nn,
        "x": lib.arange(12.0).reshape(3, 4) + 1,
        "y": lib.rand(1, 3, 1, 4),
        "z": lib.rand(3, 4, requires_grad=True),
        "w": lib.rand(4, 5),
        "m": lib.rand(3, 3),
        "i": lib.tensor([0, 2]),
        "im": lib.rand(1, 2, 6, 6),
    }
    with Log():
        eval(line, names)
    return ops


@cases("""
y.squeeze_()
y.squeeze_(0)
y.squeeze_((0,2))
y.unsqueeze_(0)
x.t_()
x.transpose_(0,1)
x.swapaxes_(0,1)
x.swapdims_(0,1)
x.as_strided_((2,2),(1,1))
x.resize_(2,2)
x.resize_as_(w)
x.set_(w)
x.detach_()
z.detach()
z.requires_grad_(False)
x.requires_grad_()
x.mT
x.T
x.sum().item()
float(x.max())
bool(x.sum()>3)
[0,1,2][i[1]]
x[i[1]]
x.clamp(min=x.min())
F.interpolate(im,scale_factor=2.5)
F.interpolate(im,(3,8),mode='nearest-exact')
F.interpolate(im,scale_factor=(1.5,2),mode='bilinear',align_corners=True)
F.interpolate(im,scale_factor=.5,mode='bicubic',antialias=True)
F.interpolate(im[0],scale_factor=2,mode='linear')
i[1].tolist()
x.H
x.mH
x.real
x.zero_()
x.fill_(1)
x.copy_(w[:3,:4])
F.dropout(x,.5,True)
F.dropout(x,.5,True,inplace=True)
F.dropout(x,.5,False,inplace=True)
F.dropout(x,0.,True)
F.dropout(x,1.,True)
F.dropout(z,.5,True)
F.alpha_dropout(x,.5,True,inplace=True)
F.feature_alpha_dropout(x,.5,True,inplace=True)
F.dropout1d(x,.5,True,inplace=True)
F.dropout2d(im,.5,True)
F.dropout2d(im,.5,True,inplace=True)
F.dropout3d(im,.5,True,inplace=True)
F.relu_(x)
F.relu(x,inplace=True)
F.relu6(x)
F.relu6(x,inplace=True)
F.hardtanh_(x)
F.elu_(x)
F.elu(x,inplace=True)
F.celu_(x)
F.leaky_relu_(x)
F.silu(x,inplace=True)
F.mish(x,inplace=True)
F.hardswish(x,inplace=True)
F.hardsigmoid(x,inplace=True)
F.threshold_(x,1,2)
F.gelu(x)
F.softplus(x)
F.glu(x)
F.tanhshrink(x)
F.softsign(x)
F.softmin(x,1)
F.normalize(x)
F.linear(x,w.t())
F.mse_loss(x,z)
F.l1_loss(x,z)
F.smooth_l1_loss(x,z)
F.huber_loss(x,z)
F.cross_entropy(x,torch.tensor([0,1,2]))
F.nll_loss(x,torch.tensor([0,1,2]))
F.binary_cross_entropy(torch.sigmoid(x),z)
F.binary_cross_entropy_with_logits(x,z)
F.embedding(i,w)
F.pixel_shuffle(torch.rand(1,4,2,2),2)
F.channel_shuffle(torch.rand(1,4,2,2),2)
F.conv2d(im,torch.rand(1,2,2,2))
F.conv2d(im,torch.rand(1,2,2,2),padding='same')
F.conv_transpose2d(im,torch.rand(2,1,2,2))
F.max_pool2d(im,2)
F.max_pool2d(im,2,return_indices=True)
F.max_pool1d(im[0],2)
F.avg_pool2d(im,2)
F.avg_pool1d(im[0],2)
F.group_norm(im,2)
F.affine_grid(torch.rand(1,2,3),(1,1,2,2),align_corners=False)
x[0]
x[:,1]
x[None]
x[...,None]
x[i]
x[i,i]
x[:,i]
x[x>2]
x[[0,1]]
x.__setitem__(0,1.)
x.__setitem__((slice(None),1),w[:3,0])
x.__setitem__(x>2,0.)
x.__setitem__(i,0.)
x.__setitem__((0,0),5.)
x.split(2)
x.split([1,2])
x.chunk(2)
x.unbind()
list(x)
x.tensor_split(2)
x.flatten()
x.ravel()
x.reshape(4,3)
x.view_as(z)
x.expand_as(x)
x.unflatten(1,(2,2))
x.permute(1,0)
x.movedim(0,1)
x.narrow(0,0,1)
x.select(0,1)
x.diagonal()
x.unfold(0,2,1)
x.repeat(2,1)
x.tile(2)
x.roll(1,0)
x.flip(0)
x.rot90()
x.float()
x.double()
x.to(torch.float64)
x.to('cpu')
x.type(torch.int64)
x.half()
x.cpu()
x.contiguous()
x.t().contiguous()
x.clone()
x.bool()
x+1
x+x
1-x
x-1
2/x
x//2
x%2
2**x
x**2
x**.5
-x
abs(x)
x@w
x>1
x==x
x!=1
~(x>1)
x.add_(1)
x.mul_(2)
x.__iadd__(1)
x.__imul__(x)
x.__itruediv__(2)
x.__ipow__(2)
x.sum()
x.sum(1)
x.mean()
x.mean((0,1))
x.std()
x.max()
x.max(1)
x.min(1)
x.amax(1)
x.argmax()
x.argmax(1)
x.norm()
x.norm(dim=1)
x.prod()
x.cumsum(0)
x.logsumexp(1)
x.softmax(1)
x.log_softmax(1)
x.sort()
x.topk(2)
x.argsort()
x.median()
x.any()
x.all()
x.nonzero()
x.unique()
x.histc()
x.isnan()
x.isinf()
x.clamp(1)
x.clamp(1,2)
x.clamp_(1)
x.clip(0,1)
x.where(x>1,z)
x.gather(1,torch.zeros(3,1,dtype=torch.int64))
x.scatter(1,torch.zeros(3,1,dtype=torch.int64),1.)
x.scatter_add(1,torch.zeros(3,1,dtype=torch.int64),x)
x.index_select(0,i)
x.index_add(0,i,x[:2])
x.index_fill(0,i,1.)
x.masked_fill(x>2,0.)
x.masked_fill_(x>2,0.)
x.masked_select(x>2)
x.take(i)
torch.cat([x,x])
torch.stack([x,x])
torch.hstack([x,x])
torch.vstack([x,x])
torch.meshgrid(i,i,indexing='ij')
torch.mv(m,m[0])
torch.bmm(x[None],w[None])
torch.addmm(m,x,x.t())
torch.matmul(x,x[0])
torch.triu(x)
torch.diag(x[0])
torch.diag_embed(x)
torch.zeros(2)
torch.ones(2,2)
torch.full((2,),3.)
torch.arange(3)
torch.arange(0,3,2)
torch.linspace(0,1,3)
torch.eye(2)
torch.rand(2)
torch.randn(2)
torch.tensor([1.,2.])
torch.tensor(1)
torch.as_tensor(x)
torch.zeros_like(x)
torch.ones_like(x)
torch.full_like(x,2.)
torch.rand_like(x)
torch.randn_like(x)
torch.empty_like(x)
x.new_zeros(2)
x.new_ones(2)
x.new_full((2,),1.)
x.new_empty(2)
x.bernoulli_()
torch.multinomial(x,2)
x.item
torch.fft.fft(x)
torch.fft.rfft(x)
torch.view_as_real(torch.complex(x,x))
torch.polar(x,x)
torch.complex(x,x).abs()
torch.lerp(x,x,.5)
torch.addcmul(x,x,x)
torch.special.erf(x)
torch.special.expit(x)
torch.special.xlogy(x,x)
torch.bucketize(x,x[0])
torch.searchsorted(x[0],x[0])
torch.bincount(i)
torch.cross(x[:,:3],x[:,:3],dim=1)
torch.equal(x,x)
nn.init.xavier_uniform_(x)
""")
def test_seen(line):
    assert seen(torchlite, line) == seen(torch, line)
