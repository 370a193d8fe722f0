"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._dtypes import finfo
from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits
from .distribution import SCALAR
from .utils import F, blank, broadcast_all

_NOT_POSITIVE = (
    "Expected parameter probs ({} of shape {}) of distribution {!r} to be positive but "
    "found invalid values:\n{}"
)


class Geometric(ProbsOrLogits):
    """How many trials fail before the first success.

    >>> import gradtape as torch
    >>> torch.distributions.Geometric(torch.tensor([0.25])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expanded = ProbsOrLogits._expanded

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._choose(probs, logits)
        self._begin(validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                kind, shape = type(value).__name__, tuple(value.shape)
                wrong = value.data[~valid]
                raise ValueError(_NOT_POSITIVE.format(kind, shape, self, wrong))

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return F.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        u = blank(self._extended_shape(sample_shape), self.probs)
        with no_grad():
            u.uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0  # 0 times log 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        surprise = F.binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none"
        )
        return surprise / self.probs
