"""out=: shapes, strides, dtypes and warnings."""

import pytest
from alike import alike, cases

import torchlite

torch = pytest.importorskip("torch")


@cases("""
x=torch.zeros(2,3); torch.arange(0,4,out=x.narrow(1,1,2)); x
x=torch.zeros(2,3); torch.linspace(0,3,4,out=x.narrow(1,1,2)); x
x=torch.zeros(2,3); torch.logspace(0,3,4,out=x.narrow(1,1,2)); x
x=torch.zeros(2,3); torch.range(0,3,out=x.narrow(1,1,2)); x
x=torch.zeros(3,2).t(); torch.arange(6,out=x); x
x=torch.zeros(3,2).t(); torch.linspace(0,5,6,out=x); x
x=torch.zeros(3); torch.arange(6,out=x); x
x=torch.zeros(3); torch.linspace(0,5,6,out=x); x
x=torch.zeros(3); torch.logspace(0,5,6,out=x); x
x=torch.zeros(3); torch.range(0,5,out=x); x
x=torch.zeros(2,2,dtype=torch.int64); torch.arange(0,4.5,out=x); x
x=torch.zeros(5,dtype=torch.int64); torch.arange(0,4.5,out=x); x
x=torch.zeros(5,dtype=torch.int64); torch.linspace(0,10,5,out=x); x
x=torch.zeros(5,dtype=torch.int64); torch.logspace(0,4,5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.linspace(0,7,5,out=x); x
x=torch.zeros(5,dtype=torch.uint8); torch.linspace(0,7,5,out=x); x
x=torch.zeros(5,dtype=torch.bool); torch.linspace(0,7,5,out=x); x
x=torch.zeros(5,dtype=torch.bool); torch.arange(0,5,out=x); x
x=torch.zeros(5,dtype=torch.complex64); torch.linspace(0,7,5,out=x); x
x=torch.zeros(5,dtype=torch.float16); torch.linspace(0,7,5,out=x); x
x=torch.zeros(5); torch.linspace(0,7,5,out=x,dtype=torch.float64)
x=torch.zeros(5); torch.arange(5,out=x,dtype=torch.float64)
x=torch.zeros(5); torch.zeros(3,out=x,dtype=torch.float64)
x=torch.zeros(2,3); torch.eye(2,out=x.narrow(1,1,2)); x
x=torch.zeros(4); torch.eye(2,out=x); x
x=torch.zeros(4,dtype=torch.int32); torch.eye(2,out=x); x
x=torch.zeros(4); torch.ones(2,2,out=x); x
x=torch.zeros(4); torch.zeros(2,2,out=x); x
x=torch.zeros(4); torch.full((2,2),3.,out=x); x
x=torch.zeros(4); torch.empty(2,2,out=x).shape
x=torch.zeros(4); torch.rand(2,2,out=x); x
x=torch.zeros(4); torch.randn(2,2,out=x); x
x=torch.zeros(4); torch.randint(3,(2,2),out=x); x
x=torch.zeros(4,dtype=torch.int64); torch.randperm(5,out=x); x
x=torch.zeros(5); torch.randperm(5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.randperm(5,out=x); x
x=torch.zeros(2,3)[:,1:]; torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(2,3)[:,1:]; torch.add(torch.ones(2,2),1,out=x); x
x=torch.zeros(3,2).t(); torch.add(torch.ones(2,3),1,out=x); x
x=torch.zeros(3,2).t(); torch.add(torch.ones(3,2),1,out=x); x
x=torch.zeros(2,2); torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(0); torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(0,3); torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(4,dtype=torch.int32); torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(4,dtype=torch.float64); torch.add(torch.ones(4),1,out=x); x
x=torch.zeros(4,dtype=torch.int64); torch.sum(torch.ones(4),0,out=x); x
x=torch.zeros((),dtype=torch.int64); torch.sum(torch.ones(4),0,out=x); x
x=torch.zeros((),dtype=torch.float64); torch.sum(torch.ones(4),0,out=x); x
x=torch.zeros((),dtype=torch.float64); torch.mean(torch.ones(4),0,out=x); x
x=torch.zeros((),dtype=torch.int64); torch.mean(torch.ones(4),0,out=x); x
x=torch.zeros((),dtype=torch.float64); torch.mean(torch.tensor([0.1,0.2,0.4]),out=x); x
x=torch.zeros((),dtype=torch.float32); torch.mean(torch.tensor([0.1,0.2,0.4],dtype=torch.float16),out=x); x
x=torch.zeros((),dtype=torch.float32); torch.mean(torch.tensor([1j,2]),out=x); x
x=torch.zeros(4,dtype=torch.int32); torch.bernoulli(torch.full((4,),.5),out=x); x
x=torch.zeros(4,dtype=torch.float64); torch.bernoulli(torch.full((4,),.5),out=x); x
x=torch.zeros(2,2); torch.bernoulli(torch.full((4,),.5),out=x); x
x=torch.zeros(4,dtype=torch.float64); torch.normal(torch.full((4,),.5),1.,out=x); x
x=torch.zeros(2,dtype=torch.int32); torch.multinomial(torch.full((4,),.5),2,out=x); x
x=torch.zeros(2,dtype=torch.float32); torch.multinomial(torch.full((4,),.5),2,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.multinomial(torch.full((4,),.5),2,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.argmax(torch.ones(3,2),1,out=x); x
x=torch.zeros(3,dtype=torch.float32); torch.argmax(torch.ones(3,2),1,out=x); x
x=torch.zeros(3,dtype=torch.float32); torch.lt(torch.ones(3),2,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.lt(torch.ones(3),2,out=x); x
x=torch.zeros(3,dtype=torch.uint8); torch.logical_and(torch.ones(3),torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.float32); torch.all(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.uint8); torch.all(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.bool); torch.any(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.cumsum(torch.ones(3),0,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.cumsum(torch.ones(3),0,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.sin(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.complex64); torch.sin(torch.ones(3),out=x); x
x=torch.zeros(3); torch.sin(torch.ones(3,dtype=torch.complex64),out=x); x
x=torch.zeros(3); torch.abs(torch.ones(3,dtype=torch.complex64),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.abs(torch.ones(3,dtype=torch.complex64),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.mm(torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(3,3,dtype=torch.float64); torch.mm(torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(3,3,dtype=torch.float64); torch.matmul(torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(9); torch.mm(torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(3,6)[:,::2]; torch.mm(torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(3,3,dtype=torch.float64); torch.addmm(torch.ones(3),torch.ones(3,3),torch.ones(3,3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.mv(torch.ones(3,3),torch.ones(3),out=x); x
x=torch.zeros((),dtype=torch.float64); torch.dot(torch.ones(3),torch.ones(3),out=x); x
x=torch.zeros(6,dtype=torch.float64); torch.cat([torch.ones(3),torch.ones(3)],out=x); x
x=torch.zeros(6,dtype=torch.int64); torch.cat([torch.ones(3),torch.ones(3)],out=x); x
x=torch.zeros(2,3); torch.cat([torch.ones(3),torch.ones(3)],out=x); x
x=torch.zeros(2,6)[:,::2]; torch.stack([torch.ones(3),torch.ones(3)],out=x); x
x=torch.zeros(6); torch.stack([torch.ones(3),torch.ones(3)],out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.where(torch.ones(3)>0,torch.ones(3),torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.gather(torch.ones(3),0,torch.zeros(3,dtype=torch.int64),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.index_select(torch.ones(3),0,torch.zeros(3,dtype=torch.int64),out=x); x
x=torch.zeros(2); torch.index_select(torch.ones(3),0,torch.zeros(3,dtype=torch.int64),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.take(torch.ones(3),torch.zeros(3,dtype=torch.int64),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.masked_select(torch.ones(3),torch.ones(3)>0,out=x); x
x=torch.zeros(2); torch.masked_select(torch.ones(3),torch.ones(3)>0,out=x); x
x=torch.zeros(3,1,dtype=torch.int32); torch.nonzero(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.float64),torch.zeros(3,dtype=torch.int64); torch.sort(torch.ones(3),out=x); x
x=torch.zeros(3),torch.zeros(3,dtype=torch.int32); torch.sort(torch.ones(3),out=x); x
x=torch.zeros(2),torch.zeros(2,dtype=torch.int64); torch.sort(torch.ones(3),out=x); x
x=torch.zeros(3),torch.zeros(3,dtype=torch.int32); torch.max(torch.ones(3,3),0,out=x); x
x=torch.zeros(3,dtype=torch.float64),torch.zeros(3,dtype=torch.int64); torch.max(torch.ones(3,3),0,out=x); x
x=torch.zeros(2),torch.zeros(2,dtype=torch.int64); torch.topk(torch.ones(3),2,out=x); x
x=torch.zeros(2,dtype=torch.float64),torch.zeros(2,dtype=torch.int64); torch.topk(torch.ones(3),2,out=x); x
x=torch.zeros(2,dtype=torch.float64),torch.zeros(2,dtype=torch.int64); torch.kthvalue(torch.ones(3,2),2,0,out=x); x
x=torch.zeros(2),torch.zeros(2,dtype=torch.int64); torch.median(torch.ones(3,2),0,out=x); x
x=torch.zeros(2,dtype=torch.float64),torch.zeros(2,dtype=torch.int64); torch.mode(torch.ones(3,2),0,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.var(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.norm(torch.ones(3,3),2,1,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.linalg.norm(torch.ones(3,3),2,1,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.logsumexp(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,3,dtype=torch.float64); torch.tril(torch.ones(3,3),out=x); x
x=torch.zeros(4); torch.tril(torch.ones(3,3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.amax(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.amax(torch.ones(3,3),1,out=x); x
x=torch.zeros(3,dtype=torch.float32); torch.count_nonzero(torch.ones(3,3),1); x
x=torch.zeros(3,dtype=torch.int64); torch.bucketize(torch.ones(3),torch.ones(2),out=x); x
x=torch.zeros(3,dtype=torch.int32); torch.bucketize(torch.ones(3),torch.ones(2),out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.searchsorted(torch.ones(2),torch.ones(3),out_int32=True,out=x); x
x=torch.zeros(3,3,dtype=torch.float64); torch.linalg.inv(torch.eye(3),out=x); x
x=torch.zeros(3,dtype=torch.float32); torch.fft.fft(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.clamp(torch.ones(3),0,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.clamp(torch.ones(3),0,out=x); x
x=torch.zeros(1).expand(3); torch.add(torch.ones(3),1,out=x)
x=torch.zeros(1,1).expand(3,7); torch.index_select(torch.ones(2,6),1,torch.arange(6),out=x)
x=torch.zeros(1).expand(7); torch.take(torch.ones(2,6),torch.arange(6),out=x)
x=torch.zeros(1).expand(7); torch.masked_select(torch.ones(2,3),torch.ones(2,3)>0,out=x)
x=torch.zeros(1,1).expand(7,2).long(); torch.nonzero(torch.ones(2,3),out=x).shape
x=torch.zeros(1,1).long().expand(7,2); torch.nonzero(torch.ones(2,3),out=x)
x=torch.zeros(1,1).expand(3,7); torch.scatter(torch.ones(2,6),1,torch.zeros(1,2).long(),3.,out=x)
x=torch.zeros(1,1).expand(3,7); torch.scatter_add(torch.ones(2,6),1,torch.zeros(1,2).long(),torch.ones(1,2),out=x)
x=torch.zeros(1,1).expand(3,7); torch.outer(torch.ones(2),torch.ones(3),out=x)
x=torch.zeros(1,1).expand(3,7); torch.addr(torch.ones(2,3),torch.ones(2),torch.ones(3),out=x)
x=torch.zeros(1,1).expand(3,7); torch.diff(torch.ones(2,6),out=x)
x=torch.zeros(1,1).expand(3,7); torch.ldexp(torch.ones(2,6),torch.ones(2,6),out=x)
x=torch.zeros(1,1).double().expand(3,7); torch.float_power(torch.ones(2,6),2,out=x)
x=torch.zeros(1,1).expand(3,7); torch.conj_physical(torch.ones(2,6),out=x)
x=torch.zeros(0); torch.cat((x,torch.ones(3)),out=x)
x=torch.zeros(1).expand(3); x.conj_physical_() is x
x=torch.zeros(1).expand(3)*1j; torch.zeros(1,dtype=torch.complex64).expand(3).conj_physical_()
torch.inner(torch.arange(3,dtype=torch.int32),torch.arange(3,dtype=torch.int32))
torch.tensordot(torch.ones(2,3).byte(),torch.ones(2,3).byte(),2)
torch.tensordot(torch.ones(2,1).short(),torch.ones(3,4).short(),1)
x=torch.zeros(3); torch.cumsum(x,0,out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.round(torch.ones(3),out=x)
x=torch.zeros(3,dtype=torch.float64); torch.round(torch.ones(3),decimals=1,out=x)
x=torch.zeros(3,dtype=torch.float64); torch.pow(2,torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.logical_not(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.int64); torch.isneginf(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.bool); torch.isneginf(torch.ones(3),out=x); x
x=torch.zeros(3,dtype=torch.bool); torch.isin(torch.ones(3),torch.ones(2),out=x); x
x=torch.zeros(3,dtype=torch.int32); torch.isin(torch.ones(3),torch.ones(2),out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.full((5,),1.5,out=x); x
x=torch.zeros(5,dtype=torch.float64); torch.full((5,),1,out=x); x
x=torch.zeros(5,dtype=torch.bool); torch.full((5,),1.5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.ones(5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.rand(5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.randn(5,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.randint(5,(5,),out=x); x
x=torch.zeros(5,dtype=torch.bool); torch.randint(2,(5,),out=x); x
x=torch.zeros(5,dtype=torch.float16); torch.randint(2,(5,),out=x); x
x=torch.zeros(5,dtype=torch.float64); torch.rand(5,out=x); x
x=torch.zeros(5,requires_grad=True); torch.rand(5,out=x)
x=torch.zeros(5,requires_grad=True); torch.arange(5,out=x)
x=torch.zeros(5,dtype=torch.int64); torch.arange(0.5,5,out=x); x
x=torch.zeros(5,dtype=torch.float64); torch.arange(0,1,.2,out=x); x
x=torch.zeros(5,dtype=torch.float16); torch.arange(0,1,.2,out=x); x
x=torch.zeros(5,dtype=torch.int32); torch.polar(torch.ones(5),torch.ones(5),out=x); x
x=torch.zeros(5,dtype=torch.complex128); torch.polar(torch.ones(5),torch.ones(5),out=x); x
x=torch.zeros(5,dtype=torch.complex128); torch.complex(torch.ones(5),torch.ones(5),out=x); x
x=torch.zeros(5); torch.heaviside(torch.ones(5),torch.ones(5),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.diag(torch.ones(3,3),out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.nn.functional.silu(x)
x=torch.zeros(3); torch.tensordot(torch.ones(3,3),torch.ones(3),1,out=x); x
x=torch.zeros(3,dtype=torch.float64); torch.quantile(torch.ones(3,3),.5,1,out=x); x
x=torch.ones(2,3,requires_grad=True); o=torch.empty(2,2); torch.inner(x,x,out=o); o.requires_grad, o.is_leaf
x=torch.ones(2,3); o=torch.empty(2,2,requires_grad=True); torch.inner(x,x,out=o)
x=torch.ones(2,3); o=torch.empty(2,2,dtype=torch.float64); torch.inner(x,x,out=o)
x=torch.ones(2,3); torch.mv(x,x[0],out=torch.empty(2,dtype=torch.int32))
x=torch.ones(2,3); torch.matmul(x,x[0],out=torch.empty(2,dtype=torch.int32))
x=torch.ones(2,3); torch.add(x,x,out=[torch.empty(2,3)])
x=torch.ones(2,3); torch.sort(x,out=[torch.empty(2,3),torch.empty(2,3,dtype=torch.long)])[1]
x=torch.ones(2,3); torch.cumsum(x,0,dtype=torch.bool)
x=torch.ones(2,3); torch.cumprod(x,0,dtype=torch.bool)
x=torch.ones(()); torch.cumsum(x,0,dtype=torch.bool)
torch.prod(torch.tensor([.5,.5,-3]),0,dtype=torch.bool)
torch.prod(torch.tensor([2**32,2**32]),0,dtype=torch.bool)
torch.prod(torch.tensor([[0.,float('inf')],[.2,float('nan')]]),1,dtype=torch.bool)
""")
def test_out_as_in_pytorch(line):
    """Which dtypes an op takes, what keeps its shape, what is resized."""
    alike(line)


@cases("""
torch.add(x, torch.ones(2, 2, 3), out=x)
torch.mul(torch.ones(4, 2, 3), x, out=x)
torch.where(torch.ones(4, 2, 3) > 0, x, x, out=x)
torch.add(x, 1, out=x)
torch.add(x, x, out=[torch.empty(2, 3)])
torch.exp(x, out=(torch.empty(2, 3),))
torch.sum(x, 1, out=[torch.empty(2)])
torch.max(x, 1, out=[torch.empty(2), torch.empty(2, dtype=torch.int64)])
""")
def test_what_cannot_be_out(line):
    """An operand is not resized, as in place; one result takes no list."""
    alike("x = torch.ones(2, 3); " + line)


X = "torch.tensor([[1.,2,3],[.5,.25,1]])"
OUTS = {  # what of the arguments requires a gradient, and the dtype of out
    "input": (X + ".requires_grad_()", "torch.empty(0)"),
    "leaf": (X, "torch.empty(0,requires_grad=True)"),
    "result": (X, "torch.empty(0,requires_grad=True)*1"),
    "leaf of float64": (X, "torch.empty(0,dtype=torch.float64,requires_grad=True)"),
    "int64": (X, "torch.empty(0,dtype=torch.int64)"),
    "bool": (X, "torch.empty(0,dtype=torch.bool)"),
    "float16": (X, "torch.empty(0,dtype=torch.float16)"),
    "complex64": (X, "torch.empty(0,dtype=torch.complex64)"),
}
CALLS = """
vstack(({0},{0}),out=o)
hstack(({0},{0}),out=o)
dstack(({0},{0}),out=o)
column_stack(({0},{0}),out=o)
stack(({0},{0}),out=o)
max({0},{0},out=o)
minimum({0},{0},out=o)
outer({0}[0],{0}[0],out=o)
kron({0},{0},out=o)
float_power({0},2,out=o)
square({0},out=o)
diff({0},out=o)
msort({0},out=o)
take_along_dim({0},torch.zeros(2,3,dtype=torch.long),1,out=o)
nanmean({0},1,out=o)
nansum({0},1,out=o)
quantile({0},.5,1,out=o)
nanquantile({0},.5,1,out=o)
diag({0},out=o)
diag({0}[0],out=o)
linalg.matrix_power({0}[:,:2],2,out=o)
linalg.inv({0}[:,:2]+torch.eye(2),out=o)
linalg.det({0}[:,:2],out=o)
linalg.svdvals({0},out=o)
linalg.vecdot({0},{0},out=o)
linalg.multi_dot(({0},{0}.t(),{0}),out=o)
fft.fft({0},out=o)
fft.ifft({0},out=o)
fft.rfft2({0},out=o)
fft.irfft({0},out=o)
fft.ihfft({0},out=o)
conj_physical({0},out=o)
special.ndtr({0},out=o)
softmax({0},1,out=o)
logical_and({0},{0},out=o)
argmax({0},1,out=o)
eq({0},{0},out=o)
bitwise_and({0}.int(),3,out=o)
gcd({0}.int(),{0}.int(),out=o)
floor_divide({0}.detach(),2,out=o)
any({0},1,out=o)
isposinf({0},out=o)
searchsorted({0}[0],{0},out=o)
mv({0},{0}[0],out=o)
matmul({0},{0}[0],out=o)
matmul({0}[0],{0}[0],out=o)
logsumexp({0},1,out=o)
cumsum({0},1,out=o)
cumprod({0},1,out=o)
median({0},out=o)
heaviside({0}.detach(),{0}.detach(),out=o)
ldexp({0},{0},out=o)
frexp({0},out=(o,o))
var({0},1,out=o)
lerp({0},{0},torch.tensor(.5),out=o)
lerp({0},{0},.5,out=o)
lerp({0},{0},torch.full((2,3),.5),out=o)
arange(3,out=o)
median({0},1,out=(o,o))
mean({0},1,out=o)
prod({0},1,out=o)
""".split()


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("call", CALLS)
def test_dtypes_and_gradients(call, out):
    """Which dtype of out= an op refuses, which gradients, in which words, and what out has afterwards."""
    x, o = OUTS[out]
    alike(f"o={o}; torch.{call.format(x)}; o")
    alike(f"o={o}; torch.{call.format(x)}; (o.requires_grad, o.is_leaf)")


LARGE = 1 << 15  # of floats: more than what is just copied


def test_a_large_result_is_seen_through_views_arrays_and_addresses():
    a, b = torchlite.rand(LARGE), torchlite.rand(LARGE)
    want = a + b
    out = torchlite.empty(LARGE)
    view = out[10:20]
    assert torchlite.add(a, b, out=out) is out
    assert torchlite.equal(view, want[10:20]) and out._version == view._version == 1
    out = torchlite.empty(LARGE)
    address = out.data_ptr()
    torchlite.add(a, b, out=out)
    assert out.data_ptr() == address and torchlite.equal(out, want)
    out = torchlite.empty(LARGE)
    array = out.numpy()
    torchlite.add(a, b, out=out)
    assert (array == want.numpy()).all()
    row = torchlite.zeros(3, LARGE)
    torchlite.add(a, b, out=row[1])
    assert torchlite.equal(row[1], want) and not row[0].any() and not row[2].any()


def test_inputs_keep_their_memory():
    a = torchlite.rand(LARGE)
    kept, out = a.clone(), torchlite.empty(LARGE)
    for name in ("positive", "real", "alias_copy", "view_copy"):
        op = getattr(torchlite.ops.aten, name)
        if name == "view_copy":
            op.out(a, (LARGE,), out=out)
        elif "out" in op.overloads():
            op.out(a, out=out)
        out.add_(1)
        assert torchlite.equal(a, kept), name
    torchlite.add(a, 1, out=a)
    assert torchlite.equal(a, kept + 1)
    torchlite.add(a[1:], 1, out=out[1:])
    assert torchlite.equal(out[1:], kept[1:] + 2)


def test_a_plain_out_under_modes_and_gradients():
    x = torch.ones(3, requires_grad=True)
    y = torchlite.ones(3, requires_grad=True)
    for lib, t in ((torch, x), (torchlite, y)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            lib.add(t, t, out=lib.empty(3))
        with lib.no_grad():
            out = lib.add(t, t, out=lib.empty(3))
        assert out.tolist() == [2, 2, 2] and not out.requires_grad and out._version == 1
        out = lib.add(lib.ones(2, 1), lib.ones(3), out=lib.empty(0))
        assert out.shape == (2, 3)
        with pytest.warns(UserWarning, match="was resized"):
            assert lib.add(lib.ones(3), 1, out=lib.empty(2)).tolist() == [2, 2, 2]
        assert lib.add(lib.ones(3), 1, out=lib.empty(3, dtype=lib.float64)).tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="can't be cast"):
            lib.add(lib.ones(3), 1, out=lib.empty(3, dtype=lib.int64))


@pytest.mark.parametrize("call", ["add", "mm", "arange"])
def test_a_resize_warning_names_the_callers_line(call):
    run = {
        "add": lambda: torchlite.add(torchlite.ones(3), 1, out=torchlite.ones(2)),
        "mm": lambda: torchlite.mm(
            torchlite.ones(3, 3), torchlite.ones(3, 3), out=torchlite.ones(2, dtype=torchlite.float32)
        ),
        "arange": lambda: torchlite.arange(3.5, out=torchlite.ones(2)),
    }[call]
    with pytest.warns(UserWarning, match="resized") as seen:
        run()
    assert [(w.filename, w.lineno) for w in seen] == [(__file__, run.__code__.co_firstlineno)]
