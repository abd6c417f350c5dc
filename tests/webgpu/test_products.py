"""Matrix products and convolutions are lazy, and what follows them runs in their kernel:
the values, who may see which, and how many kernels."""

from __future__ import annotations

import pytest
import torchlite as torch
from torchlite.nn import functional as F

pytestmark = pytest.mark.usefixtures("bridge")


def dispatches():
    from torchlite.webgpu.transport import bridge
    from torchlite.webgpu.lazy import stream

    stream.run_pending()
    stream.flush()
    return bridge.current.stats()["dispatches"]


def made(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def both(f, *tensors, rtol=1e-5, atol=1e-5, kernels=None):
    """f on webgpu gives what it gives on the CPU, by at most so many kernels."""
    want = f(*[t.clone() for t in tensors])
    up = [t.to("webgpu") for t in tensors]
    before = dispatches()
    got = f(*up)
    count = dispatches() - before
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert g.device.type == "webgpu" and g.dtype is w.dtype and g.shape == w.shape and g.stride() == w.stride()
        torch.testing.assert_close(g.cpu(), w, rtol=rtol, atol=atol)
    if kernels is not None:
        assert count <= kernels, count


X, W, B = made(6, 5), made(7, 5, seed=1), made(7, seed=2)

CHAINS = {
    "relu of linear": lambda x, w, b: torch.relu(F.linear(x, w, b)),
    "gelu of linear": lambda x, w, b: F.gelu(F.linear(x, w, b)),
    "a bias that is added": lambda x, w, b: x @ w.T + b,
    "scale, bias and clamp": lambda x, w, b: ((x @ w.T) * 0.5 + b).clamp(-1, 1),
    "a scalar tensor": lambda x, w, b: (x @ w.T) / b.sum(),
    "in place": lambda x, w, b: F.linear(x, w, b).relu_().mul_(2).add_(b),
    "two results": lambda x, w, b: (lambda y: (y, torch.sigmoid(y)))(F.linear(x, w, b)),
    "comparison": lambda x, w, b: F.linear(x, w, b) > 0,
    "to another type": lambda x, w, b: F.linear(x, w, b).to(torch.float16),
    "coordinates": lambda x, w, b: torch.tril(x @ w.T),
    "broadcast rows": lambda x, w, b: x @ w.T * x[:, :1] + b,
    "dropout without training": lambda x, w, b: F.dropout(F.linear(x, w, b), 0.5, False) + 1,
    "vector result": lambda x, w, b: torch.tanh(x @ w[0]),
    "number result": lambda x, w, b: torch.exp(x[0] @ w[0]),
    "batches": lambda x, w, b: F.silu(x.expand(3, 6, 5) @ w.T) + b,
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_chain_of_ops_is_fused_into_a_product(name, dtype):
    tol = 1e-5 if dtype is torch.float32 else 4e-3
    extra = {"a scalar tensor": 1, "batches": 1}.get(name, 0)
    if dtype is torch.float16 and name == "comparison":
        tol = 0
    both(CHAINS[name], X.to(dtype), W.to(dtype), B.to(dtype), rtol=tol, atol=tol, kernels=1 + extra)


def test_long_sums_and_vectors():
    x, w, b = made(3, 4000), made(5, 4000, seed=1), made(5, seed=2)
    both(lambda x, w, b: torch.relu(F.linear(x, w, b)) * 2, x, w, b, rtol=1e-4, atol=1e-3, kernels=3)
    both(lambda x, w, b: torch.relu(x @ w.T) + b, x, w, b, rtol=1e-4, atol=1e-3, kernels=3)
    both(lambda x, w, b: torch.relu(x[:1] @ w.T) + b, x, w, b, rtol=1e-4, atol=1e-3, kernels=3)


@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions(groups):
    x, w, b = made(2, 4, 9, 8), made(8, 4 // groups, 3, 3, seed=1), made(8, seed=2)
    mean, var = made(8, seed=3), made(8, seed=4).abs() + 0.5

    def block(x, w, b, mean, var):
        y = F.conv2d(x, w, b, padding=1, groups=groups)
        return F.relu(F.batch_norm(y, mean, var, b, mean, False), inplace=True)

    both(block, x, w, b, mean, var, atol=1e-4, rtol=1e-4)
    both(lambda x, w, b: F.relu6(F.conv2d(x, w, b, padding=1, groups=groups)), x, w, b, kernels=1)
    both(lambda x, w, b: F.conv2d(x, w, b, stride=2, groups=groups).mul_(2).sigmoid_(), x, w, b, kernels=1)

    def around(x, w, b):
        y = F.conv2d(x, w, b, padding=1, groups=groups)
        return x + F.relu(F.conv_transpose2d(y, w, None, padding=1, groups=groups))

    both(around, x, w, b, atol=1e-4, kernels=2)
    both(
        lambda x, w, b: F.elu(F.conv1d(x, w, b, groups=groups)),
        x[:, :, 0].contiguous(),
        w[:, :, 0].contiguous(),
        b,
        kernels=1,
    )


def test_reductions():
    x, g = made(6, 40), made(40, seed=1)
    both(lambda x, g: torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6), x, g, kernels=1)
    both(lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g, x, g, kernels=2)
    both(lambda x, g: (x * 2 - 1).sum(0) * g + torch.arange(40, device=x.device), x, g, kernels=2)
    both(lambda x, g: -(x.log_softmax(-1) * 0.5).sum() / 6, x, g, kernels=2)
    both(lambda x, g: x.var(-1).sqrt().add(x[:, 0]), x, g, kernels=1)
    both(lambda x, g: torch.where(x.sum(1) > 0, x.mean(1), x.amax(1)), x, g)
    both(lambda x, g: x.half().sum(1) * 2, x, g, rtol=2e-3, atol=2e-2, kernels=2)
    both(lambda x, g: (x.sum(1), x.argmax(1), x.any()), x, g)
    both(lambda x, g: x.sum(1).to(torch.int64), x, g, kernels=1)
    long = made(3, 70000)
    both(lambda x: x.sum(1).mul(0.5).add(1), long, rtol=1e-4, atol=1e-3, kernels=2)
    both(lambda x: x.sum().mul(0.5).add(1), long, rtol=1e-4, atol=1e-3, kernels=2)
    both(lambda x: x.norm(dim=0).neg(), long, kernels=1)


def test_what_follows_reads_what_was_there():
    x, w = X.to("webgpu"), W.to("webgpu")
    y = x @ w.T
    x.add_(1)  # after the product was asked for
    torch.testing.assert_close(y.cpu(), X @ W.T)

    y = X.to("webgpu") @ w.T
    z = torch.relu(y)
    before = y.clone()  # y is there now; z is still to come
    y.add_(1)
    torch.testing.assert_close(z.cpu(), torch.relu(X @ W.T))
    torch.testing.assert_close(before.cpu(), X @ W.T)
    torch.testing.assert_close(y.cpu(), X @ W.T + 1)

    y = X.to("webgpu") @ w.T
    z, y_sum = torch.relu(y), y.sum()
    w.zero_()
    torch.testing.assert_close(z.cpu(), torch.relu(X @ W.T))
    torch.testing.assert_close(y_sum.cpu(), (X @ W.T).sum())


def test_two_that_follow_one_product():
    def f(x, w):
        y = x @ w.T
        a, b = torch.relu(y), torch.tanh(y)
        del y
        return a + 1, b

    both(f, X, W)

    def g(x, w):
        y = (x @ w.T).mul(2)
        a, b = torch.relu(y), torch.tanh(y)
        del y
        return a, b

    both(g, X, W)


def test_products_of_products():
    both(lambda x, w: x @ w.T + (x * 2) @ w.T, X, W, kernels=3)
    both(lambda x, w: torch.relu(x @ w.T) @ w * x, X, W, kernels=2)
    both(lambda x, w: (x @ w.T) @ w @ w.T, X, W, kernels=3)
    both(lambda x, w: (lambda y: y * y + y)(x @ w.T), X, W, kernels=1)


def test_into_other_tensors():
    def slices(x, w):
        out = torch.zeros(9, 7, device=x.device)
        out[1:7] = x @ w.T
        out[7:9] += (x @ w.T)[:2]
        out[:, ::2] = (w @ x.T).new_ones(9, 4) * 3
        return out

    both(slices, X, W)

    def itself(x, w):
        s = w @ w.T  # 7 x 7
        s.copy_(s @ s)
        w.copy_(torch.relu(s @ w))
        return s, w

    both(itself, X, W, rtol=1e-4, atol=1e-4)
    both(lambda x, w: torch.mm(x, w.T, out=torch.empty(6, 7, device=x.device)), X, W)
    both(lambda x, w: torch.relu((x @ w.T).view(2, 3, 7).transpose(0, 1)) + 1, X, W)
    both(lambda x, w: torch.relu((x @ w.T).T), X, W)
    both(lambda x, w: torch.cat([x @ w.T, torch.relu(x @ w.T)]), X, W)
    both(lambda x, w: F.pad(x @ w.T, (1, 2)), X, W)


def test_many_operands_fall_apart():
    tensors = [made(6, 7, seed=k) for k in range(8)]

    def f(x, w, *rest):
        y = F.linear(x, w, rest[0][0])
        for t in rest:
            y = torch.relu(y) + t
        return y

    both(f, X, W, *tensors)


def test_training_takes_fewer_kernels():
    """The backward pass of relu goes with the product before it."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    )
    x, t = made(5, 8), made(5, 4)

    def step(net, x, t):
        net.zero_grad()
        loss = F.mse_loss(net(x), t)
        loss.backward()
        return (loss.detach(), *[p.grad.clone() for p in net.parameters()])

    want = step(net, x, t)
    net.to("webgpu")
    x, t = x.to("webgpu"), t.to("webgpu")
    before = dispatches()
    got = step(net, x, t)
    # three products, their loss and its gradient; two gradients of inputs, three of weights and three of biases;
    # copies of the gradients
    assert dispatches() - before <= 3 + 2 + 2 + 3 + 3 + 6
    for g, w in zip(got, want):
        torch.testing.assert_close(g.cpu(), w, rtol=1e-4, atol=1e-5)


def test_operands_are_not_kept_for_long():
    w = made(4, 1 << 14).to("webgpu")
    torch.webgpu.synchronize()
    before = torch.webgpu.memory_allocated()
    kept = [torch.ones(16, 1 << 14, device="webgpu") @ w.T for _ in range(40)]  # 1 MiB each, results of 256 bytes
    assert torch.webgpu.memory_allocated() - before < 16 << 20
    torch.testing.assert_close(kept[0].cpu(), kept[39].cpu(), rtol=0, atol=0)


def test_errors_come_where_the_operands_are_wrong():
    x = X.to("webgpu")
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.relu(x @ x)
    with pytest.raises(RuntimeError, match="shape|size"):
        x @ W.to("webgpu").T + made(3).to("webgpu")
    torch.testing.assert_close((x @ W.to("webgpu").T).cpu(), X @ W.T)


OPERANDS = {
    "scaled": lambda x, w, b: (x * 0.5) @ (w.T + 1),
    "an activation": lambda x, w, b: F.linear(torch.relu(x), w, b),
    "cast": lambda x, w, b: (
        x.to(torch.float64 if x.device.type == "cpu" else torch.float32).to(x.dtype) @ w.to(torch.int8).to(x.dtype).T
    ),
    "a step for each row": lambda x, w, b: F.linear(x, (w * 4).to(torch.int8).to(x.dtype) * b[:, None]),
    "a step for each column": lambda x, w, b: x @ (w.T * b),
    "part of it": lambda x, w, b: (x * 2 + 1)[1:5, 2:] @ (w * b[:, None])[::2, 2:].T,
    "a view of it": lambda x, w, b: (x * 2).view(5, 6) @ (w.exp()).view(5, 7)[:, 1:].T[:, :5].T[:, :6].T,
    "a triangle": lambda x, w, b: torch.tril(x) @ w.T,
    "ones": lambda x, w, b: torch.ones(3, 5, device=x.device, dtype=x.dtype) @ w.T,
    "a row": lambda x, w, b: F.linear(x[0] * 2, w * 0.5),
    "a column": lambda x, w, b: (x * 2) @ (w[0] - 1),
    "numbers": lambda x, w, b: (x[0] * 2) @ (w[0] - 1),
    "batches": lambda x, w, b: (x * 2).expand(3, 6, 5) @ (w.T - 1).unsqueeze(0).expand(3, 5, 7),
    "with what follows": lambda x, w, b: torch.relu(F.linear(x * 2, w - 1, b)) * b,
}


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_operands_that_are_expressions(name, dtype):
    tol = 1e-5 if dtype is torch.float32 else 2e-2
    both(OPERANDS[name], X.to(dtype), W.to(dtype), B.to(dtype), rtol=tol, atol=tol)


def plans(f):
    """What f gives, and which expressions are in the last new kernel of a product
    (make_key in native/src/gpu/gpu_run.c)."""
    from torchlite.webgpu.lazy import stream
    from torchlite.webgpu.transport import bridge

    stream.run_pending()
    original, kernels, roles = bridge.current.plan, {}, set()

    def plan(key):
        nonlocal roles
        number = original(key)
        role, *of = key.removeprefix("expression:")[:5].encode("latin-1")
        if key.startswith("expression:") and role:
            known = kernels.get(int.from_bytes(bytes(of), "little"), set())
            roles = kernels[number] = known | {["after", "first", "second"][role - 1]}
        return number

    bridge.current.plan = plan
    try:
        out = f()
        stream.run_pending()
    finally:
        del bridge.current.plan
    return out, roles


def test_operands_are_computed_where_they_are_read():
    x, w, b = X.to("webgpu"), W.to("webgpu"), B.to("webgpu")
    # operations that no other test puts there: a kernel is described once
    out, roles = plans(lambda: torch.tanh(F.linear(torch.asinh(x), torch.atan(w), b)))
    assert roles == {"first", "second", "after"}
    torch.testing.assert_close(out.cpu(), torch.tanh(F.linear(torch.asinh(X), torch.atan(W), B)), rtol=1e-4, atol=1e-5)

    y = x * 0.25  # somebody holds it: it is stored once, and read
    out, roles = plans(lambda: y @ w.T)
    assert not roles
    torch.testing.assert_close(out.cpu(), X * 0.25 @ W.T)

    image, kernel = made(2, 4, 6, 6), made(3, 4, 3, 3)
    up, k = image.to("webgpu"), kernel.to("webgpu")
    out, roles = plans(lambda: F.conv2d(torch.asinh(up) / 255 - 0.5, torch.atan(k), padding=1))
    assert roles == {"first", "second"}
    torch.testing.assert_close(
        out.cpu(), F.conv2d(torch.asinh(image) / 255 - 0.5, torch.atan(kernel), padding=1), rtol=1e-4, atol=1e-4
    )
    out = F.conv2d(up - 1, k[:1].expand(4, 4, 3, 3)[:, :1] * 2, padding=1, groups=4)
    torch.testing.assert_close(
        out.cpu(),
        F.conv2d(image - 1, kernel[:1].expand(4, 4, 3, 3)[:, :1] * 2, padding=1, groups=4),
        rtol=1e-4,
        atol=1e-4,
    )


def test_operands_read_what_was_there():
    x, w = X.to("webgpu"), W.to("webgpu")
    y = (x * 2) @ (w + 1).T
    x.zero_()
    w.zero_()
    torch.testing.assert_close(y.cpu(), X * 2 @ (W + 1).T)

    x = X.to("webgpu")
    double = x * 2
    y = double @ W.to("webgpu").T
    double.add_(1)
    torch.testing.assert_close(y.cpu(), X * 2 @ W.T)
    torch.testing.assert_close(double.cpu(), X * 2 + 1)

    for change in (
        lambda t: t.zero_(),
        lambda t: t.fill_(float("nan")),
        lambda t: t[0].fill_(3),
        lambda t: t.copy_(X.to("webgpu")),
        lambda t: t.copy_(X),
        lambda t: t.relu_(),
    ):
        double, again = x * 2, X * 2
        y = double @ W.to("webgpu").T
        change(double)
        change(again)
        torch.testing.assert_close(y.cpu(), X * 2 @ W.T)
        torch.testing.assert_close(double.cpu(), again, equal_nan=True)

    double = x * 2
    y, z = double @ W.to("webgpu").T, torch.relu(double)
    del double
    torch.testing.assert_close(z.cpu(), torch.relu(X * 2))
    torch.testing.assert_close(y.cpu(), X * 2 @ W.T)

    double = x * 2
    y = torch.relu(double @ W.to("webgpu").T) + 1
    torch.webgpu.synchronize()
    x.zero_()
    torch.testing.assert_close(y.cpu(), torch.relu(X * 2 @ W.T) + 1)
    torch.testing.assert_close(double.cpu(), X * 2)


def test_operands_with_gradients():
    def step(x, w, b):
        x, w, b = [t.clone().requires_grad_() for t in (x, w, b)]
        y = F.linear(torch.relu(x) * 2, w * b[:, None], b)
        (torch.sigmoid(y) * 3).sum().backward()
        return x.grad, w.grad, b.grad

    both(step, X, W, B)
