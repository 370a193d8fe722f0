"""Windows for spectra, older than those of ``signal.windows``: torch.hann_window."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from ..._dispatch.declare import FUNCTIONS, public
from ..._dtypes import CPP_TYPE, get_default_dtype, parse_dtype
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer
from .._support.signed import renamed
from ..memory.memory_format import strided


def _window(
    name: str,
    window_length: Any,
    periodic: bool,
    shape: Callable[[Tensor, int], Tensor],
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """Return ``shape(places, last)`` for the places 0 … last of a window.

    A periodic window is the longer one by a sample, without its last.
    """
    kind = get_default_dtype() if dtype is None else parse_dtype(dtype, name)
    length = as_integer(window_length, name, "window_length", 1)
    _check(name, kind, length, dtype, layout)
    ones = FUNCTIONS["ones"](length, dtype=kind, device=device)
    if length > 1:
        count = length + bool(periodic)
        wide = kind if kind.itemsize > 2 else get_default_dtype()
        places = FUNCTIONS["arange"](count, dtype=wide, device=device)
        ones = shape(places, count - 1).narrow(0, 0, length).to(kind).clone()
    return ones.requires_grad_(requires_grad)


def _check(name: str, kind: DType, length: int, given: Any, layout: Any) -> None:
    def options(lay: str) -> str:
        said = " (default)" if given is None and name == "hann_window" else ""
        default = " (default)" if lay == "Strided" else ""
        return (
            f"TensorOptions(dtype={CPP_TYPE[kind]}{said}, "
            f"device=cpu, layout={lay}{default}, requires_grad=false (default), "
            "pinned_memory=false, memory_format=(nullopt))"
        )

    if layout is not None and layout is not strided:
        raise RuntimeError(
            f"{name} is not implemented for sparse types, got: {options('Sparse')}"
        )
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: {options('Strided')}"
        )
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )


def _raised_cosine(places: Tensor, last: int, alpha: float, beta: float) -> Tensor:
    return (places * (2 * pi / last)).cos() * -beta + alpha


@public
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``alpha - beta cos(2 pi n / N)``."""

    def shape(places: Tensor, last: int) -> Tensor:
        return _raised_cosine(places, last, alpha, beta)

    facts = (dtype, layout, device, requires_grad)
    return _window("hamming_window", window_length, periodic, shape, *facts)


@public
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``i0(beta sqrt(1 - (2 n / N - 1)²)) / i0(beta)``."""

    def shape(places: Tensor, last: int) -> Tensor:
        under = 1 - (places * (2 / last) - 1) ** 2
        top = FUNCTIONS["i0"](under.clamp(min=0).sqrt() * beta)
        return top / FUNCTIONS["i0"](FUNCTIONS["tensor"](beta, dtype=places.dtype))

    facts = (dtype, layout, device, requires_grad)
    return _window("kaiser_window", window_length, periodic, shape, *facts)


# ---- windows without parameters ----


def _plain(
    name: str, shape: Callable[[Tensor, int], Tensor], doc: str
) -> Callable[..., Tensor]:
    @public
    @renamed(name, doc)
    def window(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        facts = (dtype, layout, device, requires_grad)
        return _window(name, window_length, periodic, shape, *facts)

    return window


def _two_cosines(places: Tensor, last: int) -> Tensor:
    angle = places * (pi / last)
    return (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42


def _triangle(places: Tensor, last: int) -> Tensor:
    rising = places * (2 / last)
    return FUNCTIONS["where"](places <= last // 2, rising, 2 - rising)


hann_window = _plain(
    "hann_window",
    lambda places, last: _raised_cosine(places, last, 0.5, 0.5),
    """Return ``0.5 - 0.5 cos(2 pi n / N)``.

    Raises RuntimeError for a negative length and for integer dtypes.

    >>> import gradtape as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """,
)
blackman_window = _plain(
    "blackman_window",
    _two_cosines,
    "Return ``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``.",
)
bartlett_window = _plain(
    "bartlett_window", _triangle, "Return a triangle from 0 over 1 to 0."
)
