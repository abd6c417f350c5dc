"""torch.linalg.solve as one node for vectors, matrices, batches and either side: its hooks, gradients and layouts."""

import re

import pytest

from alike import alike

LINE = """\
A = (torch.eye(3) * 3 + torch.ones(SHAPE_A).flatten().cumsum(0).cos().reshape(SHAPE_A)).double().requires_grad_()
b = torch.ones(SHAPE_B).flatten().cumsum(0).sin().reshape(SHAPE_B).double().requires_grad_()
x = torch.linalg.solve(A, b, left=LEFT); seen = []
x.register_hook(lambda g: seen.append(g.detach().clone()) or g * (2 + g.abs()))
first = torch.autograd.grad((x ** 3).sum(), [A, b], create_graph=True)
second = torch.autograd.grad(sum((g ** 2).sum() for g in first), [A, b])
x._is_view(), type(x.grad_fn).__name__, len(x.grad_fn.next_functions), x, [g.detach() for g in first], second, seen"""
LEFT = [
    ("(3, 3)", "(3,)"),
    ("(2, 3, 3)", "(2, 3)"),
    ("(2, 3, 3)", "(3,)"),
    ("(3, 3)", "(2, 3, 2)"),
    ("(2, 3, 3)", "(2, 3, 2)"),
    ("(1, 3, 3)", "(1, 3)"),
]
RIGHT = [("(3, 3)", "(2, 3)"), ("(2, 3, 3)", "(4, 3)"), ("(3, 3)", "(2, 4, 3)")]


def line(a, b, left):
    return re.sub("SHAPE_A", a, re.sub("SHAPE_B", b, LINE)).replace("LEFT", str(left))


@pytest.mark.parametrize("a, b, left", [(*s, True) for s in LEFT] + [(*s, False) for s in RIGHT])
def test_gradients(a, b, left):
    alike(line(a, b, left))


@pytest.mark.parametrize(
    "line",
    [
        "torch.linalg.solve(torch.eye(3), torch.ones(3), left=False)",
        "torch.linalg.solve(torch.ones(1, 1) * 2, torch.ones(1), left=False)",
        "torch.linalg.solve(torch.eye(3).half(), torch.ones(3).half())",
        "torch.linalg.solve(torch.zeros(2, 3, 3), torch.ones(3))",
        "A = torch.eye(3, requires_grad=True); y = A * 1; x = torch.linalg.solve(y, torch.ones(3)); y.zero_(); "
        "x.sum().backward()",
        "A = torch.eye(3, requires_grad=True); x = torch.linalg.solve(A, torch.ones(3)); x.mul_(2); x.sum().backward()",
        "A = torch.eye(3, requires_grad=True); x = torch.linalg.solve(A, torch.ones(3)); x.sum().backward(); "
        "x.sum().backward()",
    ],
)
def test_refusals(line):
    alike(line)
