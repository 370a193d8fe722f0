"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .utils import F, blank, forwarded


class Laplace(Distribution):
    """The Laplace distribution around ``loc``, of width ``scale``.

    >>> import gradtape as torch
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.6931, -1.6931])
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

    mean = mode = forwarded("loc")

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        u = blank(self._extended_shape(sample_shape), self.loc)
        u = u.uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * F.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return -F.log(2 * self.scale) - F.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        gap = value - self.loc
        return 0.5 - 0.5 * gap.sign() * F.expm1(-gap.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * F.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + F.log(2 * self.scale)
