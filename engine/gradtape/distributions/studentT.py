"""Student's t-distribution."""

# ruff: noqa: N999 - PyTorch's module has this name
from __future__ import annotations

import math
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import SCALAR, Distribution
from .utils import F, broadcast_all, forwarded, standard_normal


class StudentT(Distribution):
    """Student's t-distribution of ``df`` degrees of freedom, moved and scaled.

    >>> import gradtape as torch
    >>> torch.distributions.StudentT(torch.tensor([3.0, 1.0])).variance
    tensor([3., nan])
    """

    arg_constraints: ClassVar = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expanded = ("df", "loc", "scale", "_chi2")

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone()
        mean[self.df <= 1] = math.nan
        return mean

    mode = forwarded("loc")

    @property
    def variance(self) -> Tensor:
        found, finite = self.df.clone(), self.df > 2
        df = self.df[finite]
        found[finite] = self.scale[finite].pow(2) * df / (df - 2)
        found[(self.df <= 2) & (self.df > 1)] = math.inf
        found[self.df <= 1] = math.nan
        return found

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * F.rsqrt(squares / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        y = (value - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + F.lgamma(0.5 * self.df)
            - F.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * F.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = F.lgamma(half) + math.lgamma(0.5) - F.lgamma(next_half)
        return (
            self.scale.log()
            + next_half * (F.digamma(next_half) - F.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
