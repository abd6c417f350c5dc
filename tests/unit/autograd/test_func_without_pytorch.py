"""What needs no PyTorch to compare with: linearize, what vmap refuses, backward passes in several threads."""

import threading

import pytest

import torchlite


def test_linearize():
    x = torchlite.tensor([0.5, -1.5])
    out, push = torchlite.func.linearize(lambda v: (v * v, v), x)
    assert [t.tolist() for t in (*out, *push(x + 1), *push(x))] == [
        [0.25, 2.25],
        [0.5, -1.5],
        [1.5, 1.5],
        [1.5, -0.5],
        [0.5, 4.5],
        [0.5, -1.5],
    ]


def test_vmap_refuses_writes_to_what_it_does_not_map():
    x = torchlite.ones(3)
    with pytest.raises(RuntimeError, match="not possible because there exists a Tensor `other`"):
        torchlite.func.vmap(lambda v, w: v.add_(w), in_dims=(None, 0))(x, torchlite.ones(2, 3))


def test_threads():
    """Backward passes of several threads, each with its own graph, hooks and grad mode switched all the time."""
    torch, wrong = torchlite, []

    def work(k):
        try:
            w = torch.full((3,), float(k), requires_grad=True)
            for i in range(150):
                seen = []
                h = (w * w).tanh()
                h.register_hook(lambda g: seen.append(1))
                (g,) = torch.autograd.grad((h * w).sum(), w, create_graph=True)
                (g2,) = torch.autograd.grad(g.sum(), w)
                t = (w * w).tanh()
                want = t + 2 * w * w * (1 - t * t)
                more = 6 * w * (1 - t * t) - 8 * w**3 * t * (1 - t * t)
                assert torch.allclose(g, want) and torch.allclose(g2, more, atol=1e-5) and len(seen) >= 1
        except BaseException as e:
            wrong.append(repr(e))

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(4)]
    try:
        for t in threads:
            t.start()
    except RuntimeError:
        pytest.skip("no threads in Pyodide")
    for t in threads:
        t.join()
    assert not wrong
