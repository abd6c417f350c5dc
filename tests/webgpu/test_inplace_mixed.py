"""Changes in place mixed with what else autograd knows: copies between devices, hooks, custom functions, .data,
no_grad, saved tensors. Values, first and second gradients, or the error, are the CPU's,
and a gradient is on the device of what it belongs to."""

import pytest
import torchlite as torch

pytestmark = [pytest.mark.usefixtures("bridge"), pytest.mark.filterwarnings("ignore")]
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def made(device, *shape):
    return (
        torch.arange(1.0, torch.Size(shape).numel() + 1)
        .mul(7)
        .remainder(13)
        .div(13)
        .reshape(shape)
        .to(device, copy=True)
        .requires_grad_()
    )


def derivatives(out, *leaves):
    """out, and the first and second gradients of a weighted sum."""
    loss = (out * torch.linspace(-1, 1, out.numel()).reshape(out.shape).to(out.device)).sum()
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    inner = sum(g.exp().sum().cpu() for g in first if g is not None and g.requires_grad)
    second = torch.autograd.grad(inner, leaves, allow_unused=True, retain_graph=True) if torch.is_tensor(inner) else ()
    loss.backward()
    for g, leaf in zip((*first, *second, *[leaf.grad for leaf in leaves]), leaves * 3):
        assert g is None or g.device == leaf.device and g.dtype is leaf.dtype
    return [out, *first, *second, *[leaf.grad for leaf in leaves]]


# --- between devices ---


@program
def copied_to_the_device(d):
    x, y = made("cpu", 3, 4), made(d, 3, 4)
    z = y * 1
    z.copy_(x * x)
    z[1:].copy_(x[:2])
    return derivatives(z * z * y, x, y)


@program
def copied_from_the_device(d):
    x, y = made(d, 3, 4), made("cpu", 3, 4)
    z = y * 1
    z[1:].copy_(x[1:] ** 2)
    z.t()[0].copy_(x[:, 3])
    return derivatives(z * z * y, x, y)


@program
def copied_to_and_fro(d):
    x, y = made(d, 3, 4), made("cpu", 4)
    z = x * 1
    z[1].copy_(y * y)
    z[:, 0].copy_((y * 2)[:3])
    w = torch.zeros(4)
    w.copy_(z[1] * x[0])
    return derivatives(w * z.cpu().sum(0), x, y)


@program
def copied_broadcast_and_cast(d):
    x = made("cpu", 4)
    z = torch.zeros(3, 4, dtype=torch.float16).to(d)
    z.copy_(x)
    return derivatives(z.float(), x)


@program
def copied_from_float64(d):
    x = made("cpu", 3, 4).detach().double().requires_grad_()
    z = torch.zeros(3, 4).to(d)
    z.t().copy_(x.t())
    return derivatives((z * z).cpu(), x)


@program
def assigned_from_the_cpu(d):
    x = made(d, 3, 4)
    z = x * 1
    z[0] = torch.tensor(2.0, requires_grad=True)
    return derivatives(z * z, x)


@program
def there_and_back(d):
    x = made("cpu", 3, 4)
    z = x.t().to(d)
    w = z * 1
    w[1:].mul_(z[:3])
    w = w.cpu()
    w[0].exp_()
    return derivatives(w, x)


# --- views, hooks, custom functions ---


@program
def chain_of_views(d):
    x = made(d, 2, 3, 4)
    z = x * 1
    for i in range(6):
        v, u = z.transpose(i % 2, 2)[..., i % 2 :], x.transpose(i % 2, 2)[..., i % 2 :]
        v.mul_(0.5 + i / 10).add_(u)
        z = z if i % 3 else z * x
    return derivatives(z, x)


@program
def hooks_between(d):
    x = made(d, 3, 4)
    z = x * 2
    z.register_hook(lambda g: g * 2)
    v = z[0]
    v.mul_(3)
    z.register_hook(lambda g: g + x.detach())
    v.register_hook(lambda g: g * 3)
    z[:, 1].exp_()
    return derivatives(z * x, x)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a.clone(), b)
        a.mul_(a).mul_(b)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return 2 * a * b * g, a * a * g


@program
def dirty(d):
    x = made(d, 3, 4)
    z = x * 1
    Square.apply(z, x.exp())
    z[0].mul_(x[1])
    return [*derivatives(z, x), torch.tensor(z._version)]


@program
def dirty_view(d):
    x = made(d, 3, 4)
    z = x * 1
    Square.apply(z.t()[1:][:, ::2], x.t()[1:, ::2])
    z.mul_(x)
    return derivatives(z, x)


@program
def dirty_leaf(d):
    return [Square.apply(made(d, 3), made(d, 3))]


@program
def created_and_retained(d):
    x = made(d, 3, 4)
    z = x * x
    z[:2].mul_(x[1:])
    z.sum().backward(retain_graph=True)
    z.sum().backward(create_graph=True)
    (x.grad * x.grad).sum().backward()
    return [z, x.grad]


@program
def kept_on_the_cpu(d):
    x = made(d, 3, 4)
    with torch.autograd.graph.save_on_cpu():
        z = x * x
        z[1:].mul_(x[1:])
        w = z.exp()
    return derivatives(w, x)


@program
def checkpointed(d):
    x = made(d, 3, 4)

    def f(a):
        b = a * 2
        b[1:].mul_(a[1:])
        return b.sin()

    z = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False) * 1
    z[0].mul_(x[1])
    z.sum().backward()
    return [z, x.grad]


# --- behind autograd's back ---


@program
def data_written(d):
    x = made(d, 3, 4)
    z = x * 1
    v = z[1:]
    z.data.mul_(2)
    v.data[0] = 5.0
    r = z.exp()
    v.mul_(3)
    return [*derivatives(z * r, x), torch.tensor([z._version, v._version])]


@program
def leaf_written_without_grad(d):
    x = made(d, 3, 4)
    y = x * 2
    with torch.no_grad():
        x[1:].mul_(2)
        x.t()[0] = 7.0
        x.copy_(x.flip(0))
    return derivatives(x * x + y, x)


@program
def gradient_changed(d):
    x = made(d, 3, 4)
    x.grad = made(d, 4, 3).detach().t()
    (x * x).sum().backward()
    x.grad.mul_(2)[0].zero_()
    (x * x * x).sum().backward()
    return [x.grad, torch.tensor(x.grad.stride())]


@program
def out_into_views(d):
    x, z = made(d, 3, 4).detach(), torch.zeros(6, 6).to(d)
    torch.add(x[0], x[1], out=z[1, :4])
    torch.mul(x[:, :2], x[:, 2:], out=z[3:, 1:3])
    torch.sum(x, 1, out=z[:3, 0])
    torch.matmul(x[:, :3], x[:, :2], out=z[:3, 4:])
    torch.cat([x, x], 0, out=z.t()[:4].t())
    return [z]


# --- errors ---


@program
def leaf_written(d):
    made(d, 3, 4)[0].mul_(2)


@program
def one_of_several_written(d):
    z = made(d, 3, 4) * 1
    z.split(2, 1)[0].mul_(2)


@program
def saved_and_written(d):
    z = made(d, 3, 4).sigmoid()
    z[0] *= 2
    z.sum().backward()


@program
def base_of_a_saved_view_written(d):
    z = made(d, 3, 4) * 1
    w = z[0] * z[0]
    z.add_(1)
    w.sum().backward()


@program
def out_that_needs_a_gradient(d):
    x = made(d, 3, 4)
    torch.mul(x, x, out=torch.zeros(3, 4).to(d))


@program
def expanded_written(d):
    made(d, 4).detach().expand(3, 4).mul_(2)


@program
def gradient_of_another_shape(d):
    made(d, 3, 4).grad = made(d, 3, 3).detach()


def outcome(run, device):
    try:
        return run(device)
    except Exception as e:
        return f"{type(e).__name__}: {e}".replace("torch.webgpu.", "torch.")


@pytest.mark.parametrize("run", PROGRAMS.values(), ids=PROGRAMS)
def test_program(run):
    want, got = outcome(run, "cpu"), outcome(run, "webgpu")
    if isinstance(want, str) or isinstance(got, str):
        assert got == want
        return
    for g, w in zip(got, want):
        assert (g is None) == (w is None)
        if w is not None:
            torch.testing.assert_close(g.detach().cpu(), w.detach(), rtol=2e-4, atol=2e-5)
