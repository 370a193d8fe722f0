"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import EULER, F, broadcast_all


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Return the n-th moment: b B(1 + n / a, b), B being the beta function."""
    first = 1 + n / a
    return b * F.exp(F.lgamma(first) + F.lgamma(b) - F.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """Numbers in (0, 1), much like beta ones, with a closed distribution function.

    >>> import gradtape as torch
    >>> torch.distributions.Kumaraswamy(torch.tensor([1.0]), 3.0).mean
    tensor([0.2500])
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(
            concentration1, concentration0
        )
        base = Uniform(
            F.full_like(self.concentration0, 0),
            F.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        log_mode[(b < 1) | (a < 1)] = math.nan
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        second = _moment(self.concentration1, self.concentration0, 2)
        return second - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + EULER
        rest = (1 - a.reciprocal()) * harmonic - F.log(a) - F.log(b)
        return (1 - b.reciprocal()) + rest
