"""Sizes and strides as the core works them out for Python (native/src/core/geometry.c)."""

import pytest

from torchlite import _C


@pytest.mark.parametrize(
    "shape, order, strides",
    [
        ((), None, ()),
        ((2, 3, 4), None, (12, 4, 1)),
        ((2, 0, 4), None, (4, 4, 1)),
        ((2, 3, 4), (2, 0, 1), (3, 1, 6)),
        ((2, 0, 4), (0, 2, 1), (4, 1, 1)),
    ],
)
def test_dense_strides(shape, order, strides):
    assert _C.dense_strides(shape, order) == strides


def test_dense_strides_refuses_an_order_of_other_dims():
    with pytest.raises(ValueError, match="order of other dims"):
        _C.dense_strides((2, 3), (0, 2))


@pytest.mark.parametrize(
    "shape, strides, sizes, keep",
    [
        ((2, 3, 4), [], [24], [2]),
        ((2, 3, 4), [(12, 4, 1)], [24], [2]),
        ((2, 3, 4), [(12, 4, 1), (0, 0, 0)], [24], [2]),
        ((2, 3, 4), [(12, 4, 1), (0, 4, 1)], [2, 12], [0, 2]),  # the second is repeated along the first dim
        ((2, 3, 4), [(1, 2, 6)], [2, 3, 4], [0, 1, 2]),
        ((2, 1, 4), [(4, 99, 1)], [8], [2]),  # a dim of one element goes, whatever its stride
        ((1, 1), [(7, 7)], [1], []),
    ],
)
def test_coalesce(shape, strides, sizes, keep):
    assert _C.coalesce(shape, strides) == (sizes, keep)
    numel = 1
    for n in sizes:
        numel *= n
    words = [numel, *sizes]
    for k, own in enumerate(strides):
        words += [10 + k, *([own[d] for d in keep] or [0]), 7]
    assert _C.grid_words(shape, [(own, 10 + k, 7) for k, own in enumerate(strides)]) == (words, keep)
