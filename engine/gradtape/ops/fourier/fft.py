"""Fourier transforms along one dimension, two, and any number: gradtape.fft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS
from ..._dispatch.out_checks import refusal
from ..._dtypes import get_default_dtype
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import Sizes, as_integer, check_tensor, is_integer
from .._support.arguments import wrap_dim as _wrapped
from .._support.out_argument import handed_over
from .._support.signed import renamed
from ..pointwise.complex_parts import conj
from .transforms import _conj_physical, _fft_c2c, _fft_c2r, _fft_r2c

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


Transform = Callable[..., Tensor]
"""What computes ``transform(name, input, lengths, dims, norm, out)``."""

# ---- along one dimension ----


def _complex_spectrum(
    name: str, input: Any, n: int | None, dim: int, norm: str | None, out: Any
) -> Tensor:
    """Transform real or complex values to a whole spectrum."""
    forward = name == "fft"
    tensor = checked(input, name, out)
    n, dim = line_arguments(name, n, dim)
    if tensor.dtype.is_complex:
        axis = one_dim(dim, tensor.dim())
        length = points(tensor.shape[axis] if n is None else n)
        tensor = tensor if n is None else resized(tensor, (axis,), (length,))
        scale = norm_of(norm, forward)
        found = _fft_c2c(promoted(tensor, True), (axis,), scale, forward)
    else:
        found = _spectrum(tensor, n, dim, norm, forward, False)
    return given_back(found, out)


def _spectrum(
    input: Tensor,
    n: int | None,
    dim: int,
    norm: str | None,
    forward: bool,
    onesided: bool,
) -> Tensor:
    tensor = promoted(input, False)
    axis = one_dim(dim, tensor.dim())
    length = points(tensor.shape[axis] if n is None else n)
    tensor = tensor if n is None else resized(tensor, (axis,), (length,))
    found = _fft_r2c(tensor, (axis,), norm_of(norm, forward), onesided)
    return found if forward else conj(found)


def _half_spectrum(
    name: str, input: Any, n: int | None, dim: int, norm: str | None, out: Any
) -> Tensor:
    tensor = checked(input, name, out)
    if tensor.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {tensor.dtype.cpp_name}"
        )
    n, dim = line_arguments(name, n, dim)
    return given_back(_spectrum(tensor, n, dim, norm, name == "rfft", True), out)


def _real_values(
    name: str, input: Any, n: int | None, dim: int, norm: str | None, out: Any
) -> Tensor:
    tensor = promoted(checked(input, name, out, real=True), True)
    n, dim = line_arguments(name, n, dim)
    axis = one_dim(dim, tensor.dim())
    length = points(2 * (tensor.shape[axis] - 1) if n is None else n)
    if n is not None:
        tensor = resized(tensor, (axis,), (length // 2 + 1,))
    forward = name == "hfft"
    scale = norm_of(norm, forward)
    tensor = conj(tensor) if forward else tensor
    return given_back(_fft_c2r(tensor, (axis,), scale, length), out)


def _along_one(name: str, transform: Transform, doc: str) -> Transform:
    @autocasts(f"fft_{name}")
    @renamed(name, doc)
    def along(
        input: Tensor,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return transform(name, input, n, dim, norm, out)

    return along


fft = _along_one(
    "fft",
    _complex_spectrum,
    """Return the discrete Fourier transform along a dimension.

    ``n`` cuts or pads the dimension first. ``norm`` says where to scale: "backward"
    not here, "forward" by 1/n, "ortho" by 1/sqrt(n).

    >>> import gradtape as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """,
)
ifft = _along_one(
    "ifft", _complex_spectrum, "Return the inverse of fft() along a dimension."
)
rfft = _along_one(
    "rfft",
    _half_spectrum,
    """Return the first half of a real tensor's spectrum; the rest mirrors it.

    Raises RuntimeError for a complex tensor.
    """,
)
irfft = _along_one(
    "irfft",
    _real_values,
    """Return the real values whose half spectrum this is: the inverse of rfft().

    There are ``n`` of them, by default an even number.

    >>> import gradtape as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0])), n=3)
    tensor([1., 2., 3.])
    """,
)
hfft = _along_one(
    "hfft", _real_values, "Return the real spectrum of a signal of which half is given."
)
ihfft = _along_one(
    "ihfft",
    _half_spectrum,
    "Return the inverse of hfft(): half of the signal of a real spectrum.",
)


# ---- along several dimensions ----

_REAL = {
    "rfftn": "rfftn expects a real-valued input tensor, but got {}",
    "ihfftn": "Only supports floating-point dtypes, but found: {}",
}


def _complex_spectrum_n(
    name: str, input: Any, s: Any, dim: Any, norm: str | None, out: Any
) -> Tensor:
    forward = name == "fftn"
    tensor = checked(input, name, out)
    lengths, dims = shape_and_dims(tensor, s, dim)
    tensor = resized(promoted(tensor, True), dims, lengths)
    return given_back(_fft_c2c(tensor, dims, norm_of(norm, forward), forward), out)


def _real_input(name: str, input: Any, s: Any, dim: Any, out: Any) -> Any:
    tensor = checked(input, name, out)
    if tensor.dtype.is_complex:
        raise RuntimeError(_REAL[name].format(tensor.dtype.cpp_name))
    tensor = promoted(tensor, False)
    lengths, dims = shape_and_dims(tensor, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return resized(tensor, dims, lengths), dims


def _half_spectrum_n(
    name: str, input: Any, s: Any, dim: Any, norm: str | None, out: Any
) -> Tensor:
    tensor, dims = _real_input(name, input, s, dim, out)
    if name == "rfftn":
        return given_back(_fft_r2c(tensor, dims, norm_of(norm, True), True), out)
    scale = norm_of(norm, False)
    half = _fft_r2c(tensor, dims[-1:], scale, True)
    if len(dims) == 1:
        return given_back(conj(half), out)
    found = _fft_c2c(_conj_physical(half), dims[:-1], scale, False)
    return given_back(found, out)


def _real_values_n(
    name: str, input: Any, s: Any, dim: Any, norm: str | None, out: Any
) -> Tensor:
    tensor = checked(input, name, out, real=True)
    lengths, dims, last = half_shape_and_dims(name, tensor, s, dim)
    tensor = resized(promoted(tensor, True), dims, lengths)
    if name == "irfftn":
        return given_back(_fft_c2r(tensor, dims, norm_of(norm, False), last), out)
    scale = norm_of(norm, True)
    if len(dims) > 1:
        tensor = _fft_c2c(tensor, dims[:-1], scale, True)
    return given_back(_fft_c2r(conj(tensor), dims[-1:], scale, last), out)


def _along_several(name: str, transform: Transform, doc: str) -> Transform:
    @autocasts(f"fft_{name}")
    @renamed(name, doc)
    def along(
        input: Tensor,
        s: Any = None,
        dim: Any = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return transform(name, input, s, dim, norm, out)

    return along


fftn = _along_several(
    "fftn",
    _complex_spectrum_n,
    """Return the Fourier transform along several dimensions, by default all.

    ``s`` gives their lengths; without ``dim`` it is about the last dimensions.

    >>> import gradtape as torch
    >>> torch.fft.fftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """,
)
ifftn = _along_several("ifftn", _complex_spectrum_n, "Return the inverse of fftn().")
rfftn = _along_several(
    "rfftn",
    _half_spectrum_n,
    "Return the spectrum of a real tensor, halved along the last dimension.",
)
irfftn = _along_several(
    "irfftn",
    _real_values_n,
    "Return the real values that rfftn() transforms to this half spectrum.",
)
hfftn = _along_several(
    "hfftn",
    _real_values_n,
    "Return the real spectrum of a signal halved along the last dimension.",
)
ihfftn = _along_several(
    "ihfftn",
    _half_spectrum_n,
    "Return the inverse of hfftn(), halved along the last dimension.",
)


# ---- along two dimensions ----


def _along_two(name: str, transform: Transform, doc: str) -> Transform:
    @autocasts(f"fft_{name}")
    @renamed(name, doc)
    def along(
        input: Tensor,
        s: Any = None,
        dim: Any = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return transform(input, s, dim, norm, out=out)

    return along


fft2 = _along_two(
    "fft2",
    fftn,
    "Return the Fourier transform along two dimensions, by default the last.",
)
ifft2 = _along_two("ifft2", ifftn, "Return the inverse of fft2().")
rfft2 = _along_two(
    "rfft2",
    rfftn,
    "Return the spectrum of real images, halved along the last dimension.",
)
irfft2 = _along_two(
    "irfft2",
    irfftn,
    "Return the real images that rfft2() transforms to this half spectrum.",
)
hfft2 = _along_two(
    "hfft2",
    hfftn,
    "Return the real spectrum of images halved along the last dimension.",
)
ihfft2 = _along_two("ihfft2", ihfftn, "Return the inverse of hfft2().")
