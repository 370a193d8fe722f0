"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform
from .utils import forwarded


class LogisticNormal(TransformedDistribution):
    """Points of the simplex: a normal vector, put through stick breaking.

    >>> import gradtape as torch
    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.simplex
    has_rsample = True
    _expanded = ()

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        transform = StickBreakingTransform()
        super().__init__(base, transform, validate_args=validate_args)

    loc = forwarded("base_dist.base_dist.loc", "The mean of the normal vector.")
    scale = forwarded(
        "base_dist.base_dist.scale", "The standard deviations of the normal vector."
    )
