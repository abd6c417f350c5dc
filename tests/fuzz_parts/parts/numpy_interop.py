"""Tensors beside numpy's arrays and numbers: operators, functions of numpy, conversions, shared memory."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

NUMPY = [
    "float64",
    "float32",
    "int64",
    "int32",
    "bool",
    "complex64",
    "float16",
    "uint8",
    "int8",
    "uint16",
    "complex128",
]
TORCH = ["float32", "float64", "int64", "bool", "complex64", "float16", "bfloat16", "uint8", "int16"]
OPERATORS = "+ - * / // % ** & | ^ == != < <= > >= @ << >> and or in".split()
FUNCTIONS = """\
np.sin(x)|np.add(x, x)|np.add(x, a)|np.sum(x)|np.mean(x, axis=0)|np.concatenate([x, x])
np.stack([x, a[:2]])|np.asarray(x)|np.array(x)|np.array([x, x])|np.max(x)|np.argmax(x)|np.dot(x, x)
np.where(x, 1, 2)|np.reshape(x, -1)|np.transpose(x)|np.abs(x)|np.sqrt(x)|np.maximum(x, a)|np.isnan(x)
np.allclose(x, x)|np.array_equal(x, x)|np.squeeze(x)|np.expand_dims(x, 0)|np.clip(x, 0, 1)|np.round(x)
np.sort(x)|np.unique(x)|np.cumsum(x)|np.prod(x)|np.std(x)|np.matmul(x, x)|np.exp(x, dtype='float32')
np.shape(x)|np.size(x)|np.ndim(x)|np.copy(x)|np.ravel(x)|np.vstack([x, x])|np.repeat(x, 2)|np.tile(x, 2)
np.diff(x)|np.outer(x, x)|np.float32(x)|np.isscalar(x)|np.asarray(x, dtype='float32')
np.array(x, copy=True)|np.asarray(x, copy=False)|np.ones_like(x)|np.zeros_like(x)|np.full_like(x, 2)
np.negative(x)|np.power(x, 2)|np.logical_not(x)|np.all(x)|np.any(x)|np.nonzero(x)|np.take(x, [0])
np.einsum('i...->...', x)|a[x.long() % 2]|a[x]|x[a]|x[np.array([0, 1])]|x[np.int64(0)]|x[np.array(True)]
a.dot(x)|a.astype(float) + x|np.add.reduce(x)|list(map(type, a.tolist()))|np.add.outer(x, x)
np.multiply(x, 2, out=np.empty(x.shape))|float(np.float32(1.5)) * x|np.linalg.norm(x)
torch.from_numpy(a)|torch.as_tensor(a)|torch.tensor(a)|torch.asarray(a)|torch.Tensor(a)
torch.asarray(a, copy=True)|torch.asarray(a, dtype=torch.float32)|torch.tensor(a, dtype=torch.float32)
torch.tensor([a, a])|torch.tensor(list(a))|torch.from_numpy(a.T)|torch.from_numpy(a[::-1])
torch.from_numpy(a[::2])|torch.from_numpy(a.astype('>f4'))|torch.from_numpy(s)|torch.tensor(s)
torch.as_tensor(s)|torch.full((2,), s)|torch.scalar_tensor(s)|torch.add(x, s)|torch.add(x, a)
torch.where(x > 0, s, x)|x.add(s)|x.mul(a)|x.fill_(s)|x.clamp(s)|x.pow(s)|torch.ones(s)|x.numpy()
x.numpy(force=True)|x.__array__()|x.__array__('float64')|x.__array__(dtype=np.float32)
x.__array_priority__|x.t().numpy()|x.requires_grad_().numpy()|x.detach().numpy()|x.conj().numpy()
x.neg().numpy()|x.T.numpy().strides|torch.frombuffer(a, dtype=torch.uint8)|torch.from_numpy(np.array(s))
torch.from_numpy(np.array(['a']))|torch.tensor(np.array(['a']))
torch.from_numpy(np.ones(2, dtype=object))|np.from_dlpack(x)|torch.from_dlpack(a)
np.array(x.tolist()).dtype|torch.tensor([s, s])|torch.tensor([s, 1])|torch.tensor([[s], a[:1]])
torch.arange(s)|torch.linspace(0, s, 3)|x.reshape(np.int64(-1))|x.view(np.int32(-1))|x.sum(np.int64(0))
x.sum(axis=0)|torch.zeros(np.array([2, 3]))|torch.zeros(tuple(np.array([2, 3])))
x.expand(np.int64(2), *x.shape)|x.item() if x.numel() == 1 else 0|s.item() * x|torch.is_tensor(a)
torch.allclose(x, a)|x.equal(a)|torch.max(x, a)|x.tolist() == a.tolist()|bool(np.any(x == a))
divmod(x, s)|divmod(s, x)|abs(x) + abs(a)|round(x)|x.__radd__(a)|x.__rsub__(s)|x.__rtruediv__(s)
x.__rpow__(s)|x.__rmatmul__(a)|x.astype(float)|torch.set_default_dtype(a.dtype)|x.to(a.dtype)
x.type(a.dtype)|torch.zeros(2, dtype=a.dtype)|memoryview(x)|bytes(x.numpy())|np.frombuffer(x)|x.copy_(a)
x.index_put_((a,), x)|np.testing.assert_allclose(x, x)|np.nan_to_num(x)|np.histogram(x)
np.percentile(x, 50)|np.average(x)|np.median(x)|np.cov(x)|np.pad(x, 1)""".replace("\n", "|").split("|")
WRITES = """\
y = torch.from_numpy(a); y.add_(1); out = a
y = torch.as_tensor(a); y.fill_(1); out = a
y = torch.tensor(a); y.fill_(1); out = a
y = x.numpy(); y[...] = 1; out = x
y = np.asarray(x); y[...] = 1; out = x
y = np.array(x); y[...] = 1; out = x
a[...] = x; out = a
x[...] = torch.from_numpy(a) if a.shape == x.shape else 3; out = x
x[0] = a[0]; out = x
x[:] = a; out = x
a += x; out = [a]
x += a; out = [x]
x *= s; out = [x]
s += x; out = [s]
x -= a[0]; out = [x]
a[0] = x[0]; out = a
a[x > 0] = 5; out = a
x[a > 0] = 5; out = x
x[s] = 1; out = x
a.flags.writeable = False; y = torch.from_numpy(a); out = y
y = torch.from_numpy(a); a.resize(1, refcheck=True); out = y
y = torch.asarray(a); y.zero_(); out = a
y = torch.from_numpy(a).t(); y.add_(1); out = [a, y]
y = x[::2].numpy(); y += 1; out = x""".splitlines()


def draw(r: Random) -> Case:
    shape = r.choice(["(2,)", "(2, 2)", "()", "(1,)", "(2, 3)"])
    other = shape if chance(r, 0.8) else r.choice(["(3,)", "(1, 2)"])
    values = lambda s: f"(np.arange(int(np.prod({s}, dtype=int))).reshape({s}) - 1)"
    lines = [
        f"a = {values(other)}.astype(np.{r.choice(NUMPY)})",
        f"x = torch.from_numpy({values(shape)}).to(torch.{r.choice(TORCH)})",
        f"s = np.{r.choice(NUMPY)}({r.choice([2, 3, 1])})",
    ]
    if chance(r, 0.1):
        lines.append("x = x.requires_grad_()")
    way = r.random()
    if way < 0.4:
        pair = r.choice([("x", "a"), ("a", "x"), ("x", "s"), ("s", "x"), ("x", "a[..., :1]"), ("x", "a.tolist()")])
        lines.append(f"out = {pair[0]} {r.choice(OPERATORS)} {pair[1]}")
    elif way < 0.85:
        lines.append(f"out = {r.choice(FUNCTIONS)}")
    else:
        lines.append(r.choice(WRITES))
    return code("\n".join(lines).replace("np.bool(", "np.bool_("), rounding=16)
