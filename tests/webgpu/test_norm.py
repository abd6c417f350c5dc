"""Softmax and normalisation layers on webgpu against the CPU."""

from __future__ import annotations


import pytest
import torchlite as torch
import torchlite.nn.functional as F

pytestmark = pytest.mark.usefixtures("bridge", "on_the_gpu")


TOL = {
    torch.float32: dict(rtol=2e-5, atol=2e-6),
    torch.float16: dict(rtol=2e-3, atol=2e-3),
    torch.bfloat16: dict(rtol=2e-2, atol=2e-2),
}


def close(a, b, like=None, **tol):
    assert a.device.type == "webgpu"
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    torch.testing.assert_close(a.cpu(), b, equal_nan=True, **(tol or TOL[(like or b).dtype]))


def rand(*shape, dtype=torch.float32, scale=1.0, shift=0.0, seed=0):
    g = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.randn(shape, generator=g) * scale + shift).to(dtype)


def both(fn, *tensors, grads=True, **tol):
    """fn on the CPU and on webgpu: results and, with random gradients, the gradients of every floating tensor."""
    outs = []
    for device in ("cpu", "webgpu"):
        own = [None if t is None else t.detach().to(device) for t in tensors]
        if grads:
            for t in own:
                if t is not None and t.is_floating_point():
                    t.requires_grad_()
        y = fn(*own)
        got = [y]
        if grads:
            y.backward(rand(*y.shape, dtype=y.dtype, seed=9).to(device))
            got += [t.grad for t in own if t is not None and t.requires_grad]
        outs.append([o.detach() for o in got if o is not None])
    assert len(outs[0]) == len(outs[1])
    for a, b in zip(outs[1], outs[0]):
        close(a, b, **tol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("fn", [torch.softmax, torch.log_softmax])
@pytest.mark.parametrize(
    "shape, dim", [((5, 7), 1), ((5, 7), 0), ((2, 3, 4), -2), ((3, 700), -1), ((4,), 0), ((), 0), ((2, 1), 1)]
)
def test_softmax(fn, dtype, shape, dim):
    both(lambda x: fn(x, dim), rand(*shape, dtype=dtype, scale=3))


@pytest.mark.parametrize("dim", [2**32, 2**40, -(2**40)])
def test_softmax_along_a_dim_beyond_32_bits(dim):
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.softmax(torch.ones(2, 3, device="webgpu"), dim)


def test_softmax_of_views_and_other_types():
    both(lambda x: torch.softmax(x.t(), 1), rand(6, 5))
    both(lambda x: torch.softmax(x[1:, 2:], 0), rand(6, 5))
    both(lambda x: torch.softmax(x.expand(3, 5), 1), rand(1, 5))
    both(lambda x: torch.softmax(x, 1, dtype=torch.float32), rand(3, 5, dtype=torch.float16))
    both(lambda x: torch.log_softmax(x, 1, dtype=torch.float16), rand(3, 5), rtol=2e-3, atol=2e-3)
    both(lambda x: F.softmax(x, 0, dtype=torch.float32), torch.arange(6).reshape(2, 3), grads=False)
    w = rand(3, 5, dtype=torch.float16).to("webgpu")
    assert torch._softmax(w, 1, True).dtype == torch.float32
    assert torch.softmax(torch.empty(0, 3, device="webgpu"), 1).shape == (0, 3)
    assert torch.softmax(torch.empty(3, 0, device="webgpu"), 1).shape == (3, 0)


def test_softmax_extremes():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[0.0, -inf, 1], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1], [1e30, 1e30, 0], [-1e30, 100, 200]])
    both(lambda x: torch.softmax(x, 1), x, grads=False)
    both(lambda x: torch.log_softmax(x, 1), x, grads=False)


def test_softmax_errors():
    w = torch.ones(2, 3, device="webgpu")
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.softmax(w, 2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.softmax(w.long(), 1)


def test_softmax_twice_differentiable():
    both(lambda x: torch.autograd.grad(torch.softmax(x, 1).square().sum(), x, create_graph=True)[0], rand(3, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("affine", [0, 1, 2])
@pytest.mark.parametrize(
    "shape, tail", [((4, 6), (6,)), ((2, 3, 5), (3, 5)), ((3, 900), (900,)), ((7,), (7,)), ((300, 8), (8,))]
)
def test_layer_norm(dtype, affine, shape, tail):
    params = [rand(*tail, dtype=dtype, shift=1), rand(*tail, dtype=dtype)][:affine]
    tol = dict(TOL[dtype], atol={torch.float16: 5e-2, torch.bfloat16: 0.4}.get(dtype, 2e-5))
    both(lambda x, *p: F.layer_norm(x, tail, *p), rand(*shape, dtype=dtype, scale=2, shift=1), *params, **tol)


def test_layer_norm_cases():
    both(lambda x, w: F.layer_norm(x.t(), (4,), w[::2]), rand(4, 6), rand(8), atol=1e-5, rtol=1e-5)
    both(lambda x, b: F.layer_norm(x, (4,), None, b), rand(5, 4), rand(4), atol=1e-5, rtol=1e-5)
    both(
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        rand(5, 4, dtype=torch.float16),
        rand(4),
        rand(4),
        atol=2e-3,
        rtol=2e-3,
    )
    both(lambda x: F.layer_norm(x, (3, 4)), rand(0, 3, 4))
    both(lambda x, w: F.layer_norm(x, (0,), w), rand(3, 0), rand(0))
    both(lambda x: F.layer_norm(x * 2 + 1, (4,)).relu(), rand(3, 4, scale=50, shift=300), atol=1e-4, rtol=1e-4)
    w = torch.ones(3, 4, device="webgpu")
    with pytest.raises(RuntimeError, match="Given normalized_shape"):
        F.layer_norm(w, (3,))
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape"):
        F.layer_norm(w, (4,), w[0, :2])
    y, mean, rstd = torch.native_layer_norm(w.half(), (4,), None, None, 1e-5)
    assert mean.dtype == torch.float16 and mean.shape == (3, 1) and rstd.shape == (3, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("weight", [False, True])
def test_rms_norm(dtype, weight):
    tol = {"rtol": 2e-5, "atol": 2e-5} if dtype == torch.float32 else {"rtol": 2e-3, "atol": 1e-2}
    both(
        lambda x, *w: F.rms_norm(x, (6,), *w),
        rand(3, 5, 6, dtype=dtype),
        *([rand(6, dtype=dtype)] if weight else []),
        **tol,
    )
    both(
        lambda x, *w: F.rms_norm(x, (5, 6), *w, eps=0.1),
        rand(3, 5, 6, dtype=dtype),
        *([rand(5, 6, dtype=dtype)] if weight else []),
        **tol,
    )
    with torch.no_grad():
        both(lambda x: F.rms_norm(x, (6,)), rand(3, 6, dtype=dtype), grads=False, **tol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5), (2, 4, 3, 5), (2, 3, 2, 2, 3), (70, 2, 9, 9), (4, 1, 3)])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(dtype, shape, affine, training):
    C = shape[1]
    params = [rand(C, dtype=dtype, shift=1), rand(C, dtype=dtype)] if affine else [None, None]
    if dtype == torch.float32:
        tol = {"rtol": 1e-4, "atol": 2e-4}
    else:
        tol = {"rtol": 4e-3, "atol": 4e-1 if shape[0] == 70 else 2e-2}
    kept = dtype if affine else torch.float32  # PyTorch's CPU refuses other statistics beside weights of half
    stats = {d: (rand(C, seed=3).to(d, kept), rand(C, seed=4).abs().to(d, kept)) for d in ("cpu", "webgpu")}

    def run(x, w=None, b=None):
        return F.batch_norm(x, *stats[x.device.type], w, b, training, 0.3, 1e-5)

    both(run, rand(*shape, dtype=dtype, shift=0.5), *params, **tol)
    for a, b in zip(stats["webgpu"], stats["cpu"]):
        close(a, b, rtol=2e-3 if dtype == torch.float16 else 1e-5, atol=1e-3 if dtype == torch.float16 else 1e-6)


def test_batch_norm_cases():
    tol = {"rtol": 1e-4, "atol": 2e-5}
    both(lambda x: F.batch_norm(x, None, None, training=True), rand(6, 3, 2), **tol)
    both(lambda x: F.batch_norm(x.transpose(0, 2), None, None, training=True), rand(4, 3, 2), **tol)
    both(lambda x: F.batch_norm(x, None, None, training=True), rand(64, 3, scale=0.1, shift=50), rtol=1e-3, atol=1e-3)
    both(
        lambda x: F.batch_norm(x, torch.zeros(3, device=x.device), torch.ones(3, device=x.device), training=False),
        rand(0, 3, 2),
    )
    x = rand(2, 3, 4, 5).to("webgpu").to(memory_format=torch.channels_last).requires_grad_()
    y = torch.nn.BatchNorm2d(3).to("webgpu")(x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    y.square().sum().backward()
    assert x.grad.shape == x.shape
    w = torch.ones(2, 3, device="webgpu")
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 2"):
        F.batch_norm(w, w[0, :2], w[0], training=True)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(w[:1], None, None, training=True)


def test_batch_norm_module_keeps_statistics_on_the_device():
    a, b = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).to("webgpu")
    for k in range(3):
        x = rand(5, 3, seed=k)
        a(x), b(x.to("webgpu"))
    for k, v in b.state_dict().items():
        torch.testing.assert_close(v.cpu(), a.state_dict()[k])
    view = torch.zeros(2, 3, device="webgpu")  # strided running statistics
    rm, rv = view.t()[:, 0], torch.ones(6, device="webgpu")[::2]
    F.batch_norm(rand(5, 3, seed=0).to("webgpu"), rm, rv, training=True)
    c = torch.nn.BatchNorm1d(3)
    c(rand(5, 3, seed=0))
    close(rm, c.running_mean)
    close(rv, c.running_var)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("affine", [False, True])
def test_group_norm(dtype, groups, affine):
    params = [rand(6, dtype=dtype, shift=1), rand(6, dtype=dtype)] if affine else []
    tol = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 4e-3, "atol": 2e-2}
    for shape in ((3, 6, 4, 5), (2, 6, 1), (4, 6, 7)):
        both(lambda x, *p: F.group_norm(x, groups, *p), rand(*shape, dtype=dtype, shift=0.3), *params, **tol)


def test_group_norm_cases():
    tol = {"rtol": 1e-4, "atol": 2e-5}
    both(lambda x: F.group_norm(x.transpose(1, 2), 2), rand(2, 3, 4), **tol)
    both(lambda x: F.group_norm(x, 2), rand(0, 4, 3))
    both(lambda x, w: F.group_norm(x, 2, None, w).relu(), rand(2, 4, 3), rand(4), **tol)
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        F.group_norm(torch.ones(2, 4, 3, device="webgpu"), 3)


def test_instance_norm():
    both(lambda x, w: F.instance_norm(x, None, None, w), rand(2, 3, 4, 4), rand(3), rtol=1e-4, atol=2e-5)
    a, b = (
        torch.nn.InstanceNorm1d(3, track_running_stats=True),
        torch.nn.InstanceNorm1d(3, track_running_stats=True).to("webgpu"),
    )
    a(rand(2, 3, 5)), b(rand(2, 3, 5).to("webgpu"))
    close(b.running_var, a.running_var)


def test_tensors_on_the_cpu_are_refused():
    w, c = torch.ones(3, 4, device="webgpu"), torch.ones(3, 4)
    for fn in (
        lambda: F.layer_norm(w, (4,), c[0]),
        lambda: F.layer_norm(c, (4,), w[0]),
        lambda: F.rms_norm(w, (4,), c[0]),
        lambda: F.group_norm(w, 2, c[0]),
        lambda: F.batch_norm(w, c[0], c[0], training=True),
        lambda: F.batch_norm(c, None, None, w[0], training=True),
        lambda: torch._softmax_backward_data(w, c, 1, torch.float32),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            fn()


def test_twice_differentiable():
    def twice(fn):
        def run(x, *params):
            y = fn(x, *params)
            g = torch.autograd.grad((y * y.detach().cos()).sum(), (x, *params), create_graph=True)
            return sum((q * q).sum() for q in g)

        return run

    for fn, shape, n in (
        (lambda x, w: F.layer_norm(x, (5,), w), (4, 5), 5),
        (lambda x, w: F.rms_norm(x, (5,), w), (4, 5), 5),
        (lambda x, w: F.batch_norm(x, None, None, w, training=True), (4, 5, 3), 5),
        (lambda x, w: F.group_norm(x, 2, w), (4, 6, 3), 6),
    ):
        both(twice(fn), rand(*shape), rand(n, shift=2), rtol=1e-3, atol=1e-3)
