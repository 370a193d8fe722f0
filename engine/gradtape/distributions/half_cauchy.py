"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .cauchy import Cauchy
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import F, filled, forwarded


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy number around 0.

    >>> import gradtape as torch
    >>> torch.distributions.HalfCauchy(1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.4516, -1.1447])
    """

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expanded = ()
    base_dist: Cauchy

    def __init__(
        self, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = forwarded(
        "base_dist.scale", "The width of the distribution that is folded."
    )

    @property
    def mean(self) -> Tensor:
        return filled(self._extended_shape(), math.inf, self.scale)

    @property
    def mode(self) -> Tensor:
        return F.zeros_like(self.scale)

    variance = forwarded("base_dist.variance")

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        scale = self.base_dist.scale
        value = F.as_tensor(value, dtype=scale.dtype, device=scale.device)
        folded = self.base_dist.log_prob(value) + math.log(2)
        return F.where(value >= 0, folded, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
