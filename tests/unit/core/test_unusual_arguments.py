"""Arguments that must not be ignored: devices and layouts that are not there, numbers a dtype has no room for."""

import pytest

import torchlite as ours

real = pytest.importorskip("torch")


def message(m, run):
    try:
        run(m)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


DEVICES = [
    lambda t: t.zeros(2, device="cuda"),
    lambda t: t.tensor([1.0], device="cuda"),
    lambda t: t.ones(2).to("cuda"),
    lambda t: t.nn.Linear(2, 2).to("cuda"),
    lambda t: t.nn.LSTM(2, 2, device="cuda"),
    lambda t: t.rand(2, device="cuda"),
    lambda t: t.ones(2).new_tensor([2.0], device="cuda"),
    lambda t: t.empty_like(t.ones(2), device="cuda"),
]


@pytest.mark.parametrize("run", DEVICES)
def test_cuda_is_refused(run):
    assert message(ours, run) == message(real, run) == ("AssertionError", "Torch not compiled with CUDA enabled")


@pytest.mark.parametrize("name", ["cuda", "webgpu", "mps"])
def test_other_devices_cannot_become_the_default(name):
    with pytest.raises((AssertionError, RuntimeError)):
        ours.set_default_device(name)
    with pytest.raises((AssertionError, RuntimeError)):
        with ours.device(name):
            pass
    assert ours.get_default_device() == ours.device("cpu")


def test_cuda_types():
    with pytest.raises(TypeError, match="Torch not compiled with CUDA enabled"):
        ours.set_default_tensor_type("torch.cuda.FloatTensor")
    with pytest.raises(TypeError, match="Torch not compiled with CUDA enabled"):
        ours.ones(2).type("torch.cuda.FloatTensor")


def test_layouts():
    assert ours.zeros(2, layout=ours.sparse_coo).layout is ours.sparse_coo
    with pytest.raises(RuntimeError, match="Only batched sparse compressed .* but got size"):
        ours.zeros_like(ours.ones(2), layout=ours.sparse_csr)
    assert ours.zeros(2, layout=ours.strided).shape == (2,)


FILLS = [
    lambda t: t.ones(2, dtype=t.float16).masked_fill(t.tensor([True, False]), -1e9),
    lambda t: t.ones(2, dtype=t.float16).masked_fill(t.tensor([True, False]), float("-inf")),
    lambda t: t.full((2,), 1e40),
    lambda t: t.full((2,), 3.39e38, dtype=t.bfloat16),
    lambda t: t.ones(2, dtype=t.float16).fill_(100000),
    lambda t: t.ones(2, dtype=t.float16).index_fill(0, t.tensor([0]), 1e9),
    lambda t: t.ones(2, dtype=t.float16).scatter(0, t.tensor([0]), 1e9),
    lambda t: t.ones(2, dtype=t.int64).fill_(float("nan")),
    lambda t: t.full((2,), float("inf"), dtype=t.int32),
    lambda t: t.tensor([float("nan")], dtype=t.int64),
    lambda t: t.ones(2) + 1e40,
    lambda t: t.tensor(1e300),
]


@pytest.mark.parametrize("run", FILLS)
def test_numbers_without_room(run):
    assert message(ours, run) == message(real, run)
