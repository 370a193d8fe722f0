"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._dtypes import finfo, int64
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from ._probs_or_logits import ProbsOrLogits, check_one
from .distribution import SCALAR, Distribution
from .utils import F, along_first, filled


class Categorical(ProbsOrLogits):
    """Numbers of classes, with the probabilities along the last dimension.

    ``probs`` need not sum to 1: they are normalised, as ``logits`` are.

    >>> import gradtape as torch
    >>> classes = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> classes.log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True
    _expanded = ProbsOrLogits._expanded
    _kept = ("_num_events",)
    _binary = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        assert given is not None
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self._param = given - given.logsumexp(dim=-1, keepdim=True)
        else:
            self._param = given / given.sum(-1, keepdim=True)
        self.__dict__[name] = self._param
        self._num_events = self._param.size()[-1]
        Distribution.__init__(self, self._param.size()[:-1], Size(), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return filled(self._extended_shape(), math.nan, self.probs)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return filled(self._extended_shape(), math.nan, self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = F.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        index = value.long().unsqueeze(-1)
        index, logits = F.broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = F.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = F.arange(self._num_events, dtype=int64, device=self._param.device)
        return along_first(values, self._batch_shape, expand)
