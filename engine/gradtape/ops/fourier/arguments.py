"""Reading the arguments of gradtape.fft: dtypes, sizes, dimensions, norms, out=."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._dispatch.out_checks import refusal
from ..._dtypes import get_default_dtype
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import Sizes, as_integer, check_tensor, is_integer
from .._support.arguments import wrap_dim as _wrapped
from .._support.out_argument import handed_over

_POINTS = "Invalid number of data points ({}) specified"


def promoted(input: Tensor, needs_complex: bool) -> Tensor:
    """Return the tensor in a dtype that can be transformed.

    Integers become the default float type. Raises RuntimeError for half precision.
    """
    kind = input.dtype
    if kind.is_complex:
        return input
    if not kind.is_floating_point:
        kind = get_default_dtype()
    if kind.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {kind.cpp_name}")
    if needs_complex:
        kind = kind.to_complex()
    return input if kind is input.dtype else input.to(kind)


def norm_of(norm: str | None, forward: bool) -> int:
    """Return the scaling a name stands for: 0 none, 1 by the root of n, 2 by n."""
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def one_dim(dim: int, ndim: int) -> int:
    """Return the dimension to transform, counted from the front."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return _wrapped(dim, ndim)


def line_arguments(name: str, n: Any, dim: Any) -> tuple[int | None, int]:
    """Return length and dimension of a transform along one dimension, as ints."""
    length = None if n is None else as_integer(n, f"fft_{name}", "n", 2)
    return length, as_integer(dim, f"fft_{name}", "dim", 3)


def points(n: int) -> int:
    """Return a length; refuse one without elements."""
    if n < 1:
        raise RuntimeError(_POINTS.format(n))
    return n


def resized(input: Tensor, dims: Sizes, lengths: Sizes) -> Tensor:
    """Cut or pad dimensions with zeros at their ends to the lengths asked for."""
    pads = [0] * (2 * input.dim())
    found = input
    for dim, length in zip(dims, lengths, strict=True):
        size = found.shape[dim]
        if size < length:
            pads[2 * (input.dim() - 1 - dim) + 1] = length - size
        elif size > length:
            found = FUNCTIONS["narrow"](found, dim, 0, length)
    return FUNCTIONS["constant_pad_nd"](found, tuple(pads)) if any(pads) else found


def shape_and_dims(input: Tensor, s: Any, dim: Any) -> tuple[Sizes, Sizes]:
    """Return the lengths and the dimensions of an n-dimensional transform.

    Raises RuntimeError where they do not go together, or a length is not positive.
    """
    ndim = input.dim()
    dims: Sizes = ()
    if dim is not None:
        given = (dim,) if is_integer(dim) else tuple(dim)
        dims = tuple(one_dim(d, ndim) for d in given)
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = tuple(range(ndim)) if dim is None else dims
        lengths = tuple(input.shape[d] for d in dims)
    else:
        wanted = (s,) if is_integer(s) else tuple(s)
        if dim is not None and len(dims) != len(wanted):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length"
            )
        if len(wanted) > ndim:
            raise RuntimeError(
                f"Got shape with {len(wanted)} values but input tensor only has "
                f"{ndim} dimensions."
            )
        if dim is None:
            dims = tuple(range(ndim - len(wanted), ndim))
        pairs = zip(dims, wanted, strict=True)
        lengths = tuple(input.shape[d] if n == -1 else int(n) for d, n in pairs)
    for length in lengths:
        points(length)
    return lengths, dims


def half_shape_and_dims(
    name: str, input: Tensor, s: Any, dim: Any
) -> tuple[Sizes, Sizes, int]:
    """Return the same for transforms from half a spectrum, and the last length."""
    lengths, dims = shape_and_dims(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    given = None if s is None else (s,) if is_integer(s) else tuple(s)
    last = lengths[-1]
    if given is None or given[-1] == -1:
        last = 2 * (input.shape[dims[-1]] - 1)
    points(last)
    return (*lengths[:-1], last // 2 + 1), dims, last


def checked(input: Any, name: str, out: Tensor | None, real: bool = False) -> Tensor:
    """Return the input, once it is a tensor; refuse an ``out=`` of another kind."""
    tensor = check_tensor(input, f"fft_{name}")
    if out is None:
        return tensor
    if mode.grad and (tensor.requires_grad or out.requires_grad):
        raise refusal(f"fft_{name}")
    if real and not out.dtype.is_floating_point:
        raise RuntimeError(
            f"{name} expects a floating point output tensor, but got "
            f"{out.dtype.cpp_name}"
        )
    if not real and not out.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a complex output tensor, but got {out.dtype.cpp_name}"
        )
    return tensor


def given_back(found: Tensor, out: Tensor | None) -> Tensor:
    """Return a result, or ``out`` after the result was stored in it."""
    return found if out is None else handed_over("fft", found._data, out)
