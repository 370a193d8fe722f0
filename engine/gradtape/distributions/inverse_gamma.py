"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import F, forwarded


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma number.

    >>> import gradtape as torch
    >>> torch.distributions.InverseGamma(torch.tensor([3.0]), 4.0).mean
    tensor([2.])
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    _expanded = ()
    base_dist: Gamma

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, reciprocal, validate_args=validate_args)

    concentration = forwarded(
        "base_dist.concentration", "The shape of the gamma distribution."
    )
    rate = forwarded(
        "base_dist.rate", "The rate of the gamma distribution, a scale of this one."
    )

    @property
    def mean(self) -> Tensor:
        result = self.rate / (self.concentration - 1)
        return F.where(self.concentration > 1, result, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        below = (self.concentration - 1).square() * (self.concentration - 2)
        result = self.rate.square() / below
        return F.where(self.concentration > 2, result, math.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
