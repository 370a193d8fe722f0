"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .utils import F, blank, filled, forwarded


class Cauchy(Distribution):
    """The Cauchy distribution around ``loc``, of half-width ``scale``.

    It has no mean and no variance: they are NaN and infinite.

    >>> import gradtape as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor([-1.0, 0.0]))
    tensor([0.2500, 0.5000])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expanded = ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._broadcast(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return filled(self._extended_shape(), math.nan, self.loc)

    mode = forwarded("loc")

    @property
    def variance(self) -> Tensor:
        return filled(self._extended_shape(), math.inf, self.loc)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        steps = blank(self._extended_shape(sample_shape), self.loc).cauchy_()
        return self.loc + steps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        squares = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - squares.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return F.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return F.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
