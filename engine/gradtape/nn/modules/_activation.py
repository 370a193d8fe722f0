"""Activation layers."""

from __future__ import annotations

import warnings

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from .. import functional as F
from ._module import Module

_RENAMED = "keyword argument `{old}` is deprecated and renamed to `{new}`"

# ---- without options ----


class Sigmoid(Module):
    """Return ``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return FUNCTIONS["sigmoid"](input)


class Tanh(Module):
    """Return the hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return FUNCTIONS["tanh"](input)


class LogSigmoid(Module):
    """Return ``log(sigmoid(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.logsigmoid(input)


class Softsign(Module):
    """Return ``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """Return ``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.tanhshrink(input)


# ---- that can work in place ----


class _Inplace(Module):
    """An activation without other options than ``inplace``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return "inplace=True" where it is."""
        return "inplace=True" if self.inplace else ""

    def _and_inplace(self, options: str) -> str:
        return f"{options}, inplace=True" if self.inplace else options


class ReLU(_Inplace):
    """Set what is negative to zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """Return ``x * sigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """Return ``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """Apply elu with constants that keep mean and variance through layers."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.selu(input, self.inplace)


class Hardsigmoid(_Inplace):
    """Return ``clamp(x + 3, 0, 6) / 6``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Return nothing, as PyTorch."""
        return ""


class Hardswish(_Inplace):
    """Return ``x * clamp(x + 3, 0, 6) / 6``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Return nothing, as PyTorch."""
        return ""


class Hardtanh(_Inplace):
    """Cut to the range from ``min_val`` to ``max_val``."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _renamed("min_value", "min_val", min_value, min_val)
        self.max_val = _renamed("max_value", "max_val", max_value, max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val "
                f"({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the range."""
        return self._and_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


def _renamed(old: str, new: str, given: float | None, value: float) -> float:
    if given is None:
        return value
    warnings.warn(_RENAMED.format(old=old, new=new), FutureWarning, stacklevel=3)
    return given


class ReLU6(Hardtanh):
    """Cut to the range from 0 to 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return "inplace=True" where it is."""
        return "inplace=True" if self.inplace else ""


class Threshold(_Inplace):
    """Replace what is not above a threshold by a value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return threshold and value."""
        return self._and_inplace(f"threshold={self.threshold}, value={self.value}")


class LeakyReLU(_Inplace):
    """Multiply what is negative by a slope."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope."""
        return self._and_inplace(f"negative_slope={self.negative_slope}")


class RReLU(_Inplace):
    """Multiply what is negative by slopes drawn at random."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element; evaluation uses the mean slope."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the range of slopes."""
        return self._and_inplace(f"lower={self.lower}, upper={self.upper}")


class ELU(_Inplace):
    """Bend what is negative to ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha."""
        return self._and_inplace(f"alpha={self.alpha}")


class CELU(_Inplace):
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha."""
        return self._and_inplace(f"alpha={self.alpha}")
