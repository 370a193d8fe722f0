"""What a family of ops declares so that the generic tests can judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Layout = Literal["contiguous", "transposed", "sliced", "expanded"]
LAYOUTS: tuple[Layout, ...] = ("contiguous", "transposed", "sliced", "expanded")
FLOATS = ("float64", "float32")
NUMBERS = (*FLOATS, "int64", "int32", "uint8", "bool")
COMPLEX = ("complex128",)


@dataclass(frozen=True, slots=True)
class Named:
    """An attribute of the engine's module, as a dtype: ``Named("float64")``."""

    name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One call. NumPy arrays stand for tensors, also inside lists and tuples."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    smooth: bool = True  # False: finite differences do not apply (kinks, infinities)

    def __str__(self) -> str:
        shown = [_shown(a) for a in self.args]
        shown += [f"{k}={_shown(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(shown)})"


def sample(*args: Any, **kwargs: Any) -> Sample:
    """Describe one call."""
    return Sample(args, kwargs)


def rough(*args: Any, **kwargs: Any) -> Sample:
    """Describe one call at a point where finite differences say nothing."""
    return Sample(args, kwargs, smooth=False)


@dataclass(frozen=True, slots=True)
class OpSample:
    """An op, by the name both engines know it under, and calls of it.

    ``name`` is looked up in both engines: "add", "nn.functional.relu"; after "Tensor."
    it is a method of the first argument; after "operator." one of Python's operators.
    """

    name: str
    samples: Callable[[Make], Iterable[Sample]]
    dtypes: tuple[str, ...] = FLOATS
    layouts: tuple[Layout, ...] = LAYOUTS
    errors: Callable[[Make], Iterable[Sample]] | None = None  # calls both must refuse
    frozen: tuple[int, ...] = ()  # positions of float arguments that need no gradient
    derived: bool = True  # False: PyTorch has no derivative for it
    gradcheck: bool = True
    gradgradcheck: bool = True
    double: bool = True  # compare double backward with PyTorch
    graph: bool = True  # compare the recorded graph, node by node
    saved: bool = True  # compare what the last node says it saved
    strides: bool = True
    inplace: bool = False  # also `name_`, a method
    out: bool = False  # also with out=
    out_casts: bool = True  # out= of other dtypes too
    rtol: float = 0.0  # looser than the dtype's own tolerance, with a reason beside it
    variant: str = ""  # tells two entries of one op apart

    @property
    def label(self) -> str:
        """The name that tests show."""
        return f"{self.name}.{self.variant}" if self.variant else self.name


class Make:
    """Random arrays of the dtype under test; the same on every run."""

    def __init__(self, dtype: str, seed: int) -> None:
        self.dtype = np.dtype(dtype)
        self._random = np.random.default_rng(seed)

    @property
    def inexact(self) -> bool:
        """Whether the dtype under test is a float or complex one."""
        return self.dtype.kind in "fc"

    def __call__(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Any:
        """Return an array with values between ``low`` and ``high``."""
        kind = self.dtype.kind
        if kind == "b":
            return self.bools(*shape)
        if kind in "iu":
            floor = max(low, 0) if kind == "u" else low
            return self.ints(*shape, low=int(floor), high=max(int(high), 2))
        values = self._random.uniform(low, high, shape)
        if kind == "c":
            values = values + 1j * self._random.uniform(low, high, shape)
        return np.asarray(values, self.dtype)

    def ints(self, *shape: int, low: int = 0, high: int = 2, dtype: str = "") -> Any:
        """Return integers, ``high`` included."""
        kind = dtype or (self.dtype if self.dtype.kind in "iu" else "int64")
        return np.asarray(self._random.integers(low, high + 1, shape), kind)

    def bools(self, *shape: int) -> Any:
        """Return an array of bools."""
        return np.asarray(self._random.integers(0, 2, shape), np.bool_)

    def distinct(self, *shape: int, gap: float = 0.25) -> Any:
        """Return values no two of which are closer than ``gap``: no ties, no kinks."""
        count = int(np.prod(shape, dtype=int))
        steps = self._random.permutation(count)
        spaced = (steps - count // 2 + 0.5) * gap if self.inexact else steps
        return np.asarray(spaced.reshape(shape), self.dtype)

    def special(self) -> Any:
        """Return zeros of both signs, infinities, NaN and ones."""
        values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -0.5, 0.5]
        return np.asarray(values if self.inexact else [0, 1, 2, 3, 4], self.dtype)


def relayout(array: Any, layout: Layout) -> Any:
    """Return an array of the same shape that lies in memory as ``layout`` says.

    Values are kept, except that "expanded" repeats the first row.
    """
    if layout == "contiguous" or array.ndim == 0 or array.size == 0:
        return array
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "expanded":
        row = array[:1].copy()
        strides = (0, *row.strides[1:])
        return np.ndarray(array.shape, array.dtype, row, strides=strides)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    wide[..., 1::2] = array
    return wide[..., 1::2]


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        steps = tuple(s // value.itemsize for s in value.strides)
        return f"{value.dtype}{list(value.shape)}/{list(steps)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_shown(v) for v in value)}]"
    return value.name if isinstance(value, Named) else repr(value)
