"""Nested tensors, layouts strided and jagged: what PyTorch does with the same line.

A, B and Z are lists of parts, S(list) and J(list) nested tensors of them."""

import io
import re
import warnings

import pytest
from alike import np, outcome, torch

import torchlite

_HEAD = """
A = [torch.arange(6.).reshape(2, 3), torch.arange(12.).reshape(4, 3)]
B = [torch.ones(2, 3), torch.ones(5, 3)]
Z = [torch.ones(2, 4, 3), torch.ones(3, 4, 3)]
def S(parts=A, **k): return torch.nested.nested_tensor(parts, **k)
def J(parts=A, **k): return torch.nested.nested_tensor(parts, layout=torch.jagged, **k)
def L(x):
    if isinstance(x, (list, tuple)): return [L(v) for v in x]
    if not isinstance(x, torch.Tensor): return repr(x)
    if not x.is_nested: return N(x), str(x.dtype)
    return str(x.layout), x.dim(), x.is_contiguous(), x.requires_grad, [(N(p), tuple(p.shape)) for p in x.unbind()]
def N(x): return [round(v, 3) for v in x.detach().flatten().tolist()], tuple(x.shape)
"""
LINES = """
S()+S()
S()+S(B)
S()*2-1
S().to_dense()
S().to_dense(torch.float64)
J().to_dense()
S()+torch.ones(3)
S()+torch.tensor(2.)
S()==1
S()==S()
S().sum(-1,keepdim=True)
S().sum(-1)
S().sum(1,keepdim=True)
S().softmax(0)
S().softmax(-1)
S()[0]
S()[-1,1]
S()[5]
S()[1:]
S().shape
S().size()
S().size(1)
S().size(2)
S().stride()
len(S())
S().unbind(1)
S().select(1,0)
S().transpose(0,1)
S().transpose(1,2)
S().transpose(1,2).contiguous()
S().squeeze()
S().squeeze(0)
S().unsqueeze(0)
S().unsqueeze(1)
S().unsqueeze(-1).squeeze(-1)
S().view(2,-1,1,3)
S().view(3,-1)
S().view(2,6)
S().reshape(2,-1,3,1)
S().reshape(-1)
S().matmul(torch.ones(3,2))
S()@S().transpose(1,2)
S(Z)@torch.ones(3,2)
torch.bmm(S(),S(B).transpose(1,2))
S([torch.ones(2),torch.ones(3)]).bmm(S())
F.linear(S(),torch.ones(4,3),torch.ones(4))
F.linear(S(),torch.ones(4,2))
F.layer_norm(S(),(3,))
F.layer_norm(S(),(3,),torch.ones(3),torch.ones(3))
F.layer_norm(S(),(4,),torch.ones(4),torch.ones(4))
F.layer_norm(S(),(4,3),torch.ones(4,3),torch.ones(4,3))
torch.cat([S(),S(B)])
torch.cat([S(),S()],2)
torch.cat([S(),torch.ones(2,2,3)],2)
(torch.is_same_size(S(),S(B)), torch.is_same_size(S(),S()))
(S().numel(), S().dim(), S().is_contiguous(), S().is_nested, S().layout, S().is_leaf)
S().item()
S().to_padded_tensor(-1.)
S().to_padded_tensor(0.,(2,5,5))
S().to_padded_tensor(0.,(2,3,3))
S().transpose(1,2).to_padded_tensor(0.)
S([torch.ones(0,3)]).to_padded_tensor(0.)
S([]).to_padded_tensor(0.)
S().values()
S().narrow(1,0,1)
S().narrow(0,1,1)
S().chunk(3,-1)
S().chunk(2,-1)
S().chunk(2,0)
S().split_with_sizes([1,2],2)
S().masked_fill(S()>2,-1)
S().clone().fill_(2)
S().half().to(torch.float64)
S().abs_()
S().transpose(1,2).abs()
torch.zeros_like(S())
S()._nested_tensor_size()
S().transpose(1,2)._nested_tensor_strides()
S()._nested_tensor_storage_offsets()
str(S([1,2.5]))
str(S())
S([[1,2],[3]])
torch.nested.nested_tensor(3)
S([torch.ones(2),torch.ones(2,2)])
S([])
torch.nested.as_nested_tensor(torch.ones(3))
torch.nested.as_nested_tensor(torch.arange(6).reshape(3,2))
torch.nested.as_nested_tensor(S(),layout=torch.jagged)
S(layout=torch.sparse_coo)
torch.nested.nested_tensor(A,layout=torch.sparse_coo)
F.scaled_dot_product_attention(S().unsqueeze(1),S().unsqueeze(1),S().unsqueeze(1))
F.embedding(S([torch.tensor([1]),torch.tensor([0,1])]),torch.arange(4.).reshape(2,2))
F.relu(S()-3)
F.silu(S())
F.gelu(S()).dim()
x=S(requires_grad=True); (x*2).backward(torch.ones_like(x)); x.grad
x=S(requires_grad=True); y=S(requires_grad=True); (x@y.transpose(1,2)).to_padded_tensor(0).sum().backward();
    (x.grad, y.grad.contiguous())
a=torch.ones(2,3,requires_grad=True); b=torch.ones(4,3,requires_grad=True);
    torch.nested.as_nested_tensor([a,b]).softmax(1).to_padded_tensor(0).pow(2).sum().backward(); (a.grad, b.grad)
x=S(requires_grad=True); torch.autograd.grad(x*3, x, torch.ones_like(x))
x=S(requires_grad=True); x[0].sum().backward(); x.grad
x=S(requires_grad=True); w=torch.ones(4,3,requires_grad=True); F.linear(x,w).to_padded_tensor(0).sum().backward();
    w.grad
torch._nested_tensor_from_mask(torch.arange(6.).reshape(2,3,1),torch.tensor([[True,True,False],[True,False,False]]))
torch._nested_tensor_from_mask(torch.ones(2,3,1),torch.tensor([[True,False,True],[True,False,False]]))
torch._nested_from_padded(torch.arange(8.).reshape(2,2,2),torch.tensor([[1,2],[2,2]]))
torch.vmap(lambda t: t.sin())(S())
torch.vmap(lambda t, w: t@w)(S(),torch.ones(2,3,1))
torch.vmap(lambda t: t, in_dims=1)(S())
import io; f=io.BytesIO(); torch.save(S().transpose(1,2),f); f.seek(0); torch.load(f)
import io; f=io.BytesIO(); torch.save(J(),f); f.seek(0); torch.load(f, weights_only=False)
J()+J()
x=J(); x+x
J()*2
J()+torch.ones(3)
J()+torch.arange(2.).reshape(2,1,1)
J()+torch.ones(1,1,3)
J()+torch.ones(5,2,1,3)
J().sum()
J().sum(1)
J().sum(1,keepdim=True)
J().sum(2)
J().sum(0)
J().sum((0,1))
J().sum((0,1),keepdim=True)
J().sum((1,2))
J().sum((0,1,2))
J().mean(1)
J().mean(2)
J().amax(1)
J().max()
J().argmax(1)
(J()>2).any()
J().softmax(0)
J().softmax(1)
J().softmax(2)
J().transpose(1,2).softmax(2)
F.layer_norm(J(),(3,))
F.layer_norm(J([torch.ones(2),torch.ones(3)]),(3,))
F.rms_norm(J(),(3,))
J().unbind(1)
J().offsets()
J().values()
J().lengths()
J()[0]
J()[:1]
J()[...,0]
J().select(2,1)
J().transpose(0,1)
J().transpose(1,2)
J().permute(0,2,1)
J().permute(1,0,2)
J().unsqueeze(0)
J().unsqueeze(1)
J().unsqueeze(-1)
J().squeeze(1)
J().view(2,-1,3,1)
J().view(-1,3)
J().reshape(2,-1,1,3)
J().flatten(1)
J(Z).flatten(2)
J().unflatten(-1,(3,1))
J().chunk(3,-1)
J().chunk(2,0)
J().chunk(2,1)
J().split(1,-1)
J().split(1,1)
J().matmul(torch.ones(3,2))
J().matmul(torch.ones(2,3,4))
x=J(); x.transpose(1,2)@x
F.linear(J(),torch.ones(4,3))
J().exp()
torch.cat([J(),J()])
x=J(); torch.cat([x,x],-1)
torch.stack([J(),J()])
J().to_padded_tensor(7.)
J().to_padded_tensor(0,(2,6,3))
J().clone().copy_(J())
(J().is_contiguous(), J().transpose(1,2).is_contiguous(), J().numel(), len(J()), J()._max_seqlen, J()._ragged_idx)
x=J(); x.expand(2,x.size(1),3)
J().expand(2,2,2)
torch.zeros_like(J())
J().tolist()
J().numpy()
x=J(); x==x
J().half().dtype
torch.nested.nested_tensor_from_jagged(torch.ones(6,3))
torch.nested.nested_tensor_from_jagged(torch.arange(6.),torch.tensor([0,2,6]))
torch.nested.nested_tensor_from_jagged(torch.arange(6.),torch.tensor([0,2,6]),torch.tensor([1,3]))
torch.nested.nested_tensor_from_jagged(torch.arange(6.),torch.tensor([0,2,6]),torch.tensor([1,3])).sum(1)
torch.nested.nested_tensor_from_jagged(torch.ones(6,3),lengths=torch.tensor([2,4])).offsets()
torch.nested.masked_select(torch.arange(6.).reshape(2,3),torch.tensor([[True,False,True],[True,True,True]]))
torch.nested.narrow(torch.arange(20.).reshape(2,5,2),1,torch.tensor([0,1]),torch.tensor([2,3]),layout=torch.jagged)
torch.nested.narrow(torch.ones(2,5,2),1,torch.tensor([0,1]),torch.tensor([2,3]))
q=J().unsqueeze(2).transpose(1,2); F.scaled_dot_product_attention(q,q,q)
x=J(requires_grad=True); (x*2).backward(torch.ones_like(x)); x.grad
x=J(requires_grad=True); q=x.unsqueeze(2).transpose(1,2);
    F.scaled_dot_product_attention(q,q,q).values().sum().backward();
    x.grad
v=torch.arange(6.,requires_grad=True);
    torch.nested.nested_tensor_from_jagged(v,torch.tensor([0,2,6])).pow(2).sum().backward();
    v.grad
x=J(); x.size(1)==x.size(1)
J().size(1)==J().size(1)
J().size(1)>=2
J().size(1)>5
m=nn.MultiheadAttention(4,2,batch_first=True).eval(); x=S([torch.ones(2,4),torch.ones(3,4)]); m(x,x,x)
with torch.no_grad(): m=nn.MultiheadAttention(4,2,batch_first=True).eval(); x=S([torch.ones(2,4),torch.ones(3,4)]);
    y=m(x,x,x)
"""
_JOINED = re.sub(r"\n +", " ", LINES.strip()).split("\n")


def _result(lib, line):
    *first, last = line.split("; ")
    if line.startswith("with "):
        text = _HEAD + line
    else:
        text = _HEAD + "".join(s.strip() + "\n" for s in first) + "L(%s)" % last
    result, seen = outcome(lib, text)
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], str):
        kind, message = result
        message = re.sub(r"j\d+", "j", message)
        if "Could not run" in message or kind == "NotImplementedError":
            message = "refused"
        result = kind, message.split("\n")[0]
    return result


@pytest.mark.parametrize("line", _JOINED)
def test_lines(line):
    assert np is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _result(torchlite, line) == _result(torch, line)


def test_what_pytorch_refuses_and_the_parts_say():
    """Results that PyTorch's kernels for nested tensors do not give: each is that of the parts."""
    nested, parts = torchlite.nested, [torchlite.randn(n, 2, 4, requires_grad=True) for n in (3, 5)]
    x = nested.as_nested_tensor(parts, layout=torchlite.jagged)
    x.sum(1).pow(2).sum().backward()
    for p in parts:
        assert torchlite.allclose(p.grad, 2 * p.detach().sum(0, keepdim=True).expand_as(p))
    q = x.transpose(1, 2)
    made = torchlite.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    for m, p in zip(made.unbind(), parts):
        rows = p.transpose(0, 1)
        assert torchlite.allclose(
            m, torchlite.nn.functional.scaled_dot_product_attention(rows, rows, rows, is_causal=True), atol=1e-6
        )


def test_files_with_places_outside_of_the_values_are_refused():
    bad = torchlite.ones(4), torchlite.tensor([[2, 3]]), torchlite.tensor([[3, 1]]), torchlite.tensor([0])
    with pytest.raises(RuntimeError, match="outside of its values"):
        torchlite._utils._rebuild_nested_tensor(*bad)
    x = torchlite.nested.nested_tensor_from_jagged(torchlite.ones(3, 2), torchlite.tensor([0, 2, 9]))
    with pytest.raises(RuntimeError, match="do not match"):
        x.unbind()


JAGGED = [
    "J()",
    "J().transpose(1, 2)",
    "J(requires_grad=True)",
    "torch.nested.narrow(torch.ones(4, 6), 1, torch.tensor([5, 1, 2, 0]), torch.tensor([1, 1, 0, 3]), torch.jagged)",
    "torch.nested.nested_tensor_from_jagged(torch.ones(8), torch.tensor([0, 2, 8], dtype=torch.int32), max_seqlen=6)",
    "S()",
    "S().transpose(1, 2)",
    "S([torch.ones(0, 3), torch.ones(2, 3)])",
]


@pytest.mark.parametrize("line", JAGGED)
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_either_are_read_by_the_other(line, weights_only):
    """With the lengths of parts, which PyTorch keeps as sizes of tensors that torch._dynamo marked."""
    if torch is None:
        pytest.skip("no PyTorch here")

    def facts(x):
        jagged = str(x.layout) == "torch.jagged"
        extremes = jagged and x._metadata_cache and x.lengths() is None and (x._get_max_seqlen(), x._get_min_seqlen())
        places = jagged and (x.offsets().tolist(), x._ragged_idx, extremes)
        return [p.tolist() for p in x.unbind()], x.requires_grad, x.is_leaf, places

    for writer, reader in ((torch, torchlite), (torchlite, torch), (torchlite, torchlite)):
        names = {"torch": writer}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(_HEAD, names)
            made, file = eval(line, names), io.BytesIO()
            writer.save(made, file)
            file.seek(0)
            # PyTorch itself reads the jagged ones with weights_only only where torch._dynamo is loaded
            only = weights_only and reader is torchlite
            assert facts(reader.load(file, weights_only=only)) == facts(made)


def test_gradcheck_of_a_chain():
    parts = tuple(torchlite.randn(n, 4, dtype=torchlite.float64, requires_grad=True) for n in (1, 3))
    weight = torchlite.randn(4, 4, dtype=torchlite.float64, requires_grad=True)
    for layout in (torchlite.strided, torchlite.jagged):

        def chain(a, b, w, layout=layout):
            x = torchlite.nested.as_nested_tensor([a, b], layout=layout)
            y = torchlite.nn.functional.linear(x, w).softmax(-1) * x
            return y.unsqueeze(-1).squeeze(-1).to_padded_tensor(0.5)

        assert torchlite.autograd.gradcheck(chain, (*parts, weight))


def test_extremes_of_a_strided_one():
    """PyTorch has none of one tensor; of two parts it is element-wise."""
    n = torchlite.nested.nested_tensor([torchlite.ones(2, 3), torchlite.ones(2, 2)])
    for name, args in (("max", ()), ("min", ()), ("max.dim", (1,)), ("min.dim", (-1,))):
        with pytest.raises(NotImplementedError, match=f"Could not run 'aten::{name}' with arguments"):
            getattr(n, name[:3])(*args)
    assert n.max(n).unbind()[1].shape == (2, 2)
