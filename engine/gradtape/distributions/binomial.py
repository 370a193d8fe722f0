"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import SCALAR
from .utils import F, along_first

_UNEQUAL = "Inhomogeneous total count not supported by `{}`."


def _positive_part(x: Tensor) -> Tensor:
    """Clamp at 0 from below, with a slope of one half at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """How many of ``total_count`` trials succeed.

    >>> import gradtape as torch
    >>> torch.distributions.Binomial(10, torch.tensor([0.25])).mean
    tensor([2.5000])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expanded = ("total_count", *ProbsOrLogits._expanded)

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._choose(probs, logits, total_count=total_count)
        self.total_count = count.type_as(self._param)
        self._begin(validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        ways = (
            F.lgamma(self.total_count + 1)
            - F.lgamma(value + 1)
            - F.lgamma(self.total_count - value + 1)
        )
        softplus = _positive_part(self.logits) + F.log1p(F.exp(-F.abs(self.logits)))
        return value * self.logits + ways - self.total_count * softplus

    def entropy(self) -> Tensor:
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(F.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._same_count("enumerate_support")
        kind = {"dtype": self._param.dtype, "device": self._param.device}
        return along_first(F.arange(1 + count, **kind), self._batch_shape, expand)

    def _same_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(_UNEQUAL.format(name))
        return count
