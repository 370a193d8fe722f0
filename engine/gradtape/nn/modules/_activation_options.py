"""Activation layers with options of their own, and softmax."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init as fill
from .._fresh import parameter
from ._module import Module

# ---- with other options ----


class GLU(Module):
    """Multiply one half along a dimension by the sigmoid of the other half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return half of the input's size along the dimension."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class GELU(Module):
    """Multiply by the chance that a normal number is smaller."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return how it is computed."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """Set what is between -lambd and lambd to zero."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Softshrink(Module):
    """Move values towards zero by lambd, not past it."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Softplus(Module):
    """Return ``log(1 + exp(beta * x)) / beta``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return beta and threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """Multiply what is negative by a learned slope, one for all or one per channel."""

    weight: Tensor

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to the first value."""
        fill.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return how many slopes there are."""
        return f"num_parameters={self.num_parameters}"


# ---- softmax ----


class _AlongDim(Module):
    """A function along one dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Return values in (0, 1) that sum to 1 along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along the dimension."""
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """Return ``softmax(-x)`` along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along the dimension."""
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """Return the logarithm of softmax along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along the dimension."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Return softmax over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to (C, H, W) or (N, C, H, W)."""
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)
