"""Transforms over more dimensions, and into other shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from ._transform import FEW, Transform
from .utils import sum_rightmost


class IndependentTransform(Transform):
    """A transform whose rightmost batch dimensions count as dimensions of the event.

    >>> import gradtape as torch
    >>> exp = torch.distributions.ExpTransform()
    >>> rows = torch.distributions.IndependentTransform(exp, 1)
    >>> x = torch.ones(2, 3)
    >>> rows.log_abs_det_jacobian(x, rows(x))
    tensor([3., 3.])
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self,
        base_transform: Transform,
        reinterpreted_batch_ndims: int,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        inner = self.base_transform.domain
        return constraints.independent(inner, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        inner = self.base_transform.codomain
        return constraints.independent(inner, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:  # type: ignore[override]
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self._through(x, self.domain, self.base_transform)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._through(y, self.codomain, self.base_transform.inv)

    def _through(self, value: Tensor, where: Any, function: Callable[..., Any]) -> Any:
        if value.dim() < where.event_dim:
            raise ValueError(FEW)
        return function(value)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(found, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        inner = f"{self.base_transform!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__}({inner})"


class ReshapeTransform(Transform):
    """Give the rightmost dimensions another shape.

    >>> import gradtape as torch
    >>> flat = torch.distributions.ReshapeTransform((2, 3), (6,))
    >>> flat(torch.ones(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        batch = x.shape[: x.dim() - len(self.in_shape)]
        return x.reshape(batch + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        batch = y.shape[: y.dim() - len(self.out_shape)]
        return y.reshape(batch + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _swapped(shape, self.out_shape, self.in_shape)


def _swapped(shape: Any, old: Size, new: Size) -> Any:
    """Return a shape whose rightmost part ``old`` became ``new``."""
    if len(shape) < len(old):
        raise ValueError(FEW)
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new
