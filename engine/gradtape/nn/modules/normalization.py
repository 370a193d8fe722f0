"""Normalisation by statistics of a sample, and across channels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from .. import functional as F
from .. import init
from .._factory import parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _affine(
    module: Module, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any
) -> None:
    for name, wanted in (("weight", weight), ("bias", bias)):
        found = parameter(shape, device, dtype) if wanted else None
        module.register_parameter(name, found)


def reset_affine(module: Any) -> None:
    """Set a layer's weight to ones and its bias to zeros, where it has them."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


def _shape(given: Any) -> tuple[int, ...]:
    return (int(given),) if isinstance(given, Integral) else tuple(given)


class LayerNorm(Module):
    """Normalise each sample over its last dimensions.

    >>> import gradtape as torch
    >>> torch.nn.LayerNorm(3)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        has_bias = elementwise_affine and bias
        _affine(
            self, self.normalized_shape, elementwise_affine, has_bias, device, dtype
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide each sample by the root of its mean square over the last dimensions."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        found = None
        if elementwise_affine:
            found = parameter(self.normalized_shape, device, dtype)
        self.register_parameter("weight", found)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalise groups of channels of each sample."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups "
                f"({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _affine(self, num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}, bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divide by a power of the mean square over neighbouring channels."""

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Divide by a power of the mean square over neighbouring channels.

    The window is PyTorch's older one, which ``LocalResponseNorm`` differs from in the
    channels behind; the gradient is that of this window. Raises ValueError for an
    input that is not (N, C, H, W).
    """

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Any) -> Tensor:
        """Return the normalised input."""
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead."
            )
        window = wrap(self._window(input.shape[1])).to(input)  # type: ignore[attr-defined]
        sums = (window @ input.square().flatten(2)).view_as(input)
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def _window(self, channels: int) -> Any:
        """Return which channels count for which: ones in a matrix."""
        before = int((self.size - 1) / 2 + 1)
        found = np.zeros((channels, channels))
        found[0, :before] = 1
        for c in range(1, channels):
            found[c] = found[c - 1]
            if c < channels - before + 1:
                found[c, c + before - 1] += 1
            if c > before:
                found[c, c - before] -= 1
        return found

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
