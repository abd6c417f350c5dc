"""The same short programs on the page's main thread and in a worker, under each entry into Python."""

from __future__ import annotations

import os

import pytest
from dist import numpy_wheel
from pytest_pyodide import run_in_pyodide

TARGET = os.environ.get("TORCHLITE_PYODIDE", "314")


def with_torch(selenium, wheel_name):
    """Installs the wheel once for each instance of Pyodide."""
    url = f"{selenium.base_url}/torchlite/{wheel_name}"
    selenium.run_async(f"""
import sys
if "torchlite" not in sys.modules:
    import micropip
    await micropip.install("{url}")
    import torch
None
""")
    return selenium


@pytest.fixture
def window(selenium, wheel_name):
    selenium.load_package("micropip")
    return with_torch(selenium, wheel_name)


@pytest.fixture
def worker(selenium_worker, wheel_name):
    selenium_worker.load_package("micropip")
    return with_torch(selenium_worker, wheel_name)


TRAIN = """
import torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(16, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
losses = []
for _ in range(15):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] * 0.8, losses
"""


def test_training_in_the_window(window):
    window.run(TRAIN)
    window.run_async(TRAIN)


def test_training_in_a_worker(worker):
    worker.run(TRAIN)


def test_errors_are_pytorchs(window):
    message = window.run("""
import torch
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    text = str(e)
text
""")
    assert message == "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"


def test_out_of_memory_leaves_everything_usable(window):
    assert (
        window.run("""
import torch
try:
    torch.empty(3 * 2**30 // 4 * 3)
    result = "no error"
except torch.OutOfMemoryError as e:
    result = "caught"
assert torch.ones(4).sum().item() == 4
result
""")
        == "caught"
    )


def test_seed_gives_pytorchs_numbers(window):
    # torch.manual_seed(0); torch.rand(3)
    assert window.run("import torch; torch.manual_seed(0); [round(v, 4) for v in torch.rand(3).tolist()]") == [
        0.4963,
        0.7682,
        0.0885,
    ]


@run_in_pyodide
async def python_in_page(selenium):
    import torch

    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x.exp().sum(1) ** 2).sum().backward()
    return bool(x.grad.isfinite().all())


def test_run_in_pyodide(window):
    assert python_in_page(window)


@pytest.mark.skipif(
    numpy_wheel(TARGET) is None, reason="numpy for this Pyodide is in no package index; TORCHLITE_SHARED has it for 029"
)
def test_numpy_shares_memory(window):
    window.load_package("numpy")
    window.run("""
import numpy as np, torch
a = np.arange(6, dtype=np.float32).reshape(2, 3)
t = torch.from_numpy(a)
t.mul_(2)
assert a[1, 2] == 10
b = t.numpy()
b[0, 0] = 7
assert t[0, 0].item() == 7 and a[0, 0] == 7
assert torch.tensor(a.T).shape == (3, 2) and torch.as_tensor(a).data_ptr() == t.data_ptr()
assert np.asarray(torch.ones(2)).dtype == np.float32
assert (np.add(a, t.numpy()) == 2 * a).all()
assert np.allclose((t * t).sum().sqrt().item(), np.linalg.norm(a))
""")
