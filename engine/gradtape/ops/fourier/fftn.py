"""Fourier transforms along several dimensions, in two and in any number."""

from __future__ import annotations

from typing import Any

from ..._autocast.autocast import autocasts
from ..._tensor.tensor import Tensor
from .._support.fourier_arguments import (
    checked,
    given_back,
    half_shape_and_dims,
    norm_of,
    promoted,
    resized,
    shape_and_dims,
)
from ..pointwise.complex_parts import conj
from .transforms import _conj_physical, _fft_c2c, _fft_c2r, _fft_r2c

_REAL = {
    "rfftn": "rfftn expects a real-valued input tensor, but got {}",
    "ihfftn": "Only supports floating-point dtypes, but found: {}",
}


def _complex_spectrum(
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


@autocasts("fft_fftn")
def fftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the Fourier transform along several dimensions, by default all.

    ``s`` gives their lengths; without ``dim`` it is about the last dimensions.

    >>> import gradtape as torch
    >>> torch.fft.fftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _complex_spectrum("fftn", input, s, dim, norm, out)


@autocasts("fft_ifftn")
def ifftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of fftn()."""
    return _complex_spectrum("ifftn", input, s, dim, norm, out)


@autocasts("fft_rfftn")
def rfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the spectrum of a real tensor, halved along the last dimension."""
    tensor, dims = _real_input("rfftn", input, s, dim, out)
    return given_back(_fft_r2c(tensor, dims, norm_of(norm, True), True), out)


@autocasts("fft_irfftn")
def irfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real values that rfftn() transforms to this half spectrum."""
    tensor = checked(input, "irfftn", out, real=True)
    lengths, dims, last = half_shape_and_dims("irfftn", tensor, s, dim)
    tensor = resized(promoted(tensor, True), dims, lengths)
    return given_back(_fft_c2r(tensor, dims, norm_of(norm, False), last), out)


def hfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real spectrum of a signal halved along the last dimension."""
    tensor = checked(input, "hfftn", out, real=True)
    lengths, dims, last = half_shape_and_dims("hfftn", tensor, s, dim)
    tensor = resized(promoted(tensor, True), dims, lengths)
    scale = norm_of(norm, True)
    if len(dims) > 1:
        tensor = _fft_c2c(tensor, dims[:-1], scale, True)
    return given_back(_fft_c2r(conj(tensor), dims[-1:], scale, last), out)


def ihfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of hfftn(), halved along the last dimension."""
    tensor, dims = _real_input("ihfftn", input, s, dim, out)
    scale = norm_of(norm, False)
    half = _fft_r2c(tensor, dims[-1:], scale, True)
    if len(dims) == 1:
        return given_back(conj(half), out)
    found = _fft_c2c(_conj_physical(half), dims[:-1], scale, False)
    return given_back(found, out)


# ---- two dimensions ----


@autocasts("fft_fft2")
def fft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the Fourier transform along two dimensions, by default the last."""
    return fftn(input, s, dim, norm, out=out)


@autocasts("fft_ifft2")
def ifft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of fft2()."""
    return ifftn(input, s, dim, norm, out=out)


@autocasts("fft_rfft2")
def rfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the spectrum of real images, halved along the last dimension."""
    return rfftn(input, s, dim, norm, out=out)


@autocasts("fft_irfft2")
def irfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real images that rfft2() transforms to this half spectrum."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real spectrum of images halved along the last dimension."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of hfft2()."""
    return ihfftn(input, s, dim, norm, out=out)
