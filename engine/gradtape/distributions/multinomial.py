"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import SCALAR, Distribution
from .utils import F, broadcast_all, forwarded


class Multinomial(Distribution):
    """How often each class comes up in ``total_count`` draws.

    >>> import gradtape as torch
    >>> torch.distributions.Multinomial(8, torch.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int
    _expanded = ("_categorical", "_binomial")
    _kept = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.multinomial(self.total_count)

    probs = forwarded("_categorical.probs", "The probability of each class.")
    logits = forwarded("_categorical.logits", "The log-probability of each class.")
    param_shape = forwarded(
        "_categorical.param_shape", "The shape of the parameter that was given."
    )

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, F.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = F.tensor(self.total_count)
        draws = n * self._categorical.entropy() - F.lgamma(n + 1)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = F.exp(self._binomial.log_prob(counts))
        return draws + (chances * F.lgamma(counts + 1)).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone()
        ways = F.lgamma(value.sum(-1) + 1) - F.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0  # 0 times log 0
        return ways + (logits * value).sum(-1)
