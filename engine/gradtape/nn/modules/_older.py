"""Layers of older PyTorch: normalisation across channels, and a bare container."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ._module import Module


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


class Container(Module):
    """Holds the modules it is given by keyword; ``Module`` itself does so too."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented "
            "in `nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keywords of a layer that go on to what makes its tensors.

    Raises TypeError for other keywords, and for one that is there twice.

    >>> from gradtape import nn
    >>> nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': 1}
    """
    given = dict(kwargs or {})
    found = dict(given.pop("factory_kwargs", {}))
    unknown = given.keys() - {"device", "dtype", "memory_format"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    for name, value in given.items():
        if name in found:
            where = "in **kwargs and in factory_kwargs"
            raise TypeError(f"{name} specified twice, {where}")
        found[name] = value
    return found
