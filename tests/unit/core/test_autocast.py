"""torch.autocast on the CPU: each line says what PyTorch says, dtypes and numbers."""

import pytest
from alike import alike, cases

CALLS = """
x @ x.T
torch.mm(x, x.T), torch.bmm(x[None], x.T[None]), torch.matmul(x[None], x.T), torch.ops.aten.mm(x, x.T)
torch.addmm(x @ x.T, x, x.T), torch.baddbmm(torch.ones(1, 4, 4), x[None], x.T[None])
F.linear(x, x), F.conv2d(x.reshape(1, 1, 4, 6), torch.ones(1, 1, 2, 2)), F.prelu(x, torch.ones(1))
F.conv1d(x[None], torch.ones(2, 4, 2)), F.conv_transpose2d(x.reshape(1, 1, 4, 6), torch.ones(1, 1, 2, 2)).dtype
x + x, x * 2, F.gelu(x @ x.T).dtype, F.softmax(x @ x.T, -1).dtype, F.layer_norm(x @ x.T, (4,)).dtype
torch.cat([x, h]).dtype, torch.cat([h, h]).dtype, torch.stack([h, x]).dtype, torch.cat([h, x.double()]).dtype
torch.einsum("ij,kj->ik", x, x).dtype, torch.tensordot(x, x, dims=([1], [1])).dtype, torch.kron(x, x).dtype
F.mse_loss(h, h), F.l1_loss(h, h), F.cross_entropy(x @ x.T, torch.zeros(4, dtype=torch.long)).dtype
F.nll_loss(h, torch.zeros(4, dtype=torch.long)), F.kl_div(h, h).dtype, F.binary_cross_entropy(x.sigmoid(), x.sigmoid())
x.double() @ x.T.double(), (h @ x.T).dtype, torch.prod(h).dtype, h.prod(0).dtype, h.trace().dtype
torch.linalg.inv(torch.eye(3, dtype=h.dtype)), torch.fft.fft(h).dtype, torch.cdist(h, h).dtype,
 torch.quantile(h, 0.5).dtype
F.grid_sample(h.reshape(1, 1, 4, 6), torch.zeros(1, 2, 2, 2, dtype=h.dtype)).dtype, F.pad(h[None], (1, 1),
 "reflect").dtype
F.max_pool3d(h.reshape(1, 1, 2, 2, 6), 2).dtype, F.max_pool2d(h.reshape(1, 1, 4, 6), 2).dtype
F.adaptive_avg_pool3d(h.reshape(1, 1, 2, 2, 6), 1).dtype, F.interpolate(h.reshape(1, 1, 4, 6), scale_factor=2).dtype
nn.MultiheadAttention(6, 2)(x, x, x)[0].dtype, nn.GRU(6, 5)(x)[0].dtype, nn.TransformerEncoderLayer(6, 2, 8)(x).dtype
torch.outer(x[0], x[0]).dtype, torch.dot(x[0], x[0]).dtype, torch.mv(x, x[0]).dtype, F.bilinear(x, x,
 torch.ones(2, 6, 6)).dtype
torch.mm(x, x.T, out=torch.empty(4, 4)), x.clone().addmm_(x[:, :4].contiguous(), x[:4]).dtype
torch.linalg.multi_dot([x, x.T, x]).dtype, torch.linalg.vecdot(x, x).dtype, torch.norm(x @ x.T).dtype,
 torch.var(x @ x.T).dtype
torch.vmap(lambda u: x @ u)(x).dtype, torch.func.grad(lambda u: (u @ u).sum().float())(torch.ones(2, 2))
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@cases(CALLS)
def test_calls(dtype, line):
    alike(
        "x = torch.linspace(-1, 1, 24).reshape(4, 6)\nh = x.to(torch.%s)\n"
        "with torch.autocast('cpu', dtype=torch.%s):\n    found = (%s)\nfound" % (dtype, dtype, line)
    )


PROGRAMS = [
    """
x = torch.linspace(-1, 1, 24).reshape(4, 6)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), 0.1)
seen = []
for i in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen += [out.dtype, "%.4f" % loss.item()]
seen, [p.grad.dtype for p in net.parameters()]
""",
    """
x = torch.ones(2, 2)
found = []
with torch.autocast("cpu"):
    found.append((x @ x).dtype)
    with torch.autocast("cpu", enabled=False):
        found.append((x @ x).dtype)
    with torch.autocast("cpu", dtype=torch.float16):
        found.append((x @ x).dtype)
    found.append((x @ x).dtype)
    found += [torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled()]
found, (x @ x).dtype, torch.is_autocast_enabled("cpu")
""",
    """
class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        seen.append((torch.is_autocast_enabled("cpu"), (g @ b.t()).dtype))
        return g @ b.t(), a.t() @ g
seen = []
a = torch.ones(2, 2, requires_grad=True)
with torch.autocast("cpu"):
    r = Product.apply(a, a)
r.sum().backward()
seen, a.grad
""",
    """
class Same(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a):
        seen.append((a.dtype, torch.is_autocast_enabled("cpu")))
        return a * 1
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        seen.append(torch.is_autocast_enabled("cpu"))
        return g
seen = []
a = torch.ones(2, 2, requires_grad=True)
with torch.autocast("cpu"):
    Same.apply(a @ a).sum().backward()
seen, a.grad
""",
    """
from torch.utils.checkpoint import checkpoint
seen = []
def f(z):
    seen.append((z @ z).dtype)
    return z @ z
a = torch.ones(2, 2, requires_grad=True)
with torch.autocast("cpu"):
    r = checkpoint(f, a, use_reentrant=False), checkpoint(f, a, use_reentrant=True)
(r[0].sum() + r[1].sum()).backward()
seen, a.grad
""",
    """
@torch.autocast("cpu")
def f(z):
    return z @ z
f(torch.ones(2, 2)), f.__name__
""",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    alike(program)


@cases("""
torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta"), torch.is_autocast_cache_enabled()
torch.get_autocast_dtype("meta")
torch.autocast("not a real device")
torch.autocast("cpu", dtype=torch.float32)._enabled
torch.amp.custom_fwd(lambda ctx, x: x)
torch.cuda.amp.custom_fwd(lambda ctx, x: x).__name__
torch.set_autocast_enabled("cpu", True); a = torch.ones(2,
 2); r = (a @ a).dtype; torch.set_autocast_enabled("cpu", False); r
torch.is_autocast_cpu_enabled()
torch.get_autocast_gpu_dtype()
""")
def test_functions(line):
    alike(line)


@cases("""
torch.cross(torch.ones(3, 4), torch.ones(3, 4).double(), dim=0)
torch.linalg.cross(torch.ones(4, 3), torch.ones(4, 3, dtype=torch.int64))
""")
def test_cross_promotes_nothing(line):
    alike(line)
