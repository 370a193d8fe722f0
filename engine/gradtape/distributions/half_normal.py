"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import F, forwarded


class HalfNormal(TransformedDistribution):
    """The absolute value of a normal number around 0.

    >>> import gradtape as torch
    >>> torch.distributions.HalfNormal(1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.2258, -0.7258])
    """

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expanded = ()
    base_dist: Normal

    def __init__(
        self, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = forwarded(
        "base_dist.scale", "The width of the distribution that is folded."
    )

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return F.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        folded = self.base_dist.log_prob(value) + math.log(2)
        return F.where(value >= 0, folded, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
