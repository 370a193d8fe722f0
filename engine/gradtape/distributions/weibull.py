"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import EULER, F, broadcast_all


class Weibull(TransformedDistribution):
    """Lifetimes of ``scale`` whose hazard grows as a power of time.

    >>> import gradtape as torch
    >>> torch.distributions.Weibull(torch.tensor([2.0]), 1.0).mean
    tensor([2.])
    """

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    _expanded = ("scale", "concentration", "concentration_reciprocal")

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(F.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._powers(), validate_args=validate_args)

    def _powers(self) -> Any:
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._powers()
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * F.exp(F.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        share = (self.concentration - 1) / self.concentration
        return self.scale * share ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        second = F.exp(F.lgamma(1 + 2 * self.concentration_reciprocal))
        square = F.exp(2 * F.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (second - square)

    def entropy(self) -> Tensor:
        reciprocal = self.concentration_reciprocal
        return EULER * (1 - reciprocal) + F.log(self.scale * reciprocal) + 1
