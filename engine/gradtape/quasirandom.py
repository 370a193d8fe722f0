"""Points that fill a cube evenly: Sobol sequences.

The direction numbers are those of Joe and Kuo, which SciPy carries.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._define import FUNCTIONS
from ._dtypes import get_default_dtype
from ._generator import Generator
from ._tensor import Tensor

_BALANCE = (
    "The balance properties of Sobol' points require n to be a power of 2. {} points "
    "have been previously generated, then: n={}+2**{}={}. If you still want to do "
    "this, please use 'SobolEngine.draw()' instead."
)


class SobolEngine:
    """Draws the points of a Sobol sequence one after the other.

    ``scramble`` moves them by a random matrix and shift, which ``seed`` fixes. Raises
    ValueError for more dimensions than there are direction numbers.

    >>> from gradtape.quasirandom import SobolEngine
    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT: ClassVar = 30
    MAXDIM: ClassVar = 21201

    def __init__(
        self, dimension: int, scramble: bool = False, seed: int | None = None
    ) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate: Any = FUNCTIONS["from_numpy"](_directions(dimension))
        self.shift: Any = FUNCTIONS["zeros"](dimension, dtype=self.sobolstate.dtype)
        if scramble:
            self._scramble()
        self.quasi: Any = self.shift.clone()
        self._first_point: Any = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next ``n`` points, of shape (n, dimension)."""
        points = self._advance(n) / 2**self.MAXBIT
        kind = get_default_dtype() if dtype is None else dtype
        result = FUNCTIONS["from_numpy"](points).to(kind)
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)  # type: ignore[attr-defined]

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: Any = None
    ) -> Tensor:
        """Return the next 2**m points, which are evenly spread with those before.

        Raises ValueError where they cannot be.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            before = self.num_generated
            raise ValueError(_BALANCE.format(before, before, m, total))
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points."""
        self._advance(n)
        return self

    def _advance(self, n: int) -> Any:
        """Return the next ``n`` points as integers, and remember the last of them."""
        first = self.num_generated
        steps = np.arange(max(first, 1), first + n, dtype=np.int64)
        lowest = steps & -steps  # the bit in which the Gray codes of neighbours differ
        columns = np.log2(np.maximum(lowest, 1)).astype(np.int64)
        quasi = self.quasi.numpy()
        moves = self.sobolstate.numpy()[:, columns]
        points = np.bitwise_xor.accumulate(
            np.concatenate([quasi[:, None], moves], axis=1), axis=1
        ).T
        quasi[...] = points[-1]
        self.num_generated += n
        return points if first == 0 else points[1:]

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        bits, randint = self.MAXBIT, FUNCTIONS["randint"]
        shift = randint(2, (self.dimension, bits), generator=generator).numpy()
        shape = (self.dimension, bits, bits)
        lower = np.tril(randint(2, shape, generator=generator).numpy())
        lower[:, range(bits), range(bits)] = 1
        powers = 2 ** np.arange(bits, dtype=np.int64)
        self.shift.numpy()[...] = shift @ powers
        state = self.sobolstate.numpy()
        digits = (state[:, :, None] >> np.arange(bits)) & 1
        parities = np.einsum("dpk,djk->djp", lower[:, :, ::-1], digits) & 1
        state[...] = parities @ powers[::-1]

    def __repr__(self) -> str:
        facts = [f"dimension={self.dimension}"]
        facts += ["scramble=True"] if self.scramble else []
        facts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(facts)})"


def _directions(dimension: int) -> Any:
    from scipy.stats import qmc  # 0.5 s, so not before the first engine

    engine: Any = qmc.Sobol(dimension, scramble=False, bits=SobolEngine.MAXBIT)
    return np.array(engine._sv[:, : SobolEngine.MAXBIT], dtype=np.int64)
