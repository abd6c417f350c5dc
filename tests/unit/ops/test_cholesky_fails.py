"""What cholesky_ex leaves of a matrix that is not positive definite, in blocks too: as LAPACK does."""

import pytest

torch = pytest.importorskip("torch")
import torchlite as tl


@pytest.mark.parametrize("n", [3, 40, 100, 150])
@pytest.mark.parametrize("part", [0, 0.5, 1])
def test_the_part_before_the_minor_that_fails(n, part):
    bad = min(int(n * part), n - 1)
    a = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    m = a @ a.T + n * torch.eye(n, dtype=torch.float64)
    m[bad, bad] = -1
    want, got = torch.linalg.cholesky_ex(m), tl.linalg.cholesky_ex(tl.tensor(m.tolist(), dtype=tl.float64))
    factor = torch.tensor(got.L.tolist(), dtype=torch.float64)
    assert got.info.item() == want.info.item() == bad + 1
    assert not factor.isnan().any() and not factor.triu(1).any()
    torch.testing.assert_close(factor[: bad + 1, : bad + 1], want.L[: bad + 1, : bad + 1])
