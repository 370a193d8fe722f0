"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F


class Gamma(ExponentialFamily):
    """The gamma distribution of shape ``concentration`` and ``rate``.

    Samples are differentiable in both (Marsaglia and Tsang's sampler, with implicit
    gradients for the shape).

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.Gamma(torch.tensor([1.0, 9.0]), 2.0).sample()
    tensor([1.4412, 3.9156])
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _expanded = ("concentration", "rate")
    _mean_carrier_measure = 0
    concentration: Tensor
    rate: Tensor

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._broadcast(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = F._standard_gamma(self.concentration.expand(shape))
        value = drawn / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # never 0, whose log is inf
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = F.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._checked(value)
        return (
            F.xlogy(self.concentration, self.rate)
            + F.xlogy(self.concentration - 1, value)
            - self.rate * value
            - F.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return F.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - F.log(self.rate)
            + F.lgamma(self.concentration)
            + (1.0 - self.concentration) * F.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return F.lgamma(x + 1) + (x + 1) * F.log(-y.reciprocal())
