"""The beta distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .dirichlet import Dirichlet
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, broadcast_all


class Beta(ExponentialFamily):
    """Numbers in (0, 1), with a concentration at either end.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.Beta(torch.tensor([0.5, 9.0]), 0.5).sample()
    tensor([0.0176, 0.8937])
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ("_dirichlet",)

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(concentration1, Number) and isinstance(concentration0, Number):
            both = F.tensor([float(concentration1), float(concentration0)])
        else:
            both = F.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        shape = self._dirichlet.batch_shape
        super().__init__(shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """What pulls samples towards 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """What pulls samples towards 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        product = self.concentration1 * self.concentration0
        return product / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self._dirichlet.log_prob(F.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return F.lgamma(x) + F.lgamma(y) - F.lgamma(x + y)
