"""Results on webgpu have the strides that they have on the CPU, and an op in place counts one change."""

import pytest
import torchlite as torch

pytestmark = pytest.mark.usefixtures("bridge")


def inputs(device):
    """Of shape (2, 4, 3): permuted, expanded in each way, contiguous."""

    def made(*shape):
        return torch.arange(1.0, torch.Size(shape).numel() + 1).reshape(shape).to(device)

    return {
        "permuted": made(3, 4, 2).transpose(0, 2),
        "number": made(1)[0].expand(2, 4, 3),
        "row": made(3),
        "rows": made(3).expand(2, 4, 3),
        "column": made(2, 1, 1).expand(2, 4, 3),
        "plain": made(2, 4, 3),
        "part": made(4, 2, 6).transpose(0, 1)[..., ::2],
    }


PAIRS = [
    lambda a, b: a * b,
    lambda a, b: a > b,
    lambda a, b: torch.where(a > 3, a, b),
    lambda a, b: torch.lerp(a, b, b),
    lambda a, b: (a * 1j) * b,
]


@pytest.mark.parametrize("op", range(len(PAIRS)))
def test_of_two(op):
    here, there = inputs("cpu"), inputs("webgpu")
    for a in here:
        for b in here:
            if op == 4 and "part" in (a, b):
                continue  # PyTorch's own complex() is contiguous there
            want, got = PAIRS[op](here[a], here[b]), PAIRS[op](there[a], there[b])
            assert got.stride() == want.stride(), (a, b)
            assert got.shape == want.shape and torch.allclose(got.cpu(), want), (a, b)


def several(r):
    return [r] if isinstance(r, torch.Tensor) else list(r)


MOVES = [
    lambda t: t.sort(0),
    lambda t: t.sort(1, descending=True),
    lambda t: t.sort(stable=True, dim=-1),
    lambda t: t.argsort(1),
    lambda t: t.msort(),
    lambda t: t.flip(0, 2),
    lambda t: t.flip(1),
    lambda t: (t + 1j).flip(1, -1),
    lambda t: torch.rot90(t),
    lambda t: t.roll(1, 0),
    lambda t: t.roll((1, 2), (0, 2)),
    lambda t: t.roll(5),
    lambda t: t.fliplr(),
]


@pytest.mark.parametrize("op", range(len(MOVES)))
def test_moved_elements(op):
    here, there = inputs("cpu"), inputs("webgpu")
    for name in here:
        if here[name].dim() == 3:
            x, y = (v[name] + 0 if "r" in name[:1] else v[name] for v in (here, there))
            for want, got in zip(several(MOVES[op](x)), several(MOVES[op](y))):
                assert got.stride() == want.stride() and not got._is_view(), name
                assert torch.equal(got.cpu(), want), name


def test_gradient_of_a_transposed_view():
    strides = []
    for device in ("cpu", "webgpu"):
        x = torch.ones(2, 4, 2).to(device).requires_grad_()
        strides.append(torch.autograd.grad(x.swapaxes(2, 1).square().sum(), x)[0].stride())
    assert strides[0] == strides[1]


ON_THE_CPU = [
    lambda t: torch.fft.fft2(t),
    lambda t: torch.fft.ihfft(t),
    lambda t: torch.fft.irfftn(t, dim=(0, 1)),
    lambda t: torch.linalg.eigvals(t[:, :2, :2]),
    lambda t: torch.special.zeta(t + 2, t),
    lambda t: torch.poisson(t * 0),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", range(len(ON_THE_CPU)))
def test_what_the_cpu_computes_in_its_place(op):
    here, there = inputs("cpu"), inputs("webgpu")
    for name in ("permuted", "rows", "plain", "part"):
        want, got = ON_THE_CPU[op](here[name]), ON_THE_CPU[op](there[name])
        assert got.device.type == "webgpu" and got.stride() == want.stride(), name
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-4, msg=lambda m: f"{name}: {m}")


CHANGES = {
    "fill_diagonal_": (2.5,),
    "add_": (1,),
    "zero_": (),
    "logical_or_": (1,),
    "uniform_": (),
    "index_fill_": (0, [1], 2.0),
    "tril_": (),
    "copy_": (1.0,),
    "cumsum_": (0,),
    "bernoulli_": (0.5,),
    "xlogy_": (2.0,),
    "renorm_": (2, 0, 1.0),
    "squeeze_": (),
    "masked_fill_": ([True, False, True], 2.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_counts_once(name):
    for dtype in (torch.float32, torch.complex64):
        if dtype.is_complex and name in ("uniform_", "bernoulli_", "xlogy_", "renorm_"):
            continue
        versions = []
        for device in ("cpu", "webgpu"):
            t = torch.ones(3, 3, dtype=dtype).to(device)
            args = [
                torch.tensor(a).to(device) if isinstance(a, list) or a == 1 and name == "logical_or_" else a
                for a in CHANGES[name]
            ]
            before = t._version
            getattr(t, name)(*args)
            versions.append(t._version - before)
        assert versions == [1, 1], dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool])
def test_a_copy_counts_once(dtype):
    for source in (torch.complex64, torch.float32, torch.int64, torch.bool):
        t, s = torch.zeros(3, 4, dtype=dtype, device="webgpu"), torch.ones(3, 4, dtype=source, device="webgpu")
        for n, change in enumerate(
            [
                lambda: t.copy_(s),
                lambda: t[:, 1].copy_(s[0, 0]),
                lambda: t.t().copy_(s[:, :1].t()),
                lambda: t.__setitem__(1, s[1]),
                lambda: t.copy_(s.cpu()),
                lambda: t[::2].fill_(1),
            ]
        ):
            change()
            assert t._version == n + 1, source
        assert torch.equal(t.cpu(), torch.ones(3, 4, dtype=dtype))


def image(*shape):
    return torch.arange(1.0, torch.Size(shape).numel() + 1).reshape(shape).to(memory_format=torch.channels_last)


JOINED = {
    "channels last": lambda: [image(2, 3, 4, 5), image(2, 3, 4, 5)],
    "of two types": lambda: [image(2, 3, 4, 5), image(2, 3, 4, 5).half()],
    "one of each format": lambda: [image(2, 3, 4, 5), image(2, 3, 4, 5).contiguous()],
    "beside an empty one": lambda: [image(2, 3, 4, 5), torch.zeros(0)],
    "a dim of size 0": lambda: [image(2, 0, 4, 5), image(2, 3, 4, 5)],
    "a size of 1": lambda: [image(2, 1, 4, 5), image(2, 1, 4, 5)],
    "transposed": lambda: [torch.ones(3, 4).t(), torch.ones(3, 4).t()],
    "more than a kernel takes": lambda: [image(1, 3, 2, 2)] * 9,
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("op", [torch.cat, torch.stack], ids=["cat", "stack"])
def test_joined(op, name):
    here = JOINED[name]()
    for dim in range(-1, here[0].dim()):
        try:
            wanted = op(here, dim)
        except RuntimeError as e:
            with pytest.raises(RuntimeError) as error:
                op([t.to("webgpu") for t in here], dim)
            assert str(error.value) == str(e)
            continue
        r = op([t.to("webgpu") for t in here], dim)
        # the stride of a dim of size 1 reaches no element
        strides = [[n for n, size in zip(t.stride(), t.shape) if size > 1] for t in (r, wanted)]
        assert strides[0] == strides[1] and r.dtype is wanted.dtype
        assert torch.equal(r.cpu(), wanted)


def layouts(device):
    """Tensors that broadcast together, laid out in many ways; dims of one element have strides that say something."""
    x = torch.arange(36.0).reshape(3, 3, 4).to(device)
    return [
        x[:1],
        x[:1].transpose(1, 2)[:, :3],
        x[:, :1].transpose(0, 1)[:, :, :3],
        x[0].t()[:1],
        x[0, :, :1].unfold(1, 1, 2),
        x[0, :3, :3].t().unfold(0, 1, 3),
        x[0, 0].int()[:3],
        x[:1, :, :1],
        x[0, :1, :1],
        x[0, 0, 0],
        x[:, :, 0].t()[None],
        x[:, :, :1].expand(3, 3, 3)[:1],
    ]


def test_strides_of_two_operands():
    """As on the CPU, strides of dims of one element too, with which the result takes part in the next op."""
    here, there = layouts("cpu"), layouts("webgpu")
    functions = [torch.add, torch.mul, torch.lt, torch.atan2, torch.igammac, lambda a, b: torch.where(a > 1, a, b)]
    unary = [torch.exp, lambda a: a * 4.7, lambda a: 2 - a, torch.relu, lambda a: a.clamp(min=1), lambda a: a > 2]
    wrong = []
    for i, a in enumerate(here):
        for k, f in enumerate(unary):
            if f(a).stride() != f(there[i]).stride():
                wrong.append((i, "unary", k, f(a).stride(), f(there[i]).stride()))
        for j, b in enumerate(here):
            for k, f in enumerate(functions):
                try:
                    want = f(a, b)
                except RuntimeError:
                    continue  # these do not broadcast
                if want.stride() != f(there[i], there[j]).stride():
                    wrong.append((i, j, k, want.shape, want.stride(), f(there[i], there[j]).stride()))
    assert not wrong


# x is [2, 4, 8, 8] in channels_last
LAST = """
F.conv2d(x, w(8, 4, 3, 3)); F.conv2d(x, w(8, 4, 1, 1)); F.conv2d(x, w(8, 4, 3, 3), stride=2, padding=1)
F.conv2d(x, w(4, 1, 3, 3), groups=4); F.conv_transpose2d(x, w(4, 8, 3, 3))
F.batch_norm(x, None, None, training=True); F.batch_norm(x, x.detach()[0, :, 0, 0], x.detach()[0, :, 0, 0].abs())
F.group_norm(x, 2); F.group_norm(x, 2, w(4), w(4)); F.instance_norm(x); F.layer_norm(x, (8,))
F.max_pool2d(x, 2); F.avg_pool2d(x, 2); F.adaptive_avg_pool2d(x, 3); F.adaptive_max_pool2d(x, 3)
F.relu(x); F.gelu(x); F.silu(x); F.prelu(x, w(4)); F.dropout(x, 0.0); F.softmax(x, 1); F.glu(x, 1)
F.interpolate(x, scale_factor=2); F.interpolate(x, scale_factor=2, mode="bilinear")
F.interpolate(x, scale_factor=2, mode="bicubic"); F.pixel_shuffle(x, 2); F.pixel_unshuffle(x, 2)
F.pad(x, (1, 1)); F.pad(x, (1, 1, 1, 1), "reflect"); F.pad(x, (1, 1, 1, 1), "replicate"); F.channel_shuffle(x, 2)
torch.cat([x, x], 1); torch.cat([x, x]); torch.stack([x, x]); x.flip(2); x.roll(1, 2); x.roll(3); x.rot90(1, (2, 3))
x.mean((2, 3), keepdim=True); x.sum(1, keepdim=True); x.amax(1, keepdim=True); x.max(1, keepdim=True)[0]
x + 1; x * w(4, 1, 1); x.exp(); torch.where(x > 0, x, 0); x.clamp(0, 1); x.lerp(x, 0.5); x.masked_fill(x > 0, 0)
x.clone(); torch.zeros_like(x); torch.rand_like(x); x.half(); x.contiguous(memory_format=torch.channels_last)
x.cumsum(1); x.sort(1)[0]; x.tril(); x[[0, 1]]; x @ x.transpose(2, 3); F.unfold(x, 2)
"""


@pytest.mark.parametrize("call", [c.strip() for line in LAST.strip().splitlines() for c in line.split("; ")])
def test_of_channels_last(call):
    strides = []
    for device in ("cpu", "webgpu"):

        def w(*shape):
            return torch.full(shape, 0.1, device=device)

        x = torch.linspace(-1, 1, 512).view(2, 4, 8, 8).to(memory_format=torch.channels_last).to(device)
        x.requires_grad_()
        y = eval(call, {"torch": torch, "F": torch.nn.functional, "x": x, "w": w})
        seen = [y.stride()]
        if y.requires_grad:
            for g in (torch.zeros_like(y), torch.zeros(y.shape, dtype=y.dtype, device=device)):
                seen.append(torch.autograd.grad(y, x, g, retain_graph=True)[0].stride())
        strides.append(seen)
    assert strides[1] == strides[0]
