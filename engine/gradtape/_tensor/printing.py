"""How tensors print, and the options that say how: ``set_printoptions``."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _dtypes as dt
from .._backend.device import device as Device

# ---- options ----

__all__ = [
    "PRINT_OPTIONS",
    "add_suffixes",
    "contents_str",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
    "tensor_str",
]

Profile: TypeAlias = Literal["default", "short", "full"]


@dataclass(slots=True)
class PrintOptions:
    """Hold the options; PyTorch keeps one record for the whole process, so do we."""

    precision: int = 4
    """Digits after the point."""
    threshold: float = 1000
    """More elements than this are summarised."""
    edgeitems: int = 3
    """Elements shown at each end of a summarised dimension."""
    linewidth: int = 80
    """Characters per line."""
    sci_mode: bool | None = None
    """Scientific notation: yes, no, or (None) where the values ask for it."""


PRINT_OPTIONS: Final = PrintOptions()

_PROFILES: Final[dict[str, tuple[int, float, int, int]]] = {
    # precision, threshold, edgeitems, linewidth
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Profile | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; an option left out keeps its value.

    A profile sets all four numbers first. `sci_mode` is the exception: left out, it
    goes back to None.
    """
    options = PRINT_OPTIONS
    if profile in _PROFILES:
        (
            options.precision,
            options.threshold,
            options.edgeitems,
            options.linewidth,
        ) = _PROFILES[profile]
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the options as keyword arguments for `set_printoptions`."""
    return asdict(PRINT_OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Generator[None]:
    """Change the options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# ---- text ----

Array: TypeAlias = NDArray[Any]
ElementFormat: TypeAlias = Callable[[Any], str]

_ALWAYS_DEFAULT: Final = (dt.int64, dt.bool_)


def tensor_str(
    array: Array | None,
    dtype: dt.dtype,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: Device | None = None,
    size: Sequence[int] | None = None,
    prefix: str = "tensor(",
    parameter: bool = False,
    contents: str | None = None,
    tangent: str | None = None,
) -> str:
    """Return the `repr` of a tensor that holds this array.

    `array` may be of any shape, on the host; None stands for a tensor without data
    (the meta device), whose shape is `size`. `device` is named unless it is the CPU,
    `grad_fn_name` wins over `requires_grad`, and `contents` replaces the numbers.

    >>> tensor_str(np.array([1.0, 2.5]), dt.float64, requires_grad=True)
    'tensor([1.0000, 2.5000], dtype=torch.float64, requires_grad=True)'
    """
    shape = tuple(size or ()) if array is None else array.shape
    suffixes: list[str] = []
    if device is not None and device.type != "cpu":
        suffixes.append(f"device='{device}'")
    if array is None or array.size == 0:
        if contents is None and (array is None or len(shape) != 1):
            suffixes.append(f"size={shape}")
        # Without elements, nothing shows that a tensor is of the usual int64.
        shows_dtype = dtype is not dt.get_default_dtype()
    else:
        if not PRINT_OPTIONS.edgeitems:
            suffixes.append(f"size={shape}")
        shows_dtype = not is_default(dtype)
    if shows_dtype:
        suffixes.append(f"dtype={dtype}")
    if contents is None:
        contents = "..." if array is None else contents_str(array, len(prefix))
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = add_suffixes(prefix + contents, suffixes, len(prefix))
    return f"Parameter containing:\n{text}" if parameter else text


def contents_str(array: Array, indent: int = 0) -> str:
    """Return the numbers in their brackets; later lines begin `indent` spaces in."""
    if array.size == 0:
        return "[]"
    summarize = array.size > PRINT_OPTIONS.threshold
    if summarize and not PRINT_OPTIONS.edgeitems and array.ndim:
        return "[...]"
    dotted = (False,) * array.ndim
    if summarize:
        array, dotted = _summarized(array)
    width, format_element = _element_format(array)
    per_line = max(1, (PRINT_OPTIONS.linewidth - indent - array.ndim + 1) // width)
    if array.ndim == 0:
        return format_element(array.item())
    return _nested(array.tolist(), dotted, indent, per_line, format_element)


def is_default(dtype: dt.dtype) -> bool:
    """Tell whether a dtype goes without saying."""
    default = dt.get_default_dtype()
    # The halves have no complex type of their own here: complex64 goes without saying.
    wide = default is dt.float64
    default_complex = dt.complex128 if wide else dt.complex64
    return dtype in (default, default_complex, *_ALWAYS_DEFAULT)


def add_suffixes(
    text: str, suffixes: Sequence[str], indent: int, force_newline: bool = False
) -> str:
    """Close a tensor's text with its facts, on lines of the usual width.

    Where a new line is forced, they do not follow the numbers on theirs.
    """
    parts = [text]
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last_line + len(suffix) + 2 > PRINT_OPTIONS.linewidth:
            parts.append(f",\n{' ' * indent}{suffix}")
            last_line, force_newline = indent + len(suffix), False
        else:
            parts.append(f", {suffix}")
            last_line += len(suffix) + 2
    return "".join((*parts, ")"))


# ---- what is shown ----


def _summarized(array: Array) -> tuple[Array, tuple[bool, ...]]:
    """Keep only the elements at the ends of long axes; tell which axes were cut."""
    edge = PRINT_OPTIONS.edgeitems
    dotted = tuple(length > 2 * edge for length in array.shape)
    for axis, cut in enumerate(dotted):
        if cut:
            ends = np.r_[0:edge, array.shape[axis] - edge : array.shape[axis]]
            # take() would first copy an array that is not contiguous as a whole
            array = array[(*(slice(None),) * axis, ends)]
    return array, dotted


def _nested(
    items: list[Any],
    dotted: tuple[bool, ...],
    indent: int,
    per_line: int,
    format_element: ElementFormat,
) -> str:
    """Lay out the rows of an array, given as nested lists."""
    edge = PRINT_OPTIONS.edgeitems
    depth = len(dotted)
    if depth == 1:
        row = [format_element(item) for item in items]
        if dotted[0]:
            row.insert(edge, " ...")
        lines = [", ".join(row[i : i + per_line]) for i in range(0, len(row), per_line)]
        return f"[{(',' + chr(10) + ' ' * (indent + 1)).join(lines)}]"
    parts = [
        _nested(item, dotted[1:], indent + 1, per_line, format_element)
        for item in items
    ]
    if dotted[0]:
        parts.insert(edge, "...")
    return f"[{(',' + chr(10) * (depth - 1) + ' ' * (indent + 1)).join(parts)}]"


# ---- elements ----


def _element_format(array: Array) -> tuple[int, ElementFormat]:
    """Return how to write one element, and the columns it takes with its comma."""
    if np.iscomplexobj(array):
        return _complex_format(array)
    if array.dtype.kind in "biu":
        width = max(len(str(item)) for item in array.ravel().tolist())
        return width + 2, lambda item: str(item).rjust(width)
    width, write = _float_format(array)
    return width + 2, write


def _complex_format(array: Array) -> tuple[int, ElementFormat]:
    real_width, real = _float_format(np.real(array))
    imag_width, imag = _float_format(np.imag(array))

    def write(item: complex) -> str:
        imaginary = f"{imag(item.imag)}j".lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return f"{real(item.real)}{sign}{imaginary}"

    return real_width + imag_width + 3, write


def _float_format(array: Array) -> tuple[int, Callable[[float], str]]:
    """Choose integers, fixed point or scientific notation for all values at once."""
    flat = array.astype(np.float64).ravel()
    shown = flat[np.isfinite(flat) & (flat != 0)]
    if not shown.size:
        return _integers([])
    if _wants_scientific(shown):
        return _written(shown.tolist(), f".{PRINT_OPTIONS.precision}e")
    if bool((shown == np.ceil(shown)).all()):
        return _integers(shown.tolist())
    return _written(shown.tolist(), f".{PRINT_OPTIONS.precision}f")


def _wants_scientific(shown: NDArray[np.float64]) -> bool:
    if PRINT_OPTIONS.sci_mode is not None:
        return PRINT_OPTIONS.sci_mode
    magnitudes = np.abs(shown)
    least, most = float(magnitudes.min()), float(magnitudes.max())
    return most / least > 1000.0 or most > 1.0e8 or least < 1.0e-4


def _written(shown: list[float], spec: str) -> tuple[int, Callable[[float], str]]:
    width = max(len(format(value, spec)) for value in shown)
    return width, lambda value: format(value, spec).rjust(width)


def _integers(shown: list[float]) -> tuple[int, Callable[[float], str]]:
    """Write whole numbers with a bare point, which marks them as floats."""
    width = max((len(f"{value:.0f}") + 1 for value in shown), default=1)

    def write(value: float) -> str:
        point = "." if math.isfinite(value) else ""
        return f"{value:.0f}{point}".rjust(width)

    return width, write
