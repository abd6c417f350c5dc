"""torch.testing.assert_close: what it refuses, and its words."""

import pytest
from alike import alike, cases


@cases("""
close(torch.ones(2), torch.zeros(2))
close(torch.tensor([1., 2.]), torch.tensor([1., 3.]))
close(torch.tensor([1, 2]), torch.tensor([1, 3]))
close(torch.tensor([True]), torch.tensor([False]))
close(torch.tensor(1.), torch.tensor(2.))
close(torch.tensor(1), torch.tensor(2))
close(10**9, 10**9 + 1)
close(1., 2.)
close(1., 1)
close(True, False)
close(1j, 2j)
close(1., math.nan)
close(math.nan, math.nan, equal_nan=True)
close('a', 'a')
close(None, None)
close(None, 1)
close(torch.tensor(1.), 1.)
close([1, torch.ones(1)], [1, torch.ones(1) * 2])
close({'a': 1, 'b': [torch.ones(1)]}, {'a': 1, 'b': [torch.zeros(1)]})
close({'a': 1}, {'b': 1})
close([1], (1,))
close([1], [1, 2])
close([1], 1)
close(torch.ones(2), torch.ones(2), rtol=1)
close(torch.ones(2), torch.ones(2) * 1.1, rtol=0, atol=0)
close(torch.ones(2), torch.ones(2) * 1.1, rtol=0, atol=.01)
close(torch.ones(2), torch.ones(3))
close(torch.ones(2), torch.ones(2).double())
close(torch.ones(2), torch.ones(2).double(), check_dtype=False)
close([torch.ones(2, 2)], [torch.ones(2, 2).t()], check_stride=True)
close(torch.tensor([math.inf]), torch.tensor([-math.inf]))
close(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]))
close(np.ones(2), np.zeros(2))
close(np.float64(1), np.float64(2))
close(torch.ones(2), np.ones(2))
close(torch.ones(2), torch.zeros(2), msg='hi')
close([torch.ones(2)], [torch.zeros(2)], msg=lambda m: 'x ' + m)
close(torch.ones(2, 2), torch.tensor([[1., 1.], [1., 2.]]))
close(torch.zeros(0), torch.zeros(0))
""")
def test_differences(line):
    alike("close = torch.testing.assert_close; " + line)


_SPARSE = """
close = torch.testing.assert_close
a = torch.eye(3)
b, c = a.clone(), a.clone()
b[0, 0], c[0, 1] = 1.5, 1
S = [t.%s() for t in (a, b, c)]
"""


@pytest.mark.parametrize("made", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
@cases("""
close(S[0], S[0])
close(S[0], S[1])
close(S[0], S[2])
close(a, S[0])
close(S[0], a)
close(S[0], a, check_layout=False)
close(a, S[1], check_layout=False)
close(S[0].double(), S[0])
close(S[0].double(), S[0], check_dtype=False)
close([S[0]], [S[1]])
close(S[0], S[0], check_stride=True)
close(torch.ones(2, device="meta"), torch.ones(2))
""")
def test_layouts(made, line):
    alike(_SPARSE % made + line)
