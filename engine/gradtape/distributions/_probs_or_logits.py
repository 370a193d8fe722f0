"""What distributions share that are given by probabilities or by logits."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

_NOT_ONE = "Either `probs` or `logits` must be specified, but not both."


def check_one(probs: Any, logits: Any) -> None:
    """Raise ValueError unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError(_NOT_ONE)


class ProbsOrLogits(Distribution):
    """A distribution whose ``probs`` and ``logits`` follow from one another."""

    _expanded: ClassVar[tuple[str, ...]] = ("probs", "logits", "_param")
    _binary: ClassVar[bool] = True
    _param: Tensor

    def _choose(
        self, probs: Any, logits: Any, **others: Tensor | float
    ) -> tuple[Tensor, ...]:
        """Set the one that is given, broadcast with other parameters; return those."""
        check_one(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        *rest, self._param = broadcast_all(*others.values(), given)
        self.__dict__[name] = self._param
        return tuple(rest)

    def _begin(self, validate_args: bool | None, event_shape: Any = ()) -> None:
        shape = self._param.size()
        Distribution.__init__(self, shape, Size(event_shape), validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
