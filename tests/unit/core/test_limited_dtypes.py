"""uint16, uint32, uint64, the 8-bit floats and complex32: what PyTorch does with them, and its errors for the rest."""

import pytest

from alike import alike, cases, outcome, torch
import torchlite

UNSIGNED = ["uint16", "uint32", "uint64"]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
LIMITED = [*UNSIGNED, *FLOAT8, "complex32"]
FULL = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
FULL.append("complex128")
# three values of each, as Python writes them
VALUES = {"uint16": "[40000, 1, 2]", "uint32": "[3000000000, 1, 2]", "uint64": "[2**63 + 5, 1, 2]"}
VALUES["complex32"] = "[1 + 2j, -1, 0.5j]"


def ours(t):
    """A torchlite tensor of the same bytes."""
    raw = bytearray(t.contiguous().view(torch.uint8).numpy().tobytes())
    return torchlite.frombuffer(raw, dtype=getattr(torchlite, str(t.dtype)[6:]))


def bits(t, lib):
    return t.contiguous().reshape(-1).view(lib.uint8).tolist()


def same_numbers(got, want):
    """The same bytes, but for NaN, whose bytes are nobody's business."""
    if bits(got, torchlite) == bits(want, torch):
        return True
    got, want = got.tolist(), want.tolist()
    parts = [(x, y) if not isinstance(x, complex) else None for x, y in zip(got, want)]
    if None in parts:
        parts = [(f(x), f(y)) for x, y in zip(got, want) for f in (lambda z: z.real, lambda z: z.imag)]
    return all(x == y or (x != x and y != y) for x, y in parts)


@pytest.mark.filterwarnings("ignore:ComplexHalf", "ignore:Casting complex")
@pytest.mark.parametrize("source", FULL + LIMITED)
def test_conversions(source):
    whole = [0, 1, 2, 3, 5, 100, 127, 128, 200, 255, 256, 449, 1000, 32767, 40000, 65535]
    floats = [0.0, -0.0, 0.5, -0.75, 1.0625, 1.1875, -17.0, 0.017, 2.0**-9, 3 * 2.0**-11, 2.0**-16, 448.0, 480.0, 2.4e4]
    whole += [70000, 2**31, 2**31 + 128, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 2**10 + 1, 2**64 - 1]
    values = torch.tensor(whole, dtype=torch.uint64) if "int" in source or source == "bool" else None
    if values is None:
        values = torch.tensor(
            [*floats, float("nan"), float("inf"), -float("inf"), 6e4, -1e9, 1e-40], dtype=torch.float64
        )
    if source.startswith("complex"):
        values = torch.complex(values, values.flip(0))
    values = values.to(getattr(torch, source))
    fraction = not source.startswith(("int", "uint", "bool"))
    for to in FULL + LIMITED:
        x = values
        if fraction and "int" in to:  # C leaves what is out of range undefined, and processors differ
            real = x.real if x.is_complex() else x
            fits = (real.double() >= 0) & (real.double() < 100)
            x = x.double()[fits].to(x.dtype) if not x.is_complex() else x.to(torch.complex64)[fits].to(x.dtype)
        got, want = ours(x).to(getattr(torchlite, to)), x.to(getattr(torch, to))
        assert same_numbers(got, want), (source, to, x.tolist(), got.tolist(), want.tolist())


@pytest.mark.parametrize("name", FLOAT8)
def test_every_code_of_an_8_bit_float(name):
    codes = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name))
    for to in ("float32", "float16", "float64", "bool", *FLOAT8):
        assert same_numbers(ours(codes).to(getattr(torchlite, to)), codes.to(getattr(torch, to))), to
    for source in (torch.float16, torch.bfloat16):
        every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(source)
        assert same_numbers(ours(every).to(getattr(torchlite, name)), every.to(getattr(torch, name))), source


@cases("""
x[torch.tensor([0, 2])]
x[torch.tensor([True, False, True])]
x[1:]; x[..., None].t()
x.index_select(0, torch.tensor([0, 1]))
x.take(torch.tensor([0, 1]))
x.clone().scatter_(0, torch.tensor([0, 1]), x)
x.clone().scatter_(0, torch.tensor([0, 1]), 3)
x.clone().index_copy_(0, torch.tensor([0, 1]), x[:2])
x.clone().index_add_(0, torch.tensor([0, 1]), x[:2])
x.clone().index_fill_(0, torch.tensor([0, 1]), 3)
x.clone().index_put_((torch.tensor([0, 1]),), x[0])
x.clone().index_put_((torch.tensor([0, 0]),), x[:2], accumulate=True)
x.masked_fill(m, x[0])
x.masked_select(m)
x.clone().masked_scatter_(m, x)
torch.where(m, x, x)
torch.where(m, x, 1)
torch.where(m, x, 1.0)
torch.where(m, x, torch.ones(3))
x.nonzero()
x.flip(0)
x.reshape(3, 1).flip(1)
x.roll(1)
x.repeat_interleave(2)
x.repeat_interleave(torch.tensor([1, 2, 0]))
x.unique(return_inverse=True, return_counts=True)
x.unique_consecutive()
x.sort(descending=True)
x.argsort()
x.topk(1)
x.median()
x.sum(dtype=torch.float32)
x.mean(dtype=torch.float32)
x.cumsum(0, dtype=torch.float32)
x.sum()
x.prod()
x.cumsum(0)
x.mean()
x.all(), x.any()
x.count_nonzero()
x.count_nonzero(0)
x.float().sum(dtype=D)
torch.full((2,), 3, dtype=D)
torch.full((2,), 70000, dtype=D)
torch.full((2,), -1, dtype=D)
torch.full((2,), 2**63, dtype=D)
torch.full((2,), 1.5, dtype=D)
torch.full((2,), -1.5, dtype=D)
torch.full((2,), 1e30, dtype=D)
torch.full((2,), math.inf, dtype=D)
torch.full((2,), 1j, dtype=D)
torch.zeros(2, dtype=D).fill_(math.nan)
torch.tensor([70000], dtype=D)
torch.tensor([-1], dtype=D)
torch.tensor([-70000], dtype=D)
torch.tensor([2**63], dtype=D)
torch.tensor([2**64], dtype=D)
torch.tensor([1.5], dtype=D)
torch.tensor([-0.5], dtype=D)
torch.tensor([math.nan], dtype=D)
torch.tensor([1j], dtype=D)
torch.zeros(2, dtype=D).new_tensor([1, 2])
torch.empty((0, 3), dtype=D), torch.ones_like(x), x.new_zeros(2)
torch.eye(2, dtype=D)
torch.arange(5, dtype=D)
torch.linspace(0, 5, 3, dtype=D)
torch.randint(0, 3, (9,), dtype=D)
torch.rand(2, dtype=D).shape
torch.randn(2, dtype=D).shape
torch.randperm(3, dtype=D)
x.clone().random_()
x.clone().bernoulli_(0.5)
x.clone().fill_(x[1])
x.clone().zero_().tolist()
x.clone().copy_(torch.ones(3, dtype=torch.float64))
torch.ones(3, dtype=torch.int64).copy_(x)
torch.equal(x, x.clone()) if not x.is_complex() else 0
x == x, x != 1, x.eq(2.0)
x == torch.ones(3)
x == torch.ones(3, dtype=torch.int64)
x < 1
x + 1
x + 1.0
x + 1j
x + x
x + torch.ones(3)
torch.ones(3) + x
torch.ones(3, dtype=torch.int64) + x
torch.ones((), dtype=torch.int64) + x
x.clone().add_(1.5)
torch.ones(3).add_(x)
x * 2
x * x
x.clone().mul_(2)
x / 2
x / x
x // 2
x % 2
x ** 2
-x if not x.is_complex() else 0
~x
x & 3
x | x
x << 1
x.abs()
x.sign()
x.exp()
x.round(decimals=1)
x.clamp(1, 2)
x.clamp(min=x)
x.maximum(x)
x.max(0)
x.argmax()
x @ x
x[:, None] @ x[None]
torch.outer(x, x)
torch.cat([x, x])
torch.cat([x, torch.ones(2)])
torch.cat([x, torch.ones(2, dtype=torch.int64)])
torch.nn.functional.embedding(torch.tensor([0]), x.reshape(3, 1))
F.pad(x, (1, 1), value=2)
F.pad(x.reshape(1, 3), (1, 1), mode="reflect")
x.softmax(0)
x.softmax(0, dtype=torch.float32)
x.isnan()
x.isinf()
x.isfinite()
x.logical_not()
torch.signbit(x)
torch.arange(5)[x]
torch.arange(5)[torch.ones((), dtype=D)]
[10, 20, 30][torch.ones((), dtype=D)]
torch.arange(5).gather(0, x)
x.int(), x.double(), x.bool(), x.half()
x.view(torch.int8)
x.expand(2, 3).contiguous(), x.reshape(3, 1).clone().stride()
x.type(), x.element_size(), x.is_signed(), x.dtype
x.type("torch.FloatTensor")
torch.ones(2).type(x.type())
x.numpy()
x.tolist(), x[0].item(), float(x[1].real), bool(x[1])
str(x), repr(x.reshape(3, 1)), format(x[1])
str(x.storage()) if 0 else x.untyped_storage().nbytes()
x.clone().requires_grad_()
x.float().requires_grad_().to(D).dtype
torch.tensor([x[1], x[1]]).dtype if D is not torch.uint64 else 0
torch.view_as_real(x)
x.conj(), x.real
x.imag
torch.frombuffer(bytearray(8), dtype=D)
torch.set_default_dtype(D)
torch.iinfo(D)
torch.finfo(D)
import copy; copy.deepcopy(x)
""")
def test_ops_on_limited_dtypes(line):
    for name in LIMITED:
        values = VALUES.get(name, "[2, 1, 4]")
        before = f"D = torch.{name}; x = torch.tensor({values}, dtype=D); m = torch.tensor([True, False, True]); "
        alike(before + line)


@pytest.mark.parametrize("line", ["x.kthvalue(1)", "x.mode()", "x.topk(1)", "x.cummax(0)", "x.cummin(0)", "x.min(0)"])
@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_selection_from_one_element(name, line):
    alike(f"x = torch.tensor({2**16 - 1}, dtype=torch.{name}); {line}")


@pytest.mark.filterwarnings("ignore")
def test_promotion_of_every_pair():
    every = FULL + LIMITED
    for a in every:
        for b in every:
            alike(f"torch.promote_types(torch.{a}, torch.{b})")
            assert torchlite.can_cast(getattr(torchlite, a), getattr(torchlite, b)) == torch.can_cast(
                getattr(torch, a), getattr(torch, b)
            ), (a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LIMITED)
def test_result_types_with_numbers_and_0_dim_tensors(name):
    others = ["True", "1", "1.5", "1j", *(f"torch.zeros((), dtype=torch.{d})" for d in FULL + LIMITED)]
    for other in others:
        for pair in (f"torch.zeros(2, dtype=torch.{name}), {other}", f"{other}, torch.zeros(2, dtype=torch.{name})"):
            line = f"torch.result_type({pair})"
            assert outcome(torchlite, line)[0] == outcome(torch, line)[0], line
    for full in FULL:
        line = f"torch.result_type(torch.zeros(2, dtype=torch.{full}), torch.zeros((), dtype=torch.{name}))"
        assert outcome(torchlite, line)[0] == outcome(torch, line)[0], line


@pytest.mark.parametrize("name", [*LIMITED, "float4_e2m1fn_x2"])
def test_files_of_either_library_are_read_by_the_other(name, tmp_path):
    x = torch.arange(6, dtype=torch.uint8).repeat(8)[: 6 * getattr(torch, name).itemsize].view(getattr(torch, name))
    x = x.reshape(2, 3)
    for kwargs in ({}, {"_use_new_zipfile_serialization": False}):
        torch.save({"x": x, "y": x.t()[1:]}, tmp_path / "a.pt", **kwargs)
        read = torchlite.load(tmp_path / "a.pt")
        assert bits(read["x"], torchlite) == bits(x, torch) and read["x"].dtype is getattr(torchlite, name)
        assert bits(read["y"], torchlite) == bits(x.t()[1:], torch) and read["y"].stride() == x.t().stride()
        torchlite.save(read, tmp_path / "b.pt", **kwargs)
        again = torch.load(tmp_path / "b.pt")
        assert bits(again["y"], torch) == bits(x.t()[1:], torch) and again["x"].dtype is x.dtype


def test_safetensors():
    safetensors = pytest.importorskip("safetensors.torch")
    from torchlite.utils.safetensors import load, save

    x = {n: torch.arange(16, dtype=torch.uint8).view(getattr(torch, n)) for n in LIMITED[:-2]}
    read = load(safetensors.save(x))
    assert {n: (str(t.dtype), bits(t, torchlite)) for n, t in read.items()} == {
        n: (str(t.dtype), bits(t, torch)) for n, t in x.items()
    }
    again = safetensors.load(save(read))
    assert all(again[n].dtype is t.dtype and bits(again[n], torch) == bits(t, torch) for n, t in x.items())


def test_what_a_dtype_says():
    names = [n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype)]
    for name in names:
        for f in (
            "{}",
            "{}.itemsize",
            "{}.is_floating_point, {}.is_complex",
            "{}.is_signed",
            "{}.abbr",
            "{}.to_real()",
        ):
            alike(f.replace("{}", "torch." + name))
        if name != "float4_e2m1fn_x2":
            alike(f"torch.finfo(torch.{name})")
        alike(f"torch.iinfo(torch.{name})")
        alike(f"torch.{name}.to_complex()")
        alike(f"import copy, pickle; copy.deepcopy(torch.{name}) is pickle.loads(pickle.dumps(torch.{name}))")


@cases("""
torch.empty(2, dtype=torch.qint8)
torch.zeros(2, dtype=torch.quint4x2)
torch.ones(2).to(torch.bits8)
torch.ones(2).view(torch.int3)
torch.tensor([1], dtype=torch.uint7)
torch.ones(2).sum(dtype=torch.quint8)
""")
def test_dtypes_without_tensors_say_so(line):
    kind, text = outcome(torchlite, line)[0]
    assert kind == "NotImplementedError" and "has this dtype's name only" in text
