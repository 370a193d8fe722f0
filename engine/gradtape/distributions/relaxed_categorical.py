"""Continuous relaxations of the categorical distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import SCALAR, Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import F, broadcast_all, clamp_probs, forwarded


class ExpRelaxedCategorical(Distribution):
    """Logarithms of relaxed one-hot samples.

    See Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
    """

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector  # of which a part is reached
    has_rsample = True
    _expanded = ("_categorical",)
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature: Any = temperature
        shape = self._categorical.param_shape
        super().__init__(
            self._categorical.batch_shape, shape[-1:], validate_args=validate_args
        )

    param_shape = forwarded(
        "_categorical.param_shape", "The shape of the parameter that was given."
    )
    logits = forwarded("_categorical.logits", "The log-probability of each class.")
    probs = forwarded("_categorical.probs", "The probability of each class.")

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape, logits = self._extended_shape(sample_shape), self.logits
        u = clamp_probs(F.rand(shape, dtype=logits.dtype, device=logits.device))
        scores = (logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        scale = F.full_like(self.temperature, float(count)).lgamma()
        scale = scale - self.temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that near its corners as ``temperature`` falls to 0.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.RelaxedOneHotCategorical(
    ...     torch.tensor(0.5), torch.tensor([0.1, 0.2, 0.7])
    ... ).sample()
    tensor([0.0300, 0.8473, 0.1227])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    has_rsample = True
    _expanded = ()
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(
            temperature, probs, logits, validate_args=validate_args
        )
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = forwarded(
        "base_dist.temperature", "How far samples stay from the corners."
    )
    logits = forwarded("base_dist.logits", "The log-probability of each class.")
    probs = forwarded("base_dist.probs", "The probability of each class.")
