"""The meta device: tensors of which only dtype, shape and strides are there. Each line says what PyTorch says."""

import pytest
import torchlite
from alike import alike, cases


@cases("""
torch.empty(2, 3, device="meta")
torch.zeros(2, device="meta").is_meta, torch.ones(2, device="meta").device, torch.ones(2, device="meta:0").device
repr(torch.empty(2, 3, device="meta")), repr(nn.Parameter(torch.empty(2, device="meta")))
torch.tensor([1, 2], device="meta"), torch.full((2,), 3, device="meta"), torch.arange(5, device="meta")
torch.rand(3, device="meta"), torch.randint(5, (2,), device="meta"), torch.randperm(4, device="meta")
torch.eye(3, device="meta"), torch.linspace(0, 1, 5, device="meta"), torch.logspace(0, 1, 5, device="meta")
torch.empty(2**40, 2**20, device="meta").shape, torch.empty(2**50, device="meta").untyped_storage().nbytes()
x = torch.ones(2, 3).to("meta"); x, x.T.contiguous(), x.double(), x.to(torch.int8), x.clone(), x.detach()
torch.zeros_like(torch.empty(2, device="meta"), device="cpu")
torch.empty(3, 4, device="meta").new_zeros(2), torch.empty(2, device="meta").new_tensor([1.0])
torch.empty(2, 3, device="meta") + torch.tensor(2.0), 2 * torch.empty(2, dtype=torch.int64, device="meta")
a = torch.empty(3, 4, device="meta"); a[0] = 1; a[:, 1] = torch.zeros(3, device="meta");
 a[a > 0] = 0; a, a[1:, None, ..., 2]
torch.empty(3, 4, device="meta")[torch.tensor([0, 2])], torch.empty(3, 4, device="meta")[[0, 2]]
torch.empty(3, 4, device="meta")[:, ::2].as_strided((2, 2), (1, 1))
torch.repeat_interleave(torch.empty(3, 4, device="meta"), torch.tensor([1, 2, 3]), 0)
torch.empty(3, 4, device="meta").repeat_interleave(torch.tensor([2]), output_size=24)
torch.empty(3, device="meta").repeat_interleave(torch.empty(3, device="meta", dtype=torch.int64), output_size=7)
torch.empty(3, device="meta").repeat_interleave(torch.empty(3, device="meta", dtype=torch.int64))
torch.empty(2, 3, device="meta").add_(1).mul_(2).t_().stride()
x = torch.empty(3, device="meta"); x.resize_(5), x.set_(torch.empty(4, device="meta"))
x = torch.empty(3, device="meta"); x.get_device(), x.type(), x.data_ptr(), x.is_contiguous(), x.numel(), x.layout
torch.empty(2, device="meta").untyped_storage(), torch.empty(2, device="meta").untyped_storage().device
torch.UntypedStorage(4, device="meta")
torch.empty(0, device="meta").set_(torch.UntypedStorage(16, device="meta"), 0, (2, 2), (2, 1))
torch.zeros(3).to(torch.empty(2, device="meta"))
""")
def test_tensors(line):
    alike(line)


@cases("""
torch.empty((), device="meta").item()
bool(torch.empty((), device="meta"))
float(torch.empty((), device="meta"))
int(torch.empty((), device="meta", dtype=torch.int64))
torch.empty(3, device="meta").item()
torch.empty(3, device="meta").tolist()
torch.empty(3, device="meta").numpy()
torch.empty(3, device="meta").cpu()
torch.empty(3, device="meta").to("cpu")
torch.ones(3).copy_(torch.empty(3, device="meta"))
torch.empty(2, 3, device="meta") + torch.ones(2, 3)
torch.ones(2, 3) + torch.empty(2, 3, device="meta")
torch.add(torch.ones(2), torch.ones(2), out=torch.empty(2, device="meta"))
torch.add(torch.empty(2, device="meta"), torch.empty(2, device="meta"), out=torch.empty(2))
torch.empty(2, 3, device="meta").view(7)
torch.empty(3, device="meta").sum(2)
nn.Linear(2, 3, device="meta").to("cpu")
torch.allclose(torch.empty(2, device="meta"), torch.empty(2, device="meta"))
2 in torch.empty(2, device="meta")
""")
def test_errors(line):
    alike(line)


@cases("""
x = torch.ones(2, 3, requires_grad=True); y = x.to("meta"); y.requires_grad, type(y.grad_fn).__name__
x = torch.empty(3, 4, device="meta", requires_grad=True); (x * 2).sin().sum().backward(); x.grad
w = torch.empty(4, 3, 3, 3, device="meta", requires_grad=True);
 F.conv2d(torch.empty(2, 3, 8, 8, device="meta").to(memory_format=torch.channels_last), w).sum().backward(); w.grad
p = nn.Parameter(torch.empty(3, device="meta")); p.grad = torch.empty(3, device="meta");
 [type(o([p], lr=0.1).step()).__name__ for o in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW,
 torch.optim.RMSprop, torch.optim.Adagrad)]
s = torch.get_rng_state(); torch.rand(5, device="meta"); torch.empty(3, device="meta").normal_();
 F.dropout(torch.ones(3, device="meta")); torch.equal(s, torch.get_rng_state())
p = nn.Parameter(torch.empty(3, device="meta")); p.grad = torch.empty(3, device="meta");
 nn.utils.clip_grad_norm_([p], 1.0)
x = torch.empty(2, 3, 4, 5, device="meta", requires_grad=True);
 F.scaled_dot_product_attention(x, x, x).sum().backward(); x.grad
torch.einsum("ij,jk->ik", torch.empty(3, 2, device="meta"), torch.empty(2, 4, device="meta")),
 torch.linalg.svdvals(torch.empty(3, 2, device="meta"))
F.cross_entropy(torch.empty(3, 5, device="meta"), torch.empty(3, dtype=torch.int64, device="meta"))
torch.func.vmap(torch.dot)(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"))
torch.func.grad(lambda x: x.sin().sum())(torch.empty(3, device="meta"))
""")
def test_gradients(line):
    alike(line)


MODEL = "nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))"
PROGRAMS = [
    """
[(p.device, p.shape) for p in m.parameters()], [b.device for b in m.buffers()], m(torch.empty(3, 4, device="meta"))
""",
    """
m(torch.empty(3, 4, device="meta")).sum().backward()
[p.grad for p in m.parameters()]
""",
    """
n = m.to_empty(device="cpu")
n is m, [p.device for p in n.parameters()]
""",
    "m.load_state_dict(MODEL.state_dict())",
    """
s = MODEL.state_dict()
m.load_state_dict(s, assign=True)
m[0].weight.data_ptr() == s["0.weight"].data_ptr(), m(torch.ones(3, 4))
""",
    """
import copy
copy.deepcopy(m)[0].weight, m.state_dict()["1.running_mean"], m.half()[0].weight
""",
    """
n = torch.func.functional_call(m, MODEL.to("meta").state_dict(), (torch.empty(3, 4, device="meta"),))
n.shape, n.device
""",
    "nn.utils.skip_init(nn.Linear, 3, 4).weight.device, nn.utils.skip_init(nn.Linear, 3, 4, device='meta').weight",
    """
import io
b = io.BytesIO()
torch.save(m.state_dict(), b)
b.seek(0)
torch.load(b)
""",
    """
import io
b = io.BytesIO()
torch.save(MODEL.state_dict(), b)
b.seek(0)
torch.load(b, map_location="meta")
""",
    """
with torch.device("meta"):
    made = torch.arange(5), torch.tensor([1]), torch.rand(3), torch.as_tensor([1.0]), torch.hann_window(4)
    like = torch.zeros_like(torch.ones(2, device="cpu"))
    other = torch.get_default_device(), torch.Tensor(3).device, nn.Embedding(10, 3).weight, torch.scalar_tensor(3.0)
made, like, other
""",
    """
with torch.device("meta"):
    n = nn.LSTM(4, 6, 2, bidirectional=True), nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
n[0](torch.empty(3, 2, 4, device="meta")), n[1](torch.empty(2, 5, 16, device="meta"))
""",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_modules(program):
    start = "with torch.device('meta'): m = MODEL\n"
    alike((start + program.strip()).replace("MODEL", MODEL))


def test_peak_memory():
    """A model is made, given its weights and run at the cost of the weights alone."""
    weights = {"%d.weight" % i: torchlite.ones(256, 256) for i in range(16)}
    before = torchlite._C.memory_stats()[0]
    with torchlite.device("meta"):
        model = torchlite.nn.Sequential(*(torchlite.nn.Linear(256, 256, bias=False) for _ in range(16)))
    model.load_state_dict(weights, assign=True)
    assert torchlite._C.memory_stats()[0] - before < 1024
