"""Behaviour that PyTorch's own tests ask for, line by line beside PyTorch."""

from alike import alike, cases

import torchlite


@cases("""
mask = torch.zeros(3, dtype=torch.uint8); torch.ones(3, 2).index_put_((mask,), torch.ones(0, 2), accumulate=True)
mask = torch.zeros(3, dtype=torch.uint8); torch.ones(3, 2).index_put((mask,), torch.ones(0, 2))
mask = torch.ones(3, dtype=torch.uint8); x = torch.ones(3, 2); x[mask] = torch.zeros(3, 2); x
mask = torch.ones(3, dtype=torch.uint8); x = torch.ones(3, 2); x[mask] = 1; x
hasattr(torch, 'unique_dim'), hasattr(torch._VF, 'unique_dim'), hasattr(torch.ops.aten, 'unique_dim')
torch.unique(torch.tensor([[1, 2], [1, 2]]), dim=0)
torch.tensor([1+2j]).to_sparse().conj()
e = nn.Embedding(4, 2, sparse=True); i = torch.tensor([1, 3]); e(i).sum().backward(); i[0] = 0;
    e(i).sum().backward(); e.weight.grad._indices().tolist()
F.GRID_SAMPLE_PADDING_MODES, F.GRID_SAMPLE_INTERPOLATION_MODES
type(torch.futures.Future().then(lambda f: 1)) is torch.Future, issubclass(torch.futures.Future, torch.Future)
type(torch.futures.collect_all([])) is torch.Future
""")
def test_small_things(line):
    alike(line)


def test_scaled_rows_of_an_embedding_keep_their_tangents():
    ad = torchlite.autograd.forward_ad
    with ad.dual_level():
        weight = ad.make_dual(torchlite.ones(4, 4) * 2, torchlite.ones(4, 4))
        out = torchlite.nn.functional.embedding(torchlite.tensor([0, 2]), weight, max_norm=1.0)
        assert ad.unpack_dual(out).tangent.eq(1).all()
