"""Distributions of transformed samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """Samples of a base distribution, put through transforms one after the other.

    Raises ValueError where ``transforms`` holds something else, or where the base has
    too few dimensions for them.

    >>> import gradtape as torch
    >>> from gradtape.distributions import ExpTransform, Normal
    >>> base = Normal(0.0, 1.0)
    >>> log_normal = torch.distributions.TransformedDistribution(base, ExpTransform())
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar = {}
    has_rsample: ClassVar[Any] = property(lambda self: self.base_dist.has_rsample)
    _expanded = ()
    _kept = ("transforms",)

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _as_list(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        event = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        taken = transform.domain.event_dim
        if len(base_shape) < taken:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{taken}, but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        wanted = transform.inverse_shape(shape)
        if base_shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - event])
        if taken > event:
            base_distribution = Independent(base_distribution, taken - event)
        self.base_dist: Any = base_distribution
        given = transform.codomain.event_dim
        cut = len(shape) - max(given, event + given - taken)
        batch, event_shape = Size(shape[:cut]), Size(shape[cut:])
        super().__init__(batch, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, shape = self._start_expansion(batch_shape, _instance)
        base_shape = shape + self.event_shape
        for transform in reversed(self.transforms):
            base_shape = transform.inverse_shape(base_shape)
        kept = len(base_shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(base_shape[:kept])
        new.transforms = self.transforms
        return self._finish_expansion(new, shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:  # type: ignore[override]
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            more = event_dim - transform.domain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - sum_rightmost(slope, more)
            y = x
        more = event_dim - len(self.base_dist.event_shape)
        return log_prob + sum_rightmost(self.base_dist.log_prob(y), more)

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Count from the other end where the transforms turn values around."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


def _as_list(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(
            f"transforms must be a Transform or list, but was {transforms}"
        )
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
