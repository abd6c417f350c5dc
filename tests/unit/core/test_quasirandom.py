"""torch.quasirandom line by line beside PyTorch: the same numbers, also scrambled."""

import pytest
from alike import alike, cases

import torchlite


@cases("""
S(1).draw(9), S(3).draw(20), S(40).draw(5), S(2).draw(), S(7).draw(3, dtype=torch.float64)
S(337).draw(300)[-3:], S(337).sobolstate.sum(0), S(200).sobolstate.sum(1)
S(3, scramble=True, seed=5).draw(20), S(40, True, 1).draw(7), S(337, True, 2).draw(2)
e = S(3, True, 5); e.shift, e.quasi, e.sobolstate, e._first_point, e.num_generated
torch.manual_seed(3); S(4, scramble=True).draw(3), torch.rand(2)
e = S(3, True, 5); [e.draw(n) for n in (1, 1, 3, 2)], e.num_generated, e.quasi
e = S(3); [e.draw(n) for n in (2, 5, 1)], e.reset().draw(4), e.num_generated
e = S(3, True, 5); e.fast_forward(4).draw(2), e.reset().fast_forward(1).draw(2)
e = S(2); e.fast_forward(1); e.fast_forward(2); e.draw(3), e.num_generated, e.quasi
S(2).fast_forward(0).draw(2), S(5).fast_forward(1000000).draw(3)
S(5).fast_forward(2 ** 24 - 3).draw(2, dtype=torch.float64)
e = S(2); e.draw_base2(2), e.draw_base2(2), e.draw_base2(3)
e = S(2); e.draw(3); e.draw_base2(2)
e = S(2); o = torch.empty(0); e.draw(3, out=o) is o, o
e = S(2); e.draw(2); o = torch.empty(3, 2, dtype=torch.float64); e.draw(3, out=o), o
torch.set_default_dtype(torch.float64); e = S(2, True, 1).draw(2);
    torch.set_default_dtype(torch.float32); e
[repr(x) for x in (S(2), S(2, True), S(2, True, 7), S(3, seed=1))], S.MAXBIT
S(2).draw(3, dtype=torch.float16)
S(2).draw(1, dtype=torch.float16)
S(2).draw(3, dtype=torch.int64)
S(2).draw(0)
S(2).draw(-1)
import copy; e = S(3, True, 1); e.draw(2); copy.deepcopy(e).draw(2), e.draw(2)
""")
def test_lines(line):
    alike("S = torch.quasirandom.SobolEngine; " + line)


@cases("""
S(338).draw(3), S(1111).sobolstate.sum(0), S(1111, True, 2).draw(2), S(21201).draw(2), S.MAXDIM
S(0)
S(-1)
S(21202)
""")
def test_many_dimensions(line):
    pytest.importorskip("scipy")
    alike("S = torch.quasirandom.SobolEngine; " + line)


def test_many_dimensions_without_scipy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert torchlite.quasirandom.SobolEngine(337).draw(2).shape == (2, 337)
    with pytest.raises(NotImplementedError, match="more than 337 dimensions come from SciPy, which is not installed"):
        torchlite.quasirandom.SobolEngine(338)
