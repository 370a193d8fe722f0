"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from ..autograd import Function
from ..autograd.function import once_differentiable
from . import constraints
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F


def _Dirichlet_backward(  # noqa: N802 - PyTorch's name
    x: Tensor, concentration: Tensor, grad_output: Tensor
) -> Tensor:
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = F._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Samples whose gradient follows how each component moves with its parameter."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:  # type: ignore[override]
        x = F._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:  # type: ignore[override]
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Points of the simplex, with a ``concentration`` for each component.

    Raises ValueError where the concentration has no dimension.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.Dirichlet(torch.tensor([0.5, 0.5, 3.0])).sample()
    tensor([2.3040e-04, 1.2887e-02, 9.8688e-01])
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    _expanded = ("concentration",)

    def __init__(
        self, concentration: Tensor, validate_args: bool | None = None
    ) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                "`concentration` parameter must be at least one-dimensional."
            )
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return _Dirichlet.apply(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return (
            F.xlogy(self.concentration - 1.0, value).sum(-1)
            + F.lgamma(self.concentration.sum(-1))
            - F.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        corner = F.one_hot(mode[flat].argmax(dim=-1), above.shape[-1])
        mode[flat] = corner.to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        spread = self.concentration * (total - self.concentration)
        return spread / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        total, count = self.concentration.sum(-1), self.concentration.size(-1)
        return (
            F.lgamma(self.concentration).sum(-1)
            - F.lgamma(total)
            - (count - total) * F.digamma(total)
            - ((self.concentration - 1.0) * F.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - F.lgamma(x.sum(-1))
