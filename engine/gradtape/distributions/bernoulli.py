"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, along_first, broadcast_all, forwarded


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Ones with probability ``probs``, else zeros.

    >>> import gradtape as torch
    >>> torch.distributions.Bernoulli(torch.tensor([0.3])).log_prob(torch.ones(1))
    tensor([-1.2040])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _expanded = ProbsOrLogits._expanded
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._choose(probs, logits)
        self._begin(validate_args)

    mean = forwarded("probs")

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = F.arange(2, dtype=self._param.dtype, device=self._param.device)
        return along_first(values, self._batch_shape, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (F.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return F.log1p(F.exp(x))
