"""The F-distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .gamma import Gamma
from .utils import F, broadcast_all


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom.

    >>> import gradtape as torch
    >>> torch.distributions.FisherSnedecor(torch.tensor([2.0]), 6.0).mean
    tensor([1.5000])
    """

    arg_constraints: ClassVar = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    _expanded = ("df1", "df2", "_gamma1", "_gamma2")

    def __init__(
        self,
        df1: Tensor | float,
        df2: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.clone()
        df2[df2 <= 2] = math.nan
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2.clone()
        df2[df2 <= 4] = math.nan
        top = 2 * df2.pow(2) * (df1 + df2 - 2)
        return top / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = finfo(self.df2.dtype).tiny
        below.clamp_(min=tiny)
        return (above / below).clamp_(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * F.log(value)
        return norm + power - (half1 + half2) * F.log1p(ratio * value)
