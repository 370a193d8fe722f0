"""The Gumbel distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any, ClassVar

from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import EULER, F, broadcast_all, forwarded


class Gumbel(TransformedDistribution):
    """The distribution of the largest of many numbers.

    >>> import gradtape as torch
    >>> torch.distributions.Gumbel(torch.zeros(1), 2.0).mean
    tensor([1.1544])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    _expanded = ("loc", "scale")

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low: Any = limits.tiny
        high: Any = 1 - limits.eps
        if not (isinstance(loc, Number) and isinstance(scale, Number)):
            low, high = F.full_like(self.loc, low), F.full_like(self.loc, high)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-F.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        base = Uniform(low, high, validate_args=validate_args)
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    mode = forwarded("loc")

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
