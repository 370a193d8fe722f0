"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .utils import F, forwarded


class GeneralizedPareto(Distribution):
    """Numbers above ``loc``, whose tail ``concentration`` makes heavy or finite.

    >>> import gradtape as torch
    >>> tails = torch.distributions.GeneralizedPareto(
    ...     torch.zeros(3), 1.0, torch.tensor([-0.5, 0.0, 0.5])
    ... )
    >>> tails.mean
    tensor([0.6667, 1.0000, 2.0000])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expanded = ("loc", "scale", "concentration")
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._broadcast(
            validate_args, loc=loc, scale=scale, concentration=concentration
        )

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(F.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    def _exponential(self) -> tuple[Tensor, Tensor]:
        """Say where the tail is exponential; give divisors that are not 0 there."""
        k = self.concentration
        none = F.isclose(k, F.tensor(0.0, dtype=k.dtype, device=k.device))
        return none, F.where(none, F.ones_like(k), k)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        z = self._z(value)
        exponential, k = self._exponential()
        power = 1 / k + F.ones_like(z)
        fall = F.where(power == 0, power, power * F.log1p(k * z))
        return F.where(exponential, -z, -fall) - F.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the log-probability of a sample above ``value``."""
        self._checked(value)
        z = self._z(value)
        exponential, k = self._exponential()
        return F.where(exponential, -z, -F.log1p(k * z) / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the log-probability of a sample up to ``value``."""
        return F.log1p(-F.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return F.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        exponential, k = self._exponential()
        rest = F.log1p(-value)
        z = F.where(exponential, -rest, F.expm1(-k * rest) / k)
        return self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        finite = k < 1
        safe = F.where(finite, k, 0.5)
        return F.where(finite, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        finite = k < 0.5
        safe = F.where(finite, k, 0.25)
        found = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return F.where(finite, found, math.nan)

    mode = forwarded("loc")

    def entropy(self) -> Tensor:
        return (F.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        end = self.loc - self.scale / self.concentration
        upper = F.where(self.concentration < 0, end, math.inf)
        return constraints.interval(self.loc, upper)
