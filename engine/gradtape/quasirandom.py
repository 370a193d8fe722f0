"""Sobol sequences: numbers that fill a cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences
with better two-dimensional projections", 2008, which SciPy carries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ._dispatch.declare import FUNCTIONS
from ._dtypes import dtype as DType
from ._dtypes import float32, float64, get_default_dtype, int64
from ._random.generator import Generator
from ._tensor.tensor import Tensor, wrap


class SobolEngine:
    """Draws the points of a Sobol sequence one after the other.

    With ``scramble=True`` the sequence is one of many, drawn from ``seed`` or from the
    default generator. Raises ValueError for a dimension outside [1, 21201].

    >>> import gradtape as torch
    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT: Final = 30
    MAXDIM: Final = 21201

    def __init__(
        self, dimension: int, scramble: bool = False, seed: int | None = None
    ) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate: Any = wrap(_directions(dimension, self.MAXBIT))
        self.shift: Any = FUNCTIONS["zeros"](dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.quasi: Any = self.shift.clone()
        self.num_generated = 0

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None
    ) -> Tensor:
        """Return the next ``n`` points, (n, dimension), in [0, 1).

        Raises RuntimeError for fewer than no points, or than one to begin with, and
        NotImplementedError for a dtype that is neither float32 nor float64.
        """
        kind = dtype or get_default_dtype()
        more = n if self.num_generated else n - 1
        if more < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {more}: "
                f"{[more, self.dimension]}"
            )
        if more and kind not in (float32, float64):
            raise NotImplementedError(
                f"\"_sobol_engine_draw\" not implemented for '{kind.cpp_name}'"
            )
        found = self._advance(n).astype(kind.numpy) * kind.numpy.type(2**-self.MAXBIT)
        if out is None:
            return wrap(found)
        return out.resize_(found.shape).copy_(wrap(found))  # type: ignore[attr-defined]

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: DType | None = None
    ) -> Tensor:
        """Return the next ``2**m`` points.

        Raises ValueError where that makes the number of all points no power of 2.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of "
                f"2. {self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, "
                "please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over the next ``n`` points."""
        self._advance(n)
        return self

    def __repr__(self) -> str:
        facts = [f"dimension={self.dimension}"]
        if self.scramble:
            facts.append("scramble=True")
        if self.seed is not None:
            facts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(facts)})"

    def _advance(self, n: int) -> Any:
        """Return the next points as integers of 30 bits, and remember the last."""
        first = self.num_generated
        self.num_generated += n
        steps = np.arange(max(first, 1) - 1, first + n - 1)
        changing = _rightmost_zero(steps)
        points = np.empty((len(steps) + 1, self.dimension), np.int64)
        points[0] = self.quasi._data  # the first point, or the last of those before
        points[1:] = self.sobolstate._data.T[changing]
        np.bitwise_xor.accumulate(points, 0, out=points)
        self.quasi = wrap(points[-1].copy())
        return points[1:] if first else points[:n]

    def _scramble(self) -> None:
        """Shift all points, and mix the bits of the directions by random matrices."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits, places = self.MAXBIT, np.arange(self.MAXBIT)
        randint = FUNCTIONS["randint"]
        shift = randint(2, (self.dimension, bits), generator=generator)._data
        self.shift = wrap((shift << places).sum(-1))
        size = (self.dimension, bits, bits)
        mixing = np.tril(randint(2, size, generator=generator)._data)
        mixing[:, places, places] = 1
        # Column k of a matrix tells what becomes of bit bits - 1 - k of a number.
        given = (self.sobolstate._data[..., None] >> places[::-1]) & 1
        mixed = (given @ mixing.swapaxes(-1, -2)) & 1
        self.sobolstate = wrap((mixed << places[::-1]).sum(-1))


def _directions(dimension: int, bits: int) -> Any:
    from scipy.stats import qmc  # 0.3 s, so not before the first engine

    engine: Any = qmc.Sobol(dimension, scramble=False, bits=bits)
    return engine._sv.astype(np.int64)


def _rightmost_zero(numbers: Any) -> Any:
    """Return the place of the lowest bit that is 0."""
    return np.log2(~numbers & (numbers + 1)).astype(np.int64)
