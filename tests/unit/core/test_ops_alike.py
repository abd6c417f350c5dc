"""torch.ops: overloads and packets by PyTorch's names, what they say of themselves, and what they refuse."""

import copy
import pickle

import pytest
from alike import alike, cases

import torchlite
from torchlite import _ops

# what PyTorch's Python functions take and its ops do not
_OTHER = {"slice_backward.default", "to.device", "embedding_bag.default", "pad.default"}
_OTHER |= {"_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default"}


@cases("""
torch.ops.aten.add.Tensor
torch.ops.aten.add
str(torch.ops.aten.add.Tensor), str(torch.ops.aten.cos.default), str(torch.ops.aten.add)
o=torch.ops.aten.add.Tensor; o.__name__, o.name(), o.namespace, o.__module__, o.__qualname__, o.overloadpacket
o=torch.ops.aten.cos; o.__name__, o._qualified_op_name, o.__module__, o.default.name()
torch.ops.aten, torch.ops.nothing, torch.ops.aten.name
torch.ops.aten.nope
torch.special.airy_ai(x=torch.ones(1)), torch.special.scaled_modified_bessel_k1(x=torch.ones(1))
torch.special.spherical_bessel_j0(input=torch.ones(1))
torch.ops.aten._scaled_dot_product_attention_math(*[torch.ones(1, 2, 3, 4)] * 3)[0].shape
torch.ops.aten._cast_Byte(torch.ones(1)), torch.ops.aten._stack([torch.ones(1)]), torch.ops.aten._unique(torch.ones(1))
[hasattr(torch.ops.aten, n) for n in ('_cdist', '_t2', '_unique_consecutive', '_hidden', '_weight_norm')]
torch.ops.aten.add.nope
torch.ops.nothing.nope
torch.ops.aten.__nope__
hasattr(torch.ops.aten, 'float'), hasattr(torch.ops.aten, '_t2')
torch.ops.aten.add.Tensor is torch.ops.aten.add.Tensor, torch.ops.aten.add.Tensor == torch.ops.aten.add.Scalar
torch.ops.aten.view.default.is_view, torch.ops.aten.add_.Tensor.is_view, torch.ops.aten.cos.default.is_view
torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
torch.ops.aten.add.Tensor(torch.ones(2), 1)
torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2), alpha=3)
torch.ops.aten.add.Tensor(torch.ones(2))
torch.ops.aten.add.Tensor(torch.ones(2), 'a')
torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2), torch.ones(2))
torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2), foo=3)
torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2), alpha='a')
torch.ops.aten.add.Tensor(input=torch.ones(2), other=torch.ones(2))
torch.ops.aten.cos.default(2)
torch.ops.aten.cat.default([torch.ones(2), 1])
torch.ops.aten.cat.default(torch.ones(2))
torch.ops.aten.sum.dim_IntList(torch.ones(2), 0)
torch.ops.aten.sum.dim_IntList(torch.ones(2), [0.5])
torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), [0], True, dtype=torch.float64)
torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), axis=0)
torch.ops.aten.add.out(torch.ones(2), torch.ones(2))
o=torch.empty(2); torch.ops.aten.add.out(torch.ones(2), torch.ones(2), out=o) is o, o
x=torch.ones(2); torch.ops.aten.add_.Tensor(x, x) is x, x
a,b=torch.empty(2),torch.ones(2).long(); torch.ops.aten.max.dim_max(torch.ones(2,2),0,max=a,max_values=b),a,b
type(torch.ops.aten.max.dim(torch.ones(2, 2), 0)), type(torch.ops.aten.split.Tensor(torch.ones(4), 2))
torch.ops.aten.view.default(torch.ones(4), [2, 2])
torch.ops.aten.view.default(torch.ones(4), 2, 2)
torch.ops.aten.mse_loss.default(torch.ones(2), torch.zeros(2)), torch.ops.aten.mse_loss(torch.ones(2), torch.zeros(2))
torch.ops.aten.mse_loss.default(torch.ones(2), torch.zeros(2), 0)
torch.ops.aten.add(torch.ones(2), 1), torch.ops.aten.mul(torch.ones(2), torch.ones(2))
torch.ops.aten.relu.default(torch.ones(2), inplace=True)
torch.ops.aten.embedding.default(torch.ones(3, 2), torch.tensor([1, 2]))
torch.ops.aten.nonzero.default(torch.tensor([0., 2.]))
torch.ops.aten.sym_size.int(torch.ones(2, 3), 1), torch.ops.aten.sym_size.default(torch.ones(2, 3))
torch.ops.aten.sym_stride.int(torch.ones(2, 3), 0), torch.ops.aten.sym_numel.default(torch.ones(2, 3))
torch.ops.aten.sym_storage_offset.default(torch.ones(4)[1:]), torch.ops.aten._local_scalar_dense.default(torch.ones(1))
torch.ops.aten._to_copy.default(torch.ones(2), dtype=torch.int32)
torch.ops.aten.copy.default(torch.zeros(2, 3), torch.arange(3.))
torch.ops.aten.resize_.default(torch.ones(2, 3), [3]).shape
m=torch.ops.aten.native_dropout.default(torch.ones(3), 0.5, False); m[0], m[1]
t=torch.arange(6.).reshape(1,2,3); torch.ops.aten.adaptive_avg_pool1d.default(t, 1)
t=torch.arange(16.).reshape(1,1,4,4); torch.ops.aten._adaptive_avg_pool2d_backward.default(torch.ones(1,1,2,2), t)
t=torch.arange(16.).reshape(1,1,4,4); \
torch.ops.aten.avg_pool2d_backward.default(torch.ones(1,1,2,2), t, [2,2], [2,2], [0,0], False, True, None)
t=torch.arange(16.).reshape(1,1,4,4); i=torch.ops.aten.max_pool2d_with_indices.default(t, [2,2])[1]; \
torch.ops.aten.max_pool2d_with_indices_backward.default(torch.ones(1,1,2,2), t, [2,2], [2,2], [0,0], [1,1], False, i)
torch.ops.aten._cdist_forward.default(torch.eye(2), torch.ones(2,2), 2., None)
torch.ops.aten._pdist_forward.default(torch.arange(6.).reshape(3,2))
t=torch.arange(6.).reshape(2,3); r=torch.ones(3); \
torch.ops.aten._native_batch_norm_legit_no_training.default(t,r,r,r,r,0.1,1e-5)[0]
torch.ops.aten.atan2.out(torch.ones(2), torch.ones(2), out=torch.empty(2))
torch.ops.aten.grid_sampler_2d.default(torch.ones(1,1,2,2), torch.zeros(1,1,1,2), 0, 0, False)
torch.ops.aten.reshape.default.decompose(torch.ones(4), [2, 2])
x=torch.ones(2,requires_grad=True); torch.ops.aten.mul.Tensor(x, x).sum().backward(); x.grad
""")
def test_torch_ops_calls_as_in_pytorch(line):
    alike(line)


@cases("""
torch.ops.aten.add_.Tensor
torch.ops.aten.conv2d.default
torch.ops.aten.sum.dim_IntList
torch.ops.aten.index.Tensor
torch.ops.aten.gelu.default
torch.ops.aten.split.Tensor
torch.ops.aten.max.dim
torch.ops.aten.normal_.default
torch.ops.aten.contiguous.default
torch.ops.aten.allclose.default
torch.ops.aten.add.out
torch.ops.aten.rand.generator
""")
def test_parts_of_a_schema(line):
    alike(
        "s=%s._schema; s.name, s.overload_name, s.is_mutable, [(a.name, str(a.type), str(a.real_type), a.type.kind(), "
        "a.N, a.default_value, a.kwarg_only, a.is_out, a.has_default_value(), a.alias_info and (a.alias_info.is_write,"
        "a.alias_info.before_set, a.alias_info.after_set)) for a in [*s.arguments, *s.returns]]" % line
    )


def test_schemas_are_pytorchs():
    """Of all overloads, out= and in-place ones too."""
    torch = pytest.importorskip("torch")
    torchlite.ops.load_all()
    _ops._refresh()
    checked, wrong = 0, []
    for name in sorted(_ops._index):
        packet = getattr(torchlite.ops.aten, name)
        for overload in packet.overloads():
            ours = str(getattr(packet, overload)._schema)
            theirs = getattr(getattr(torch.ops.aten, name, None), overload, None)
            checked += 1
            if (theirs is None or ours != str(theirs._schema)) and "%s.%s" % (name, overload) not in _OTHER:
                wrong.append((ours, theirs and str(theirs._schema)))
    assert not wrong
    assert checked > 1700


def test_the_core_ops_exist():
    torch = pytest.importorskip("torch")
    missing, checked = [], 0
    for qualified in torch._C._dispatch_get_all_op_names():
        space, _, name = qualified.partition("::")
        name, _, overload = name.partition(".")
        if space == "aten" and torch.Tag.core in torch._C._get_operation_overload(qualified.split(".")[0], overload)[2]:
            checked += 1
            if not hasattr(getattr(torchlite.ops.aten, name, None), overload or "default"):
                missing.append(qualified)
    assert not missing
    assert checked > 180


def test_copies_and_pickles_are_the_op_itself():
    for op in (torchlite.ops.aten.add.Tensor, torchlite.ops.aten.add):
        assert copy.copy(op) is op and copy.deepcopy(op) is op
        assert pickle.loads(pickle.dumps(op)) is op
        assert {op: 1}[op] == 1


def test_what_was_looked_up_is_listed():
    torchlite.ops.aten.cosh.default(torchlite.ones(2))
    assert "cosh" in dir(torchlite.ops.aten)
