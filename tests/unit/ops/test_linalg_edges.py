"""torch.linalg on matrices without elements and with elements that are not finite."""

import math

import pytest

import torchlite as tl

INF, NAN = math.inf, math.nan
EMPTY = [(0, 0), (0, 3), (3, 0), (2, 0, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3)]


@pytest.mark.parametrize("shape", EMPTY)
@pytest.mark.parametrize("keepdim", [False, True])
def test_norms_of_nothing(shape, keepdim):
    """The largest of no sums and no singular values is 0; the smallest does not exist."""
    m, n = shape[-2:]
    x = tl.zeros(shape)
    want = tl.zeros(shape[:-2] + ((1, 1) if keepdim else ()))
    for ord, count in ((1, n), (INF, m), (2, min(m, n)), ("fro", 1), ("nuc", 1)):
        for fn in (tl.linalg.matrix_norm, lambda x, o, keepdim: tl.linalg.norm(x, o, dim=(-2, -1), keepdim=keepdim)):
            got = fn(x, ord, keepdim=keepdim)
            assert got.shape == want.shape and got.tolist() == want.tolist()
    for ord, count in ((-1, n), (-INF, m), (-2, min(m, n))):
        if not count:
            with pytest.raises(IndexError, match="non-zero size"):
                tl.linalg.matrix_norm(x, ord)


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, INF, -INF, "fro", "nuc"])
def test_condition_of_nothing(p):
    for shape in EMPTY:
        x = tl.zeros(shape)
        if isinstance(p, str) and shape[-1] != shape[-2]:
            with pytest.raises(RuntimeError, match="A must be batches of square matrices"):
                tl.linalg.cond(x, p)
        else:
            assert tl.linalg.cond(x, p).tolist() == tl.zeros(shape[:-2]).tolist()


def _with(value, n=3, batch=False, at=(1, 0)):
    x = tl.eye(n, dtype=tl.float64) * 2 + 1
    x[at] = x[at[::-1]] = value
    return tl.stack([tl.eye(n, dtype=tl.float64), x]) if batch else x


@pytest.mark.parametrize("value", [INF, -INF])
def test_infinite_elements_give_nan(value):
    """No singular values and no eigenvalues, for these matrices of a batch alone."""
    for x in (_with(value), _with(value, 2), _with(value, 5), tl.full((1, 1), value)[:, [0, 0]]):
        assert tl.linalg.svdvals(x).isnan().all() and tl.linalg.cond(x).isnan() and tl.linalg.matrix_norm(x, 2).isnan()
        assert tl.linalg.matrix_norm(x, "nuc").isnan() and tl.linalg.matrix_rank(x) == 0
    x = _with(value, batch=True)
    U, S, Vh = tl.linalg.svd(x)
    assert S[0].tolist() == [1, 1, 1] and S[1].isnan().all() and (U @ U.mT - tl.eye(3))[0].abs().max() < 1e-12
    assert U[1].isnan().all() and Vh[1].isnan().all() and tl.linalg.eigh(x)[1][1].isnan().all()
    assert tl.linalg.pinv(x)[0].tolist() == tl.eye(3).tolist()
    for L in (tl.linalg.eigvalsh(x), tl.linalg.eigh(x)[0], tl.linalg.eigvalsh(x, "U")):
        assert L[0].tolist() == [1, 1, 1] and L[1].isnan().all()
    assert tl.linalg.eigvalsh(tl.full((1, 1), value)).item() == value


def test_nan_does_not_converge():
    texts = {
        tl.linalg.svd: "linalg.svd: The algorithm failed to converge because the input matrix "
        "contained non-finite values.",
        tl.linalg.eigh: "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned "
        "or has too many repeated eigenvalues (error code: 2).",
        tl.linalg.eigvalsh: "linalg.eigh: The algorithm failed to converge because the input matrix is "
        "ill-conditioned or has too many repeated eigenvalues (error code: 1).",
    }
    for fn in (tl.linalg.svdvals, tl.linalg.pinv, tl.linalg.cond, tl.linalg.matrix_rank):
        texts[fn] = texts[tl.linalg.svd]
    for fn, text in texts.items():
        for batch in (False, True):
            with pytest.raises(tl.linalg.LinAlgError) as error:
                fn(_with(NAN, batch=batch))
            name, rest = text.split(": ", 1)
            assert str(error.value) == (f"{name}: (Batch element 1): {rest}" if batch else text)
    assert tl.linalg.eigvalsh(_with(NAN, 2)).isnan().all()


def test_the_other_triangle_is_not_read():
    x = tl.eye(3)
    x[0, 2] = NAN
    assert tl.linalg.eigvalsh(x).tolist() == [1, 1, 1]
    assert tl.linalg.eigh(x.mT, "U")[0].tolist() == [1, 1, 1]


def test_gradients_pass_by_infinite_matrices():
    x = _with(INF, batch=True).requires_grad_()
    tl.linalg.svdvals(x)[0].sum().backward()
    assert x.grad[0].tolist() == tl.eye(3).tolist()


def test_a_nan_pivot_is_no_choice():
    LU, pivots = tl.linalg.lu_factor(tl.tensor([[1.0, 2.0], [NAN, 1.0], [3.0, 4.0]]))
    assert pivots.tolist()[0] == 3 and LU[0].tolist() == [3, 4]
    with pytest.raises(tl.linalg.LinAlgError, match="The diagonal element 1 is zero"):
        tl.linalg.inv(tl.tensor([[0.0, 1.0], [NAN, 1.0]]))
    assert tl.linalg.det(tl.tensor([[0.0, 1.0], [NAN, 1.0]])).isnan()
