"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import SCALAR
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import F, broadcast_all, clamp_probs, forwarded


class LogitRelaxedBernoulli(ProbsOrLogits):
    """Log-odds of relaxed Bernoulli samples.

    See Maddison et al., "The concrete distribution" (2017).
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    _expanded = ProbsOrLogits._expanded
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature: Any = temperature
        self._choose(probs, logits)
        self._begin(validate_args)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = F.rand(shape, dtype=probs.dtype, device=probs.device)
        u = clamp_probs(drawn)
        odds = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        gap = logits - value.mul(self.temperature)
        return self.temperature.log() + gap - 2 * gap.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that near Bernoulli samples as ``temperature`` falls to 0.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.RelaxedBernoulli(
    ...     torch.tensor(0.5), torch.tensor([0.1, 0.9])
    ... ).sample()
    tensor([0.0118, 0.9989])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ()
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = forwarded(
        "base_dist.temperature", "How far samples stay from 0 and 1."
    )
    logits = forwarded("base_dist.logits", "The log-odds of a 1.")
    probs = forwarded("base_dist.probs", "The probability of a 1.")
