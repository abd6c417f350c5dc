"""Switches, copies, embedding bags, refusals: what PyTorch does with the same line."""

import warnings

import pytest
from alike import alike, cases

import torchlite


@cases("""
F.elu_(torch.randn(3,requires_grad=True).clone(),alpha=-2).sum().backward()
x=torch.tensor([-1.,2.],requires_grad=True); F.elu(x.clone(),-2.,inplace=True).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.elu(x.clone(),-2.,inplace=True); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.elu(x.clone(),2.,inplace=True).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.elu(x,-2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); torch.celu_(x.clone(),-2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.celu(x,-2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); torch.celu_(x.clone(),2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); torch.celu(x.clone(),0.)
x=torch.tensor([-1.,2.],requires_grad=True); F.leaky_relu_(x.clone(),-2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.leaky_relu_(x.clone(),0.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.leaky_relu_(x.clone(),.1).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.leaky_relu(x,-2.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.rrelu_(x.clone(),-2.,-1.,True).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.rrelu_(x.clone(),-2.,-1.,False).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.rrelu_(x.clone(),.1,.3,True).sum().backward(); x.grad.shape
x=torch.tensor([-1.,2.],requires_grad=True); F.rrelu(x,-2.,-1.,False).sum().backward(); x.grad
F.rrelu(torch.ones(2),2.,1.)
x=torch.tensor([-1.,2.],requires_grad=True); F.threshold_(x.clone(),-2.,-1.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.hardtanh_(x.clone(),-2.,1.).sum().backward(); x.grad
x=torch.tensor([-1.,2.],requires_grad=True); F.selu_(x.clone()).sum().backward(); x.grad
nn.ELU(-1.,inplace=True)(torch.tensor([-1.],requires_grad=True)*1).sum().backward()
nn.LeakyReLU(-1.,inplace=True)(torch.tensor([-1.],requires_grad=True)*1).sum().backward()
nn.CELU(-1.,inplace=True)(torch.tensor([-1.],requires_grad=True)*1).sum().backward()
torch.are_deterministic_algorithms_enabled()
torch.set_deterministic_debug_mode("foo")
torch.set_deterministic_debug_mode(4)
torch.set_deterministic_debug_mode(1.5)
torch.use_deterministic_algorithms(1)
torch.use_deterministic_algorithms("a")
torch.use_deterministic_algorithms()
torch.utils.deterministic.fill_uninitialized_memory
torch.utils.deterministic.fill_uninitialized_memory=1
torch.set_float32_matmul_precision("foo")
torch.atleast_1d(torch.tensor(1),torch.tensor(2))
torch.atleast_1d([torch.tensor(1),torch.tensor(2)])
torch.atleast_1d((torch.tensor(1),torch.tensor(2)))
torch.atleast_1d(torch.tensor(1))
torch.atleast_2d(torch.tensor(1),torch.tensor([2]))
torch.atleast_2d([torch.tensor(1)])
torch.atleast_2d(torch.tensor([1]))
torch.atleast_3d(torch.tensor(1),torch.tensor([2]),torch.ones(2,2))
torch.atleast_3d([torch.ones(2,2)])
torch.atleast_3d(torch.ones(2,2,2,2)).shape
torch.atleast_1d()
torch.atleast_2d()
torch.atleast_1d(1)
torch.atleast_1d([])
torch.atleast_1d([1])
torch.atleast_1d(torch.tensor(1),2)
torch.ones(2,3).amax(dim=None)
torch.ones(2,3).amin(dim=None)
torch.amax(torch.ones(2,3),None)
torch.amax(torch.ones(2,3),())
torch.amax(torch.ones(2,3))
torch.amax(torch.ones(2,3),None,True)
torch.amax(torch.ones(2,3),dim=None,keepdim=True)
torch.amax(torch.ones(2,3),[0,1])
torch.amax(torch.ones(2,3),0)
torch.amin(torch.ones(2,3),dim=(0,0))
torch.amin(torch.ones(0),dim=None)
torch.aminmax(torch.ones(2,3),dim=None)
torch.sum(torch.ones(2,3),None)
torch.mean(torch.ones(2,3),None)
torch.logsumexp(torch.ones(2,3),None)
torch.any(torch.ones(2,3),None)
torch.all(torch.ones(2,3),dim=None)
torch.argmax(torch.ones(2,3),dim=None)
torch.var(torch.ones(2,3),dim=None)
torch.std(torch.ones(2,3),None)
torch.nansum(torch.ones(2,3),None)
torch.nanmean(torch.ones(2,3),None)
torch.count_nonzero(torch.ones(2,3),None)
torch.cumsum(torch.ones(2,3),None)
torch.roll(torch.ones(2,3),1,None)
torch.flip(torch.ones(2,3),None)
torch.unique(torch.ones(2),dim=None)
torch.norm(torch.ones(2,3),dim=None)
torch.quantile(torch.ones(2,3),.5,None)
torch.ones(1).is_nonzero()
torch.is_nonzero(torch.ones(1))
torch.is_nonzero(torch.ones(2))
torch.is_nonzero(torch.ones(0))
torch.is_nonzero(torch.tensor(0.))
torch.is_nonzero(torch.tensor(1j))
torch.is_nonzero(1)
torch.ones([1]*64).dim()
torch.tensor(np.ones([1]*64)).dim()
torch.testing.make_tensor((2,2),dtype=torch.uint8,device="cpu",low=-5,high=5).dtype
torch.testing.make_tensor((2,2),dtype=torch.uint8,device="cpu",low=-5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.uint8,device="cpu")
torch.testing.make_tensor((2,2),dtype=torch.int64,device="cpu",low=-5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.float32,device="cpu",low=-5,high=5)
torch.testing.make_tensor(2,2,dtype=torch.float32,device="cpu")
torch.testing.make_tensor((2,2),dtype=torch.complex64,device="cpu")
torch.testing.make_tensor((2,2),dtype=torch.bool,device="cpu")
torch.testing.make_tensor((2,2),dtype=torch.bool,device="cpu",low=0,high=1)
torch.testing.make_tensor((2,2),dtype=torch.bool,device="cpu",low=0,high=2)
torch.testing.make_tensor((2,2),dtype=torch.bool,device="cpu",low=-5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.float16,device="cpu")
torch.testing.make_tensor((2,2),dtype=torch.bfloat16,device="cpu",low=0,high=1)
torch.testing.make_tensor((2,2),dtype=torch.int8,device="cpu",low=-500,high=500)
torch.testing.make_tensor((2,2),dtype=torch.int8,device="cpu",low=5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.int64,device="cpu",low=5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.float32,device="cpu",low=5,high=5)
torch.testing.make_tensor((2,2),dtype=torch.float32,device="cpu",low=6,high=5)
torch.testing.make_tensor((2,2),dtype=torch.float32,device="cpu",low=float('nan'),high=5)
torch.testing.make_tensor((2,2),dtype=torch.float32,device="cpu",low=float('-inf'),high=float('inf')).shape
torch.testing.make_tensor((2,2),dtype=torch.int32,device="cpu",low=.5,high=2.5)
torch.testing.make_tensor((2,3),dtype=torch.float32,device="cpu",noncontiguous=True).stride()
torch.testing.make_tensor((2,3),dtype=torch.float32,device="cpu",noncontiguous=True)
torch.testing.make_tensor((2,3),dtype=torch.float32,device="cpu",exclude_zero=True,requires_grad=True)
torch.testing.make_tensor((2,3),dtype=torch.int32,device="cpu",exclude_zero=True)
torch.testing.make_tensor((2,3),dtype=torch.int32,device="cpu",requires_grad=True)
torch.testing.make_tensor((1,2,2,2),dtype=torch.float32,device="cpu",memory_format=torch.channels_last).stride()
torch.testing.make_tensor((),dtype=torch.float32,device="cpu")
torch.testing.make_tensor(3,dtype=torch.float32,device="cpu")
torch.testing.make_tensor((0,3),dtype=torch.float32,device="cpu").shape
torch.testing.make_tensor((3,),dtype=torch.float32)
torch.testing.make_tensor((3,),device="cpu")
""")
def test_switches(line):
    """In-place activations at negative slopes, deterministic mode, dim None, make_tensor."""
    alike(line)


@cases("""
torch.backends.cuda.is_built(), torch.backends.cuda.matmul.allow_tf32
with torch.backends.mkldnn.verbose(1): pass
with torch.backends.mkl.verbose(0): pass
with torch.backends.nnpack.flags(enabled=False): pass
torch.backends.flags_frozen()
import copy; copy.copy(torch.finfo(torch.float32))
import copy; copy.deepcopy(torch.finfo(torch.float32))
import copy; copy.copy(torch.iinfo(torch.int32))
import pickle; pickle.dumps(torch.finfo(torch.float32))
import copy; copy.deepcopy(torch.float32), copy.copy(torch.float32) is torch.float32
import copy; copy.deepcopy(torch.device("cpu")), copy.copy(torch.device("cpu"))
import copy; copy.deepcopy(torch.strided), copy.deepcopy(torch.channels_last)
import copy; copy.deepcopy(torch.Size([1,2])), copy.copy(torch.Size([1]))
import copy; copy.deepcopy(torch.add) is torch.add, copy.copy(torch.add) is torch.add
import copy; copy.deepcopy(torch.nn.functional.relu) is torch.nn.functional.relu
import copy; copy.deepcopy(torch.ops.aten.add) is torch.ops.aten.add
import copy; copy.deepcopy(torch.Tensor.add) is torch.Tensor.add
import copy; copy.deepcopy(torch.linalg.norm) is torch.linalg.norm
import copy; copy.deepcopy(torch.special.erf) is torch.special.erf
import copy; copy.deepcopy(torch.fft.fft) is torch.fft.fft
import pickle; pickle.loads(pickle.dumps(torch.add)) is torch.add
import pickle; pickle.loads(pickle.dumps(torch.nn.functional.conv2d)) is torch.nn.functional.conv2d
import pickle; pickle.loads(pickle.dumps(torch.linalg.norm)) is torch.linalg.norm
import pickle; pickle.loads(pickle.dumps(torch.Tensor.add)) is torch.Tensor.add
import copy; copy.deepcopy(torch.default_generator) is torch.default_generator
import pickle; g=torch.Generator().manual_seed(3); h=pickle.loads(pickle.dumps(g)); torch.rand(2,generator=h)
import copy; copy.deepcopy(torch.ones(2).untyped_storage()).nbytes()
import copy; copy.copy(torch.ones(2).untyped_storage()).nbytes()
import copy; copy.deepcopy(torch.ones(2).storage())
import copy; x=torch.ones(2); y=copy.copy(x); y.data_ptr()==x.data_ptr(), y
import copy; x=torch.ones(2,requires_grad=True); y=copy.copy(x); y
import copy; x=torch.ones(2,requires_grad=True)*2; copy.copy(x)
import copy; copy.deepcopy(torch.max(torch.ones(2,2),0))
import copy; copy.copy(torch.max(torch.ones(2,2),0))
import copy; copy.deepcopy(nn.Linear(2,2)).weight.shape
import copy; copy.deepcopy(nn.Parameter(torch.ones(2)))
import copy; copy.deepcopy(torch.optim.SGD([torch.ones(2,requires_grad=True)],.1)).param_groups[0]['lr']
import copy; copy.deepcopy(torch.distributions.Normal(0.,1.)).loc
import copy; copy.deepcopy(torch.no_grad()).__class__.__name__
import copy; copy.deepcopy(torch.contiguous_format) is torch.contiguous_format
import copy; copy.deepcopy(torch.per_tensor_affine) is torch.per_tensor_affine
import copy; copy.deepcopy(torch.inference_mode).__name__
import copy; copy.deepcopy(torch.autograd.Function).__name__
import copy; copy.deepcopy(F.gelu)(torch.ones(1))
torch.from_dlpack(torch.ones(2).__dlpack__())
torch.from_dlpack(torch.ones(2))
x=torch.ones(2); y=torch.from_dlpack(x, copy=True); y.add_(1); x, y
x=np.ones(2); y=torch.from_dlpack(x, device="cpu", copy=False); y.add_(1); x, y
torch.from_dlpack(torch.ones(2), device="meta")
torch.from_dlpack(torch.ones(2), device="cuda")
torch.from_dlpack(torch.ones(2).__dlpack__(), copy=True)
[type(m).__name__ for m in (lambda l: nn.Sequential(l, l))(nn.ReLU()).modules(remove_duplicate=False)]
from torch.utils._pytree import GetAttrKey, MappingKey, SequenceKey
    ; MappingKey(key="a").key, SequenceKey(idx=2).idx, GetAttrKey(name="b").name
torch.distributions.constraints.interval(0, upper_bound=2)
torch.from_dlpack(np.ones(2))
import torch.utils.dlpack as d; d.from_dlpack(d.to_dlpack(torch.arange(3)))
c=torch.ones(2).__dlpack__(); torch.from_dlpack(c); torch.from_dlpack(c)
torch.from_dlpack(3)
torch.ones(2,requires_grad=True).__dlpack__()
torch.from_dlpack(torch.ones(2,dtype=torch.bool))
torch.from_dlpack(torch.ones(2,3).t()).stride()
F.conv1d(torch.ones(1,3,5),torch.ones(1,0,2))
F.conv1d(torch.ones(0,3,5),torch.ones(2,2,2))
F.conv1d(torch.ones(0,3,5),torch.ones(2,3,2)).shape
F.conv2d(torch.ones(0,3,5,5),torch.ones(2,2,2,2))
F.conv1d(torch.ones(2,0,5),torch.ones(2,3,2))
F.conv_transpose1d(torch.ones(0,3,5),torch.ones(2,2,2))
F.conv_transpose1d(torch.ones(0,3,5),torch.ones(3,2,2)).shape
F.conv1d(torch.ones(0,4,5),torch.ones(2,2,2),groups=2).shape
F.conv1d(torch.ones(0,4,5),torch.ones(3,2,2),groups=2).shape
F.adaptive_max_pool1d(torch.ones(1,0,3),2)
F.adaptive_max_pool1d(torch.ones(0,2,3),2).shape
F.adaptive_max_pool2d(torch.ones(1,0,3,3),2)
F.adaptive_avg_pool1d(torch.ones(1,0,3),2)
F.adaptive_avg_pool2d(torch.ones(1,0,3,3),2)
F.adaptive_max_pool3d(torch.ones(1,0,3,3,3),2)
F.max_pool1d(torch.ones(1,0,3),2)
F.max_pool2d(torch.ones(1,0,3,3),2)
F.max_pool1d(torch.ones(0,2,3),2).shape
""")
def test_objects(line):
    """Copies and pickles of PyTorch's objects, DLPack, empty sizes."""
    alike(line)


@cases("""
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2,2]),mode="max")
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2,2]),mode="mean")
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2,2]),mode="sum")
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,0,4]),mode="max")
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,0,4]),mode="mean")
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,5]))
F.embedding_bag(torch.tensor([[0,1],[2,3]]),torch.arange(8.).reshape(4,2))
F.embedding_bag(torch.tensor([[0,1],[2,3]]),torch.arange(8.).reshape(4,2),mode="sum")
F.embedding_bag(torch.tensor([[0,1],[2,3]]),torch.arange(8.).reshape(4,2),mode="max")
F.embedding_bag(torch.tensor([[0,1],[2,3]]),torch.arange(8.).reshape(4,2),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8.).reshape(4,2))
F.embedding_bag(torch.tensor(0),torch.arange(8.).reshape(4,2))
F.embedding_bag(torch.tensor([0,1,2]),torch.arange(8.).reshape(4,2),torch.tensor([[0]]))
F.embedding_bag(torch.zeros(0,dtype=torch.int64),torch.arange(8.).reshape(4,2),torch.tensor([0,0]))
F.embedding_bag(torch.zeros(0,dtype=torch.int64),torch.arange(8.).reshape(4,2),torch.tensor([0,0]),mode='max')
F.embedding_bag(torch.zeros(0,dtype=torch.int64),torch.arange(8.).reshape(4,2),torch.zeros(0,dtype=torch.int64))
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=1)
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=1,mode='sum')
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=1,mode='max')
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=-1,mode='max')
F.embedding_bag(torch.tensor([0,0,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=0,mode='max')
F.embedding_bag(torch.tensor([0,0,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=0,mode='mean')
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=7)
F.embedding_bag(torch.tensor([0,1,2,3]),torch.arange(8.).reshape(4,2),torch.tensor([0,2]),padding_idx=-7)
F.embedding_bag(torch.tensor([0.,1]),torch.arange(8.).reshape(4,2),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1],dtype=torch.int32),torch.arange(8.).reshape(4,2),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8.).reshape(4,2),torch.tensor([0],dtype=torch.int32))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8.,dtype=torch.float16).reshape(4,2),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8).reshape(4,2),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8.).reshape(4,2),torch.tensor([0]),mode='foo')
F.embedding_bag(torch.arange(8.).reshape(4,2),torch.tensor([0,1]),torch.tensor([0]))
F.embedding_bag(torch.tensor([0,1]),torch.arange(8.).reshape(4,2),torch.tensor([0]),scale_grad_by_freq=True,mode='max')
w=torch.arange(8.).reshape(4,2); r=F.embedding_bag(torch.tensor([0,1,2,3]),w,torch.tensor([0,2]),max_norm=1.); r,w
w=torch.arange(8.).reshape(4,2); r=F.embedding_bag(torch.tensor([[0,1],[2,2]]),w,max_norm=2.,mode='max'); r,w
w=torch.arange(8.).reshape(4,2); r=F.embedding(torch.tensor([0,1,1]),w,max_norm=1.); r,w
w=torch.arange(8.).reshape(4,2); r=F.embedding(torch.tensor([[0],[2]]),w,max_norm=1.,norm_type=1.); r,w
w=torch.arange(8.).reshape(4,2); r=F.embedding(torch.tensor([],dtype=torch.int64),w,max_norm=1.); r,w
e=nn.Embedding(4,2,max_norm=1.); e(torch.tensor([0,1])).norm(dim=1)<=1.0001
e=nn.EmbeddingBag(4,2,max_norm=1.); e(torch.tensor([[0,1]])).shape
torch.embedding_bag(torch.arange(8.).reshape(4,2),torch.tensor([0,1,2,3]),torch.tensor([0,2]))
torch.embedding_bag(torch.arange(8.).reshape(4,2),torch.tensor([0,1,2,3]),torch.tensor([0,2]),False,1)
torch.embedding_bag(torch.arange(8.).reshape(4,2),torch.tensor([0,1,2,3]),torch.tensor([0,2]),False,2)
torch.embedding_bag(torch.arange(8.).reshape(4,2),torch.tensor([0,1,2,3]),torch.tensor([0,2]),False,0,False,None,True)
nn.EmbeddingBag(4,2,mode='max',scale_grad_by_freq=True)
nn.Embedding(4,2,padding_idx=-1).padding_idx
nn.Embedding(4,2,padding_idx=4)
F.embedding(torch.tensor([0,4]),torch.ones(4,2))
F.embedding(torch.tensor([0,-1]),torch.ones(4,2))
F.embedding(torch.tensor([0.]),torch.ones(4,2))
F.embedding(torch.tensor([0]),torch.ones(4))
F.embedding(torch.tensor([0],dtype=torch.int16),torch.ones(4,2))
F.embedding(torch.tensor([0]),torch.ones(4,2),padding_idx=4)
F.embedding(torch.tensor([0]),torch.ones(4,2),padding_idx=-5)
""")
def test_embedding_bags(line):
    """Modes, offsets, weights, padding, max_norm."""
    alike(line)


FILL = "torch.use_deterministic_algorithms(True); r = %s; torch.use_deterministic_algorithms(False); r"


@pytest.mark.parametrize(
    "made",
    [
        "torch.empty(3)",
        "torch.empty(2, dtype=torch.int64)",
        "torch.empty(2, dtype=torch.bool)",
        "torch.empty(2, dtype=torch.uint8)",
        "torch.empty(1, dtype=torch.bfloat16)",
        "torch.empty_like(torch.ones(2))",
        "torch.ones(1).new_empty(2)",
        "torch.empty_strided((2, 2), (1, 2))",
        "torch.empty_permuted((2, 3), (1, 0))",
        "torch.Tensor(2)",
        "torch.ones(2).resize_(4)",
    ],
)
def test_deterministic_mode_fills(made):
    """What is left uninitialised is NaN, the largest integer or True."""
    alike(FILL % made)


@pytest.mark.parametrize(
    "call",
    [
        "torch.use_deterministic_algorithms(True)",
        "torch.use_deterministic_algorithms(True, warn_only=True)",
        "torch.use_deterministic_algorithms(False, warn_only=True)",
        "torch.set_deterministic_debug_mode(1)",
        "torch.set_deterministic_debug_mode('error')",
    ],
)
def test_deterministic_switches(call):
    """The getters after each setter."""
    alike(
        call
        + "; r = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), "
        "torch.get_deterministic_debug_mode()); torch.use_deterministic_algorithms(False); r"
    )


@pytest.mark.parametrize(
    "flags",
    [
        "cudnn.flags(enabled=False)",
        "mkldnn.flags(enabled=False)",
        "opt_einsum.flags(enabled=False)",
        "cuda.sdp_kernel(enable_flash=False)",
    ],
)
def test_flags_decorate(flags):
    """torch.backends.*.flags as a decorator and as a context."""
    backends = torchlite.backends
    make = eval("lambda: backends." + flags, {"backends": backends})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert make()(lambda x: x + 1)(2) == 3
        with make():
            pass
    backends.cudnn.benchmark = False
    with backends.cudnn.flags(benchmark=True):
        assert backends.cudnn.benchmark is True
    assert backends.cudnn.benchmark is False


@cases("""
torch.ldexp(torch.ones(2,dtype=torch.float16),torch.tensor([3,4]))
torch.ldexp(torch.ones(2,dtype=torch.bfloat16),torch.tensor([3,4],dtype=torch.int32))
torch.ldexp(torch.tensor([1.,2.**-1000,0.],dtype=torch.float64),torch.tensor([300,1100,2000]))
torch.ldexp(torch.tensor([1.,2.**-100,0.]),torch.tensor([300,160,2000]))
torch.ldexp(torch.tensor([3.,1.]),torch.tensor([-140,-300]))
torch.ldexp(torch.ones(2),torch.tensor([True,False]))
torch.ones(2,dtype=torch.float16).ldexp_(torch.tensor([3,4]))
torch.linspace(0,300,4,dtype=torch.uint8)
torch.linspace(5,-5,4,dtype=torch.uint8)
torch.linspace(-1e10,1e10,3,dtype=torch.int32)
torch.linspace(-1e10,1e10,3,dtype=torch.float16)
torch.linspace(0,1e300,3,dtype=torch.float32)
torch.logspace(0,1e10,3,dtype=torch.int32)
torch.linspace(.7,5.7,4,dtype=torch.int64)
torch.stack([torch.ones([1]*63)]*2).dim()
""")
def test_numbers_at_their_ends(line):
    alike(line)
