"""torch.quasirandom: points of Sobol sequences, which fill the unit cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

import torchlite as torch

from ._core import sobol as _sobol
from ._core.errors import negative_dimension, not_implemented

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a scrambled or plain Sobol sequence in [0, 1) ** dimension, the numbers of PyTorch's engine.

    dimension: 1 to MAXDIM; ValueError for others. Above 337 the direction numbers are SciPy's, and without SciPy
    NotImplementedError is raised. scramble: points are shifted and mixed at random, by `seed` or, where
    that is None, by the generator of the process. At most 2 ** MAXBIT points.
    """

    MAXBIT = _sobol.BITS
    MAXDIM = _sobol.ALL_DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        if not hasattr(dimension, "__index__"):
            raise TypeError("SobolEngine: dimension must be an integer, not %s" % type(dimension).__name__)
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        with torch.device("cpu"):
            self.sobolstate = torch.tensor(_sobol.directions(dimension), dtype=torch.int64)
            self.shift = torch.zeros(dimension, dtype=torch.int64)
            if scramble:
                self._scramble()
        self.quasi = self.shift.clone(memory_format=torch.contiguous_format)
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next n points, (n, dimension), float32 or float64 (dtype; else the default dtype). out: is resized and
        filled, in its own dtype."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if self.num_generated == 0:
            result = self._first_point.to(dtype)
            if n != 1:
                result = torch.cat((result, self._next(n - 1, 0, dtype)), dim=-2)
        else:
            result = self._next(n, self.num_generated - 1, dtype)
        self.num_generated += n
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2 ** m points. ValueError where the number of points is then no power of 2, as the sequence is
        balanced only there."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next n points."""
        start = max(self.num_generated - 1, 0)
        steps = n if self.num_generated else n - 1
        if steps > 0:
            self._check(start + steps)
            with torch.device("cpu"):
                self.quasi = self._after(torch.tensor([start]), torch.tensor([start + steps]))[0]
        self.num_generated += n
        return self

    def _check(self, last: int) -> None:
        if last >= 2**self.MAXBIT:
            raise RuntimeError("SobolEngine: the sequence ends after 2 ** %d points" % self.MAXBIT)

    def _after(self, before: Any, now: Any) -> Any:
        """The integers of the points with these numbers, (n, dimension), where `quasi` is that of `before`: neighbours
        in Gray code differ by one direction number."""
        changed = (before ^ before >> 1) ^ (now ^ now >> 1)
        points = self.quasi.expand(now.shape[0], self.dimension)
        for bit in range(self.MAXBIT):
            used = changed >> bit & 1
            if bool(used.any()):
                points = points ^ used.unsqueeze(1) * self.sobolstate[:, bit]
        return points

    def _next(self, n: int, start: int, dtype: Any) -> Any:
        """n points after that of number `start`; `quasi` moves on."""
        if n < 0:
            raise negative_dimension(n, [n, self.dimension])
        if dtype not in (torch.float32, torch.float64):
            raise not_implemented("_sobol_engine_draw", dtype)
        self._check(start + n)
        with torch.device("cpu"):
            points = self._after(torch.tensor([start]), torch.arange(start + 1, start + n + 1))
        if n:
            self.quasi = points[-1].clone()
        return points.to(dtype).mul_(2.0**-self.MAXBIT)

    def _scramble(self) -> None:
        """A random shift, and a random lower triangular matrix of bits for each dimension (Owen)."""
        bits = self.MAXBIT
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        shift = torch.randint(2, (self.dimension, bits), generator=generator)
        powers = 2 ** torch.arange(bits)
        self.shift = (shift * powers).sum(1)
        matrix = torch.randint(2, (self.dimension, bits, bits), generator=generator).tril()
        matrix.diagonal(dim1=-2, dim2=-1).fill_(1)
        places = powers.flip(0)
        digits = (self.sobolstate.unsqueeze(-1) & places).ne(0).float()  # (dimension, number, digit)
        mixed = torch.matmul(digits, matrix.float().transpose(1, 2)).long() & 1
        self.sobolstate = (mixed * places).sum(-1)

    def __repr__(self) -> str:
        fields = [f"dimension={self.dimension}"]
        if self.scramble:
            fields.append("scramble=True")
        if self.seed is not None:
            fields.append(f"seed={self.seed}")
        return type(self).__name__ + "(" + ", ".join(fields) + ")"
