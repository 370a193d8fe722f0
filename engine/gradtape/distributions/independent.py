"""Batch dimensions that count as dimensions of the event."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .utils import forwarded, sum_rightmost


class Independent(Distribution):
    """A distribution whose rightmost batch dimensions belong to the event.

    Raises ValueError where it has fewer batch dimensions than that.

    >>> import gradtape as torch
    >>> normal = torch.distributions.Normal(torch.zeros(2, 3), 1.0)
    >>> torch.distributions.Independent(normal, 1).log_prob(torch.zeros(2, 3))
    tensor([-2.7568, -2.7568])
    """

    arg_constraints: ClassVar = {}
    _expanded = ()
    _kept = ("reinterpreted_batch_ndims",)
    base_dist: Any

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        dims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > dims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= "
                "len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {dims}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = dims - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, shape = self._start_expansion(batch_shape, _instance)
        more = self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(shape + more)
        return self._finish_expansion(new, shape)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        if self.reinterpreted_batch_ndims > 0:
            return False
        return self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:  # type: ignore[override]
        result = self.base_dist.support
        if not self.reinterpreted_batch_ndims:
            return result
        return constraints.independent(result, self.reinterpreted_batch_ndims)

    mean = forwarded("base_dist.mean")
    mode = forwarded("base_dist.mode")
    variance = forwarded("base_dist.variance")

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        found = self.base_dist.log_prob(value)
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        found = self.base_dist.entropy()
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented"
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        inner = f"{self.base_dist!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__}({inner})"
