"""The distribution of correlations of Lewandowski, Kurowicka and Joe."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._dtypes import finfo
from .._modes.grad_mode import no_grad
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import SCALAR, Distribution
from .utils import F, broadcast_all


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of ``dim`` variables.

    ``concentration`` 1 makes all correlation matrices equally likely; larger ones are
    closer to the identity. Samples follow the onion method of Lewandowski, Kurowicka
    and Joe, "Generating random correlation matrices" (2009). Raises ValueError where
    ``dim`` is below 2.

    >>> import gradtape as torch
    >>> torch.distributions.LKJCholesky(3, 0.5).log_prob(torch.eye(3))
    tensor(-2.5310)
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expanded = ("concentration", "_beta")
    _kept = ("dim",)

    def __init__(
        self,
        dim: int,
        concentration: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        if dim < 2:
            raise ValueError(
                "Expected dim to be an integer greater than or equal to 2. "
                f"Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        kind = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        steps = F.arange(dim - 1, **kind)
        steps = F.cat([steps.new_zeros((1,)), steps])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(steps + 0.5, marginal.unsqueeze(-1) - 0.5 * steps)
        batch, event = self.concentration.size(), Size((dim, dim))
        super().__init__(batch, event, validate_args=validate_args)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = F.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
            sphere = normal / normal.norm(dim=-1, keepdim=True)
            sphere[..., 0, :].fill_(0.0)  # the first row is 0 / 0
            w = F.sqrt(y) * sphere
            rest = F.clamp(1 - F.sum(w**2, dim=-1), min=finfo(w.dtype).tiny).sqrt()
            return w + F.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = F.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        weight = F.sum(powers * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        norm = (
            0.5 * less * math.log(math.pi)
            + F.mvlgamma(alpha - 0.5, less)
            - F.lgamma(alpha) * less
        )
        return weight - norm
