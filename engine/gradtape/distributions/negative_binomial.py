"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import SCALAR
from .gamma import Gamma
from .utils import F, lazy_property


class NegativeBinomial(ProbsOrLogits):
    """How many trials succeed before ``total_count`` of them fail.

    >>> import gradtape as torch
    >>> torch.distributions.NegativeBinomial(4, torch.tensor([0.5])).mean
    tensor([4.])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expanded = ("total_count", *ProbsOrLogits._expanded)

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._choose(probs, logits, total_count=total_count)
        self.total_count = count.type_as(self._param)
        self._begin(validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * F.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / F.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        rate = F.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with no_grad():
            return F.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        weight = self.total_count * F.logsigmoid(-self.logits)
        weight = weight + value * F.logsigmoid(self.logits)
        norm = (
            -F.lgamma(self.total_count + value)
            + F.lgamma(1.0 + value)
            + F.lgamma(self.total_count)
        )
        # No trial at all: infinity less infinity.
        return weight - norm.masked_fill(self.total_count + value == 0.0, 0.0)
