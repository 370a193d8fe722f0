"""Fourier transforms along one dimension: gradtape.fft.fft and its kin."""

from __future__ import annotations

from typing import Any

from ..._autocast.autocast import autocasts
from ..._tensor.tensor import Tensor
from .._support.fourier_arguments import (
    checked,
    given_back,
    line_arguments,
    norm_of,
    one_dim,
    points,
    promoted,
    resized,
)
from ..pointwise.complex_parts import conj
from .transforms import _fft_c2c, _fft_c2r, _fft_r2c


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


@autocasts("fft_fft")
def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transform along a dimension.

    ``n`` cuts or pads the dimension first. ``norm`` says where to scale: "backward"
    not here, "forward" by 1/n, "ortho" by 1/sqrt(n).

    >>> import gradtape as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0, 0.0])).real
    tensor([1., 1., 1., 1.])
    """
    return _complex_spectrum("fft", input, n, dim, norm, out)


@autocasts("fft_ifft")
def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of fft() along a dimension."""
    return _complex_spectrum("ifft", input, n, dim, norm, out)


@autocasts("fft_rfft")
def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the first half of a real tensor's spectrum; the rest mirrors it.

    Raises RuntimeError for a complex tensor.
    """
    return _half_spectrum("rfft", input, n, dim, norm, out)


@autocasts("fft_irfft")
def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real values whose half spectrum this is: the inverse of rfft().

    There are ``n`` of them, by default an even number.

    >>> import gradtape as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0])), n=3)
    tensor([1., 2., 3.])
    """
    return _real_values("irfft", input, n, dim, norm, out)


@autocasts("fft_hfft")
def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real spectrum of a signal of which half is given."""
    return _real_values("hfft", input, n, dim, norm, out)


@autocasts("fft_ihfft")
def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of hfft(): half of the signal of a real spectrum."""
    return _half_spectrum("ihfft", input, n, dim, norm, out)
