"""Transforms of the parts of a tensor, and by a distribution function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._tensor.tensor import Tensor
from . import constraints
from ._functions import F
from ._transform import Transform
from .distribution import Distribution
from .utils import sum_rightmost


class _Parts(Transform):
    """Transforms for the parts of a tensor along ``dim``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _check_dim(self, x: Tensor) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )

    def _check_size(self, x: Tensor, wanted: int, name: str, of: str = "x") -> None:
        self._check_dim(x)
        if x.size(self.dim) != wanted:
            raise AssertionError(
                f"{of}.size({self.dim}) = {x.size(self.dim)} must equal {name} {wanted}"
            )


class CatTransform(_Parts):
    """Apply transforms to stretches of ``lengths`` along a dimension.

    >>> import gradtape as torch
    >>> from gradtape.distributions import CatTransform, ExpTransform
    >>> from gradtape.distributions.transforms import identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(
    ...     torch.zeros(3)
    ... )
    tensor([1., 0., 0.])
    """

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms "
                f"({len(self.transforms)})"
            )

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of all stretches together."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat(
            [t.domain for t in self.transforms], self.dim, self.lengths
        )

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.cat(
            [t.codomain for t in self.transforms], self.dim, self.lengths
        )

    def _slices(self, value: Tensor, name: str) -> list[Tensor]:
        self._check_size(value, self.length, "length", name)
        ends = [sum(self.lengths[: i + 1]) for i in range(len(self.lengths))]
        return [
            value.narrow(self.dim, end - length, length)
            for end, length in zip(ends, self.lengths, strict=True)
        ]

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x, "x"), strict=True)
        return F.cat([t(part) for t, part in parts], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(y, "y"), strict=True)
        return F.cat([t.inv(part) for t, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found: list[Tensor] = []
        slices = self._slices(x, "x"), self._slices(y, "y")
        for t, x_part, y_part in zip(self.transforms, *slices, strict=True):
            one = t.log_abs_det_jacobian(x_part, y_part)
            found.append(sum_rightmost(one, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        if dim + self.event_dim < 0:
            return F.cat(found, dim=dim + self.event_dim)
        return sum(found[1:], found[0])


class StackTransform(_Parts):
    """Apply a transform of its own to each slice along a dimension.

    >>> import gradtape as torch
    >>> from gradtape.distributions import ExpTransform, StackTransform
    >>> StackTransform([ExpTransform(), ExpTransform().inv])(torch.tensor([0.0, 1.0]))
    tensor([1., 0.])
    """

    _arguments = ("transforms", "dim")

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _each(self, function: Callable[..., Tensor], *values: Tensor) -> Tensor:
        for name, value in zip("xy", values, strict=False):
            self._check_size(value, len(self.transforms), "len(transforms)", name)
        slices = [[v.select(self.dim, i) for v in values] for i in range(self._count)]
        found = [function(t, *s) for t, s in zip(self.transforms, slices, strict=True)]
        return F.stack(found, dim=self.dim)

    @property
    def _count(self) -> int:
        return len(self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        return self._each(lambda t, x: t(x), x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each(lambda t, y: t.inv(y), y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._each(lambda t, x, y: t.log_abs_det_jacobian(x, y), x, y)


class CumulativeDistributionTransform(Transform):
    """Map values to the probability of smaller ones under a distribution.

    >>> import gradtape as torch
    >>> from gradtape.distributions import CumulativeDistributionTransform, Uniform
    >>> CumulativeDistributionTransform(Uniform(0.0, 4.0))(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _arguments = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
