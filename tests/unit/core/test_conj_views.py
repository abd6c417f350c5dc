"""Views of conjugates and negatives: what they share, what ops make of them,
how writes and gradients pass through them."""

import io
import pickle

import pytest

import torchlite
from alike import alike, cases, torch

Z = "z = torch.tensor([[1+2j, -3-4j, 0.25+0.5j], [2.+3j, 5-1j, 7-1j]], dtype=torch.complex128); "


def facts(lib, t):
    return t.is_conj(), t.is_neg(), t.stride(), t.storage_offset(), t.resolve_conj().resolve_neg().tolist()


# the result is a view of conjugates (or negatives) where PyTorch's is, and has its values and strides
@pytest.mark.parametrize(
    "line",
    """
z.conj()
z.mH
z.H
z.adjoint()
z.conj().conj()
z.conj().real
z.conj().imag
z.conj().imag.T
z.conj().imag[0]
z._neg_view()
z._neg_view().real
z._neg_view().imag
z._neg_view().conj().imag
torch.view_as_real(z._neg_view())
torch.view_as_complex(z.conj().imag.resolve_neg()[:, :2].contiguous()._neg_view())
z.conj()[0]
z.conj()[:, 1:]
z.conj()[None]
z.conj().view(3, 2)
z.conj().reshape(6)
z.mH.reshape(6)
z.conj().flatten()
z.conj().expand(2, 2, 3)
z.conj().split(1)[1]
z.conj().unbind(1)[2]
z.conj().diagonal()
z.conj().movedim(0, 1)
z.conj().unfold(1, 2, 1)
z.conj().as_strided((2, 2), (1, 2), 1)
z.conj().narrow(1, 1, 2)
z.conj().detach()
z.conj().data
z.conj().contiguous()
z.mH.contiguous()
z.mH.clone()
z.mH.resolve_conj()
z.conj().resolve_neg()
z.conj().cfloat()
z.conj().to(torch.complex128)
z.conj().real.float()
z.conj().conj_physical()
z.conj() + 1
z.mH + z.mH
z.mH @ z
z @ z.mH
z.conj().sum(0)
-z.conj().imag
z.conj().imag.abs()
z.conj()[torch.tensor([1, 0])]
z.conj()[z.conj().imag > 0]
torch.cat([z, z.conj()])
torch.stack([z, z.conj()])[1]
torch.where(z.conj().imag > 0, z.conj(), z)
torch.empty_like(z.mH).zero_()
torch.zeros_like(z.conj())
torch.nn.Parameter(z.conj()).detach()
z.clone().conj().t_()
z.clone().conj().unsqueeze_(0)
z.clone().conj().resize_(4)
z.clone().conj().set_(z)
z.clone().set_(z.conj())
torch.tensor([3, -5])._neg_view()
torch.tensor([3, -5])._neg_view() * 2
torch.tensor([3, -5], dtype=torch.uint8)._neg_view() + 0
torch.tensor([1., -2.], dtype=torch.half)._neg_view() + 0
torch.tensor([1., -2.], dtype=torch.bfloat16)._neg_view() + 0
torch.ones(3)._neg_view().bool()
""".strip().split("\n"),
)
def test_results(line):
    got = []
    for lib in (torchlite, torch):
        names = {"torch": lib}
        exec(Z, names)
        got.append(facts(lib, eval(line, names)))
    assert got[0] == got[1]


# what is written to the view is found in the memory, and the other way round
@cases("""
c = z.conj(); c[0, 0] = 5+6j; z
c = z.conj(); z[0, 0] = 5+6j; c.resolve_conj()
c = z.conj(); c.mul_(2j); z
c = z.conj(); c += z; z
c = z.conj(); c.add_(c); z
c = z.conj(); c.copy_(torch.arange(3.)); z
c = z.conj(); c.fill_(1+2j); z
c = z.conj(); c.fill_(torch.tensor(1+2j)); z
c = z.conj(); c.zero_(); z
c = z.conj(); c.conj_physical_(); z
c = z.conj(); c[:, 1] = c[:, 0]; z
c = z.mH; c[0] = torch.tensor([1j, 2j]); z
c = z.mH; c[torch.tensor([0, 2])] = 3j; z
c = z.mH; c[c.imag > 0] = 3j; z
c = z.mH; c.masked_fill_(c.imag > 0, 4j); z
c = z.mH; c.index_add_(0, torch.tensor([0]), torch.full((1, 2), 1j, dtype=z.dtype)); z
c = z.mH; c.exp_(); z
c = z.mH; c.sqrt_().neg_(); z
c = z.mH; c.lerp_(c.resolve_conj(), 0.5); z
c = z.mH; torch.add(c, 1j, out=c); z
c = z.conj(); torch.matmul(z[:, :2], z, out=c); z
c = z.conj().imag; c.mul_(3); z
c = z.conj().imag; c[0] = 1.5; z
c = z.conj().imag; c.fill_(2); z
c = z.conj().imag; c.copy_(z.real); z
c = z.conj().imag; c.clamp_(min=0); z
c = z.conj().real; c.mul_(3); z
z.conj().imag = torch.ones(2, 3); z
z.conj().copy_(z); z
z.copy_(z.conj()); z
z.copy_(z.mH.t()); z
z.real.copy_(z.conj().imag); z
z.conj().copy_(z.to(torch.complex64).conj()); z
c = z._neg_view(); c.add_(10); z
x = torch.tensor([3, -5]); x._neg_view().mul_(2).add_(1); x
x = torch.zeros(2); x.copy_(torch.ones(2)._neg_view()); x
x = torch.zeros(2, dtype=torch.int8); x.copy_(torch.tensor([3, 4])._neg_view()); x
c = z.conj(); c[[0, 1], [1, 0]] = z[0, :2].conj(); z
c = z.conj(); c.index_copy_(0, torch.tensor([1]), z[:1].conj()); z
z.index_copy_(0, torch.tensor([1]), z[:1].conj()); z
z.index_copy_(0, torch.tensor([1]), z[:1])
c = z.conj(); c.index_put_((torch.tensor([1]),), z[:1]); z
c = z.conj(); torch.cat([z[:1], z[:1]], out=c); z
torch.cat([z[:1], z[:1]], out=z)
c = z.conj().imag; torch.add(z.real, z.imag, out=c); z
v = z.conj(); v.add_(1); z._version, v._version, z
""")
def test_writes(line):
    alike(Z + line)


@cases("""
z.conj().numpy()
z.conj().imag.numpy()
np.asarray(z.conj())
z.conj().numpy(force=True)
z.conj().imag.numpy(force=True)
torch.from_dlpack(z.conj())
torch.view_as_real(z.conj())
z.conj().view(torch.float64)
z.conj().view(torch.complex128)
z.conj().imag.view(torch.int64)
torch.tensor([True])._neg_view() | True
z.conj().tolist()
z.conj()[0, 0].item()
z.conj().imag[0, 0].item()
complex(z.conj()[0, 0])
float(z.conj().imag[0, 0])
repr(z.conj())
repr(z.conj().imag)
torch.tensor(z.conj())
torch.tensor([z.conj()[0, 0], z[0, 0]])
torch.equal(z.conj(), z.conj().clone())
z.conj().data_ptr() == z.data_ptr()
z.conj().untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
z.conj().is_set_to(z)
z.real.conj() is not z.real, torch.ones(2).conj().is_conj()
x = torch.ones(2); x.conj() is x, x.resolve_conj() is x, z.resolve_conj() is z, z.resolve_neg() is z
torch.is_conj(z.conj()), torch.is_neg(z.conj().imag), torch.is_conj(z), torch.is_neg(z)
z.conj()._is_view(), z.conj()._base is z
import copy; c = copy.deepcopy(z.conj()); c.is_conj(), c
import copy; c = copy.copy(z.conj()); c.is_conj(), c.resolve_conj()
z.data = z.conj(); z.is_conj(), z.resolve_conj()
c = z.conj(); c.data = z; c.is_conj(), c
torch.tensor([1, 2])[torch.tensor(-1)._neg_view()]
torch.ones(torch.tensor(-2)._neg_view())
torch.ones(2) * torch.tensor(-2)._neg_view()
[10, 11, 12][torch.tensor(-2)._neg_view()]
""")
def test_conjugate_views_are_read_right(line):
    alike(Z + line)


# gradients through a change of the view, of its base and of their parts
@cases("""
a.conj()
a.conj() * a
a.conj().imag * a.real
a.mH @ a
b = a * 1; c = b.conj(); c.mul_(2j); b
b = a * 1; c = b.conj(); c.mul_(2j); c
b = a * 1; c = b.conj(); b.mul_(2j); c
b = a * 1; c = b.conj(); b[0] = a[1] * 1j; c
b = a * 1; c = b.mH; c[0] = a[:, 1].conj() ** 2; b
b = a * 1; c = b.conj().imag; c.mul_(a.real); b
b = a * 1; c = b.conj().imag; c[0] = a.real[1]; c
b = a * 1; c = b.conj().imag; b.mul_(1j); c * 2
b = a * 1; c = b.conj().real; c.mul_(a.imag); b
b = a * 1; c = b.imag; b.conj().mul_(a); c * a.real
b = (a * 1)._neg_view(); b.mul_(a); b
b = a * 1; b.mH.copy_(a.T ** 2); b
b = (a.detach() * 1).conj().detach(); c = b[0]; c.copy_(a[1] * 2j); b.imag
b = torch.view_as_complex(torch.stack([a.real, a.imag], -1)); c = b.conj(); c.mul_(a); b
b = torch.zeros(2, 2, dtype=a.dtype); b.conj().copy_(a); b
b = torch.zeros(2, 2, dtype=a.dtype); b.conj().imag.copy_(a.real); b
a.conj().resolve_conj() * 2
a.conj().clone().imag
torch.cat([a, a.conj()]).imag
""")
def test_gradients(line):
    lead = (
        "a = torch.tensor([[1+2j, -3-4j], [2., 7-1j]], dtype=torch.complex128, requires_grad=True); "
        "w = torch.arange(1., 5).reshape(2, 2); "
    )
    parts = line.rsplit("; ", 1)
    alike(
        lead + "; ".join([*parts[:-1], f"r = {parts[-1]}"]) + "; r = r if r.shape == (2, 2) else r[:2]; "
        "g, = torch.autograd.grad((r * (w + 1j * w.T)).real.sum() if r.is_complex() else (r * w).sum(), a, "
        "create_graph=True); h = torch.autograd.grad((g * g.conj()).real.sum(), a, "
        "allow_unused=True)[0] if g.requires_grad else None; "
        "[None if t is None else (t + 0).contiguous() for t in (g, h)]"
    )


def test_gradient_of_the_imaginary_part_of_a_conjugate_base():
    """PyTorch refuses it."""
    a = torchlite.tensor([1 + 2j, -3 - 4j], requires_grad=True)
    b = a.detach().clone().conj().detach()
    b.imag.copy_(a.real * 3)
    assert b.tolist() == [1 + 3j, -3 - 9j]
    (g,) = torchlite.autograd.grad((b * (1 + 2j)).real.sum(), a)
    assert g.tolist() == [-6, -6]


def test_indices_that_are_negatives():
    """PyTorch reads their memory as it is."""
    assert torchlite.arange(5)[torchlite.tensor([-1, -2])._neg_view()].tolist() == [1, 2]


def test_negatives_are_not_handed_out():
    """PyTorch hands out the memory as it is, without the signs."""
    with pytest.raises(BufferError, match="negative bit"):
        torchlite.from_dlpack(torchlite.ones(2)._neg_view())


def test_names_in_the_graph():
    a = torchlite.ones(2, dtype=torchlite.complex64, requires_grad=True)
    assert a.conj().grad_fn.name() == "ConjBackward0"
    assert a._neg_view().grad_fn.name() == "NegViewBackward0"
    assert a.conj().resolve_conj().grad_fn.name() == "CloneBackward0"


def test_a_view_of_a_leaf_is_not_written():
    a = torchlite.ones(2, dtype=torchlite.complex64, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation."
    ):
        a.conj().mul_(2)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("of", [lambda z: z.conj(), lambda z: z.conj().imag, lambda z: z.mH[1:]])
def test_conjugate_views_through_a_file(of, weights_only):
    def through(lib, t):
        file = io.BytesIO()
        lib.save(t, file)
        return file.getvalue()

    z, y = (lib.tensor([[1 + 2j, -3j], [2.0, 5j]]) for lib in (torchlite, torch))
    for lib in (torchlite, torch):
        for data in (through(torchlite, of(z)), through(torch, of(y))):
            back = lib.load(io.BytesIO(data), weights_only=weights_only)
            assert facts(lib, back) == facts(torch, of(y))
    back = pickle.loads(pickle.dumps(of(z)))
    assert facts(torchlite, back) == facts(torch, of(y))


def test_memory_of_somebody_else():
    import numpy as np

    raw = np.zeros(3 * 16 + 1, np.uint8)
    a = np.frombuffer(raw.data, np.complex128, 3, 1)  # misaligned
    a[:] = 1 + 2j, 3j, -1
    t = torchlite.from_numpy(a)
    assert (t.conj() + 0).tolist() == [1 - 2j, -3j, -1]
    t.conj().mul_(2)
    t.conj().imag.add_(1)
    assert a.tolist() == [2 + 3j, 5j, -2 - 1j]


def test_optimizers_see_signs():
    def trained(lib):
        p = lib.nn.Parameter(lib.tensor([1.0, 2.0]))
        o = lib.optim.SGD([p], lr=0.5)
        p.grad = lib.tensor([1.0, 4.0])._neg_view()
        o.step()
        q = lib.nn.Parameter(lib.tensor([1.0, 2.0])._neg_view())
        q.grad = lib.ones(2)
        lib.optim.Adam([q]).step()
        return p.tolist(), [round(v, 5) for v in q.tolist()]

    assert trained(torchlite) == trained(torch)
