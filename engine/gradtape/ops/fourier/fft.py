"""Fourier transforms along one dimension, two, and any number: gradtape.fft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._tensor.tensor import Tensor
from .._support.renamed import renamed
from ..pointwise.complex_parts import conj
from .arguments import (
    checked,
    given_back,
    half_shape_and_dims,
    line_arguments,
    norm_of,
    one_dim,
    points,
    promoted,
    resized,
    shape_and_dims,
)
from .transforms import _conj_physical, _fft_c2c, _fft_c2r, _fft_r2c

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
