"""bfloat16 and float16: what PyTorch rounds to them, and what it sums in float32. Line by line beside PyTorch.

64 elements: what its vectors leave over, PyTorch rounds after each operation.
"""

import pytest
from alike import alike

LINES = """
z.add(h, alpha=0.3), z.sub(h, alpha=0.3), z.add(100, alpha=0.3), torch.rsub(h, z, alpha=0.3)
torch._foreach_add([z], [h], alpha=0.3)
z.add_(h, alpha=0.3), z.sub_(h, alpha=0.7)
z.index_add(0, torch.arange(64), h, alpha=0.3)
F.embedding_bag(torch.tensor([[0, 1, 2]]), torch.tensor([[1.0], [0.00390625], [0.00390625]], dtype=d), mode="sum")
F.embedding_bag(torch.tensor([[0, 1, 1]]), torch.tensor([[2.0], [0.01]], dtype=d), per_sample_weights=w, mode="sum")
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line, dtype):
    alike(
        f"d = torch.{dtype}; z = torch.linspace(-3, 9, 64).to(d); h = torch.linspace(-100, 77, 64).to(d)\n"
        f"w = torch.tensor([[0.3, 0.2, 0.1]], dtype=d)\n{line}"
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("more", ["", ", weight=torch.rand(7).to(d)", ", reduction='sum'", ", label_smoothing=0.1"])
@pytest.mark.parametrize("n", [1, 17, 300])
def test_sums_of_losses(n, more, dtype):
    alike(
        f"d = torch.{dtype}; torch.manual_seed(1); x = torch.randn({n}, 7).to(d); t = torch.randint(0, 7, ({n},))\n"
        f"t[3::9] = -100; F.cross_entropy(x, t{more}).item()"
    )


def test_sums_of_losses_of_pictures():
    alike(
        "torch.manual_seed(1); x = torch.randn(3, 5, 9, 11).log_softmax(1).bfloat16()\n"
        "t = torch.randint(0, 5, (3, 9, 11)); F.nll_loss(x, t).item(), F.nll_loss(x, t, reduction='sum').item()"
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_of_weighted_losses(dtype):
    alike(
        f"d = torch.{dtype}; torch.manual_seed(1); x = torch.randn(40, 7).to(d).requires_grad_()\n"
        "t = torch.randint(0, 7, (40,)); F.cross_entropy(x, t, weight=torch.rand(7).to(d)).backward(); x.grad"
    )


def test_a_bound_is_a_number_of_the_dtype():
    """An element on the bound counts as beyond it only if it is beyond the rounded one."""
    alike(
        """
found = []
for dtype in (torch.bfloat16, torch.float16):
    for bound in (0.3, 0.1234567):
        at = torch.tensor(bound).to(dtype)
        x = torch.stack([at, -at, torch.nextafter(at, at + 1), torch.nextafter(at, at - 1)])
        for f in (F.hardshrink, F.softshrink):
            y = x.clone().requires_grad_()
            f(y, bound).sum().backward()
            found += [f(x, bound), y.grad]
        y = torch.stack([at, 1 - at, at + 0.2, at - 0.1]).requires_grad_()
        torch.logit(y, bound).sum().backward()
        found.append(y.grad != 0)
found
""",
    )


def test_batch_norm_in_training_is_made_of_rounded_statistics():
    """Bit for bit; also the running ones, which PyTorch moves by numbers of bfloat16."""
    alike(
        """
torch.manual_seed(0)
found = []
for dtype in (torch.bfloat16, torch.float16):
    for shape in ((8, 4), (4, 3, 8, 8), (2, 3, 5, 7)):
        for memory in (torch.contiguous_format, torch.channels_last):
            if memory == torch.channels_last and len(shape) != 4:
                continue
            for momentum in (0.1, 0.37):
                x, n = torch.randn(shape).to(dtype).contiguous(memory_format=memory), shape[1]
                w, b, mean = (torch.randn(n).to(dtype) for _ in range(3))
                var = (torch.rand(n) + 0.5).to(dtype)
                y = F.batch_norm(x, mean, var, w, b, True, momentum)
                found += [y, mean, var, *torch.native_batch_norm(x, w, b, None, None, True, momentum, 1e-5)]
                found.append(F.batch_norm(x, mean, var, w, b, False, momentum))
[f.view(torch.int16).tolist() for f in found]
""",
    )
