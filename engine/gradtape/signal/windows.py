"""Windows: how much each of ``M`` samples counts, for spectra and filters.

With ``sym=False`` a window is one period of a longer one, for spectra; otherwise it is
symmetric, for filters. All raise ValueError for a negative ``M`` and for dtypes other
than float32 and float64.
"""

# ruff: noqa: N803 - PyTorch's names

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import pi, sqrt
from typing import Any, NamedTuple

from .._dispatch.declare import FUNCTIONS
from .._dtypes import dtype as DType
from .._dtypes import float32, float64, get_default_dtype
from .._tensor.tensor import Tensor
from ..ops._support.signed import renamed
from ..ops.memory.memory_format import layout as Layout
from ..ops.memory.memory_format import strided


class _Maker(NamedTuple):
    """How the tensors of one window are made."""

    M: int
    sym: bool
    facts: dict[str, Any]

    @property
    def period(self) -> int:
        """The number of steps from the first sample to where the window closes."""
        return self.M - 1 if self.sym else self.M

    def line(self, start: float, end: float) -> Tensor:
        return FUNCTIONS["linspace"](start, end, self.M, **self.facts)

    def full(self, value: float) -> Tensor:
        return FUNCTIONS["full"]((self.M,), value, **self.facts)


def _maker(
    name: str,
    M: int,
    sym: bool,
    dtype: DType | None,
    layout: Layout,
    device: Any,
    requires_grad: bool,
) -> _Maker:
    kind = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(
            f"{name} is implemented for strided tensors only, got: {layout}"
        )
    if kind not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    facts = {"dtype": kind, "device": device, "requires_grad": requires_grad}
    return _Maker(M, sym, facts)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``exp(-|n - center| / tau)``.

    Raises ValueError for ``tau <= 0``, and for a center of a symmetric window.
    """
    made = _maker("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return made.full(0)
    middle = (M if not sym and M > 1 else M - 1) / 2 if center is None else center
    return FUNCTIONS["exp"](-made.line(-middle / tau, (M - 1 - middle) / tau).abs())


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``exp(-(n / std)² / 2)``, counted from the middle."""
    made = _maker("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return made.full(0)
    first = -(M if not sym and M > 1 else M - 1) / 2
    step = 1 / (std * sqrt(2))
    return FUNCTIONS["exp"](-(made.line(first * step, (first + M - 1) * step) ** 2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``i0(sqrt(beta² - k²)) / i0(beta)`` for k from -beta to beta."""
    made = _maker("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return made.full(1)
    # Rounding may bring the last point past beta, where the root is of a negative.
    limit = FUNCTIONS["tensor"](beta, dtype=made.facts["dtype"])
    last = -limit.item() + (M - 1) * (2.0 * limit.item() / made.period)
    line = FUNCTIONS["minimum"](limit, made.line(-limit.item(), last))
    under = limit * limit - line**2
    return FUNCTIONS["i0"](under.sqrt()) / FUNCTIONS["i0"](limit)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a sum of cosines with alternating signs and the weights ``a``.

    Raises TypeError where ``a`` is no list, ValueError where it is empty.
    """
    made = _maker("general_cosine", M, sym, dtype, layout, device, requires_grad)
    return _cosines(made, a)


def _cosines(made: _Maker, a: Any) -> Tensor:
    if made.M < 2:
        return made.full(1)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    angle = made.line(0, (made.M - 1) * (2 * pi / made.period))
    signed = [-w if n % 2 else w for n, w in enumerate(a)]
    weights = FUNCTIONS["tensor"](signed, **made.facts)
    order = FUNCTIONS["arange"](weights.numel(), **made.facts)
    return (weights.unsqueeze(-1) * (order.unsqueeze(-1) * angle).cos()).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
    made = _maker("general_cosine", M, sym, dtype, layout, device, requires_grad)
    return _cosines(made, (alpha, 1.0 - alpha))


# ---- windows without parameters ----


def _plain(
    name: str, values: Callable[[_Maker], Tensor], doc: str, said: str = ""
) -> Callable[..., Tensor]:
    """Return a window whose samples are ``values(maker)``; errors call it ``said``."""

    @renamed(name, doc)
    def window(
        M: int,
        *,
        sym: bool = True,
        dtype: DType | None = None,
        layout: Layout = strided,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        facts = (dtype, layout, device, requires_grad)
        return values(_maker(said or name, M, sym, *facts))

    return window


def _sine(made: _Maker) -> Tensor:
    if made.M == 0:
        return made.full(0)
    step = pi / (made.M + 1 if not made.sym and made.M > 1 else made.M)
    return made.line(0.5 * step, (made.M - 0.5) * step).sin()


def _triangle(made: _Maker) -> Tensor:
    if made.M < 2:
        return made.full(1)
    return 1 - made.line(-1, -1 + (made.M - 1) * (2 / made.period)).abs()


def _sum_of_cosines(
    name: str, doc: str, *weights: float, said: str = "general_cosine"
) -> Callable[..., Tensor]:
    return _plain(name, lambda made: _cosines(made, weights), doc, said)


cosine = _plain(
    "cosine",
    _sine,
    """Return ``sin(pi (n + 1/2) / M)``.

    >>> import gradtape as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """,
)
bartlett = _plain(
    "bartlett",
    _triangle,
    """Return a triangle from 0 over 1 to 0.

    >>> import gradtape as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """,
)
hamming = _sum_of_cosines(
    "hamming", "Return ``0.54 - 0.46 cos(2 pi n / (M - 1))``.", 0.54, 1.0 - 0.54
)
hann = _sum_of_cosines("hann", "Return ``0.5 - 0.5 cos(2 pi n / (M - 1))``.", 0.5, 0.5)
blackman = _sum_of_cosines(
    "blackman",
    "Return the sum of three cosines with weights 0.42, 0.5 and 0.08.",
    *(0.42, 0.5, 0.08),
    said="blackman",
)
nuttall = _sum_of_cosines(
    "nuttall",
    "Return the sum of four cosines with Nuttall's weights.",
    *(0.3635819, 0.4891775, 0.1365995, 0.0106411),
)
