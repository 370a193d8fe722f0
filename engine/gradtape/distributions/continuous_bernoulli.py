"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits, check_one
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, broadcast_all, clamp_probs, lazy_property, logits_to_probs


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers in [0, 1] of density proportional to p^x (1 - p)^(1 - x).

    See Loaiza-Ganem and Cunningham, "The continuous Bernoulli" (2019). Around
    ``probs`` = 1/2, within ``lims``, formulas that would divide 0 by 0 are replaced by
    their Taylor series.

    >>> import gradtape as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.1, 0.5])).mean
    tensor([0.3301, 0.5000])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ProbsOrLogits._expanded
    _kept = ("_lims",)
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        check_one(probs, logits)
        self._choose(probs, logits)
        if probs is not None:
            # PyTorch checks where it is told anything, be it not to.
            valid = self.arg_constraints["probs"].check(self._param)
            if validate_args is not None and not valid.all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.__dict__["probs"] = clamp_probs(self._param)
        self._lims = lims
        self._begin(validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    # ---- around one half ----

    def _outside_unstable_region(self) -> Tensor:
        low, high = self._lims
        return F.max(F.le(self.probs, low), F.gt(self.probs, high))

    def _cut_probs(self) -> Tensor:
        edge = self._lims[0] * F.ones_like(self.probs)
        return F.where(self._outside_unstable_region(), self.probs, edge)

    def _or_series(self, exact: Tensor, series: Tensor) -> Tensor:
        return F.where(self._outside_unstable_region(), exact, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of what makes the density integrate to 1."""
        p = self._cut_probs()
        below = F.where(p <= 0.5, p, F.zeros_like(p))
        above = F.where(p >= 0.5, p, F.ones_like(p))
        log_norm = F.log(F.abs(F.log1p(-p) - F.log(p))) - F.where(
            p <= 0.5, F.log1p(-2.0 * below), F.log(2.0 * above - 1.0)
        )
        square = F.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return self._or_series(log_norm, series)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (F.log1p(-p) - F.log(p))
        x = self.probs - 0.5
        return self._or_series(exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def stddev(self) -> Tensor:
        return F.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2
        exact = exact + 1.0 / (F.log1p(-p) - F.log(p)) ** 2
        x = (self.probs - 0.5) ** 2
        return self._or_series(exact, 1 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    # ---- samples and probabilities ----

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(
            F.rand(shape, dtype=self.probs.dtype, device=self.probs.device)
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        cost = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cost + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        p = self._cut_probs()
        power = F.pow(p, value) * F.pow(1.0 - p, 1.0 - value)
        found = self._or_series((power + p - 1.0) / (2.0 * p - 1.0), value)
        inside = F.where(F.ge(value, 1.0), F.ones_like(found), found)
        return F.where(F.le(value, 0.0), F.zeros_like(found), inside)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        rise = F.log1p(-p + value * (2.0 * p - 1.0)) - F.log1p(-p)
        return self._or_series(rise / (F.log(p) - F.log1p(-p)), value)

    def entropy(self) -> Tensor:
        zero, one = F.log1p(-self.probs), F.log(self.probs)
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        low, high = (limit - 0.5 for limit in self._lims)
        outside = F.max(F.le(x, low), F.gt(x, high))
        cut = F.where(outside, x, low * F.ones_like(x))
        exact = F.log(F.abs(F.expm1(cut))) - F.log(F.abs(cut))
        series = 0.5 * x + F.pow(x, 2) / 24.0 - F.pow(x, 4) / 2880.0
        return F.where(outside, exact, series)
