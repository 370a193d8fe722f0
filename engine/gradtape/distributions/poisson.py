"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, broadcast_all, forwarded


class Poisson(ExponentialFamily):
    """How many events come in a unit of time, at ``rate``.

    >>> import gradtape as torch
    >>> torch.distributions.Poisson(torch.tensor([4.0])).log_prob(torch.tensor([3.0]))
    tensor([-1.6329])
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _expanded = ("rate",)
    rate: Tensor

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, rate=rate)

    mean = forwarded("rate")

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    variance = forwarded("rate")

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.poisson(self.rate.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (F.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return F.exp(x)
