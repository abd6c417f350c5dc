"""What random cases of the library's parts (tests/fuzz_parts) found."""

from alike import alike, cases

TRAIN = "p = nn.Parameter(torch.ones(2)); p.grad = torch.ones(2); "


@cases("""
(1 + 0j) ** torch.arange(4), np.complex128(1) ** torch.arange(4), torch.pow(1 + 0j, torch.tensor([True, False]))
(1 + 0j) ** torch.arange(4).to(torch.int8), (1 + 0j) ** torch.ones(2).double()
""")
def test_powers_of_complex_one(line):
    alike(line)


@cases("""
w = torch.signal.windows.cosine(4, requires_grad=True); w, w.is_leaf
w = torch.signal.windows.hann(4, requires_grad=True); w, w.is_leaf
torch.signal.windows.kaiser(True)
torch.signal.windows.kaiser(3, beta=-1, dtype=torch.float16)
torch.signal.windows.gaussian(-1, std=-1)
torch.signal.windows.exponential('3', center=1.0)
""")
def test_windows(line):
    alike(line)


@cases("""
torch.optim.AdamW([p], foreach=True, differentiable=True).step()
torch.optim.Adam([p.detach().to(torch.complex64)], fused=True)
q = nn.Parameter(p.detach().cfloat()); q.grad = torch.ones_like(q); torch.optim.SGD([q], fused=True).step()
o = torch.optim.SGD([p]); s = torch.optim.lr_scheduler.StepLR(o, 2);
  o.add_param_group({'params': [nn.Parameter(torch.ones(1))]}); o.step(); s.step()
""")
def test_optimizers(line):
    alike(TRAIN + line)


@cases("""
import collections; torch.utils.data.default_convert(collections.defaultdict(int, a=np.ones(2)))
torch.utils.data.default_collate([torch.eye(2).to_sparse()] * 2)
torch.utils.data.default_collate([torch.eye(2).to_sparse(), np.ones(2)])
list(torch.utils.data.DataLoader([1, 2], timeout=1))
""")
def test_loading(line):
    alike(line)


@cases("""
import copy; x = torch.ones(3); y, s = copy.deepcopy([x, x.untyped_storage()]); y.fill_(2); s.nbytes(), y, s[3], x
import copy; x, s = copy.deepcopy([t := torch.ones(2), t.storage()]); x.fill_(3); list(s)
import copy; s = torch.ones(1).untyped_storage(); t = s.__deepcopy__({}); t[0] = 1; s[0], t[0]
nn.utils.weight_norm(nn.Linear(2, 2), dim=5)
F.normalize(torch.ones(2, 3), None, 1)
nn.LazyLinear(3)
""")
def test_copies_and_modules(line):
    alike(line)


@cases("""
torch.tensor([3, ()])
torch.tensor([np.int64(3), ()], dtype=torch.float32)
torch.tensor([[], 3]), torch.tensor([[], [1]]), torch.tensor([[], 3], dtype=torch.int32)
torch.tensor([[1], [[2]]])
torch.tensor([[1], [[]]], dtype=torch.bool)
torch.tensor([[1, 2], 3])
torch.tensor([[1, 2], [3]], dtype=torch.float64)
torch.tensor([np.ones(2), 3])
torch.tensor([1, (1,)], dtype=torch.complex64)
torch.tensor([b'ab'], dtype=torch.int32), torch.tensor([''], dtype=torch.int32)
torch.tensor([''])
torch.tensor(['a'])
torch.tensor([1, 'a'], dtype=torch.float32)
torch.tensor([1, 'a'], dtype=torch.bool)
torch.tensor([None], dtype=torch.int64)
torch.tensor([1, {}], dtype=torch.bool)
x = [1]; x.append(x); torch.tensor(x)
torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor([torch.ones(2).int()])
torch.tensor([torch.ones(())], dtype=torch.int32)
torch.tensor([[1, 2], torch.ones(2)]), torch.tensor([torch.ones(1, 1), 2]), torch.tensor([torch.ones(())])
torch.utils.data.default_collate([np.int64(3), ()])
""")
def test_tensors_of_data(line):
    alike(line)
