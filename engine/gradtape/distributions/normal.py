"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, forwarded, standard_normal


class Normal(ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.Normal(torch.zeros(2), 1.0).sample()
    tensor([ 1.5410, -0.2934])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expanded = ("loc", "scale")
    _mean_carrier_measure = 0
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
    stddev = forwarded("scale")

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + eps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        squares = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -squares - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        steps = (value - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + F.erf(steps / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * F.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + F.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        square = self.scale.pow(2)
        return self.loc / square, -0.5 * square.reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * F.log(-math.pi / y)
