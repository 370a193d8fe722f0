"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import SCALAR, Distribution
from .utils import F, forwarded


class OneHotCategorical(Distribution):
    """Vectors with a single 1, at a class drawn with its probability.

    >>> import gradtape as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.one_hot
    has_enumerate_support = True
    _expanded = ("_categorical",)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    _param = forwarded("_categorical._param")
    probs = forwarded("_categorical.probs", "The probability of each class.")
    logits = forwarded("_categorical.logits", "The log-probability of each class.")
    param_shape = forwarded(
        "_categorical.param_shape", "The shape of the parameter that was given."
    )
    mean = forwarded("probs")

    @property
    def mode(self) -> Tensor:
        probs = self.probs
        return F.one_hot(probs.argmax(dim=-1), probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        drawn = self._categorical.sample(Size(sample_shape))
        return F.one_hot(drawn, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n, batch = self.event_shape[0], self.batch_shape
        values = F.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1,) * len(batch), n))
        return values.expand((n, *batch, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is that of the probabilities.

    The straight-through estimator of Bengio et al., "Estimating or propagating
    gradients through stochastic neurons" (2013).
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
