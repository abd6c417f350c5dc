"""Images of bytes: torchvision asks for the CPU's capability, and where it is AVX2 resizes them in integers."""

import pytest
import torchlite

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(24, 24), (18, 27), (7, 9), (37, 20), (64, 80)])
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.skipif("AVX" not in torch.backends.cpu.get_cpu_capability(), reason="PyTorch sums in floats on this CPU")
def test_integers(mode, size, channels):
    x = torch.randint(0, 256, (2, channels, 33, 41), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    assert "AVX" in torchlite.backends.cpu.get_cpu_capability()
    for antialias in (False, True):
        want = torch.nn.functional.interpolate(x, size=size, mode=mode, antialias=antialias)
        got = torchlite.nn.functional.interpolate(
            torchlite.tensor(x.tolist(), dtype=torchlite.uint8), size=size, mode=mode, antialias=antialias
        )
        assert got.tolist() == want.tolist()
