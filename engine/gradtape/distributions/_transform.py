"""`Transform`, and the transforms made of other transforms."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from .._tensor.tensor import Tensor
from . import constraints
from ._functions import F
from .utils import lazy_property, sum_rightmost

FEW = "Too few dimensions on input"


def _unknown(self: Any) -> NoReturn:
    raise NotImplementedError


class Transform:
    """A differentiable map with an inverse and the log-determinant of its Jacobian.

    ``cache_size=1`` keeps the last pair of values, so that inverting what was just
    computed costs nothing and is exact. A subclass defines ``_call``, ``_inverse``
    and ``log_abs_det_jacobian``, and in ``_arguments`` what it was made from.

    >>> import gradtape as torch
    >>> twice = torch.distributions.AffineTransform(0.0, 2.0)
    >>> twice(torch.tensor(3.0)), twice.inv(torch.tensor(6.0))
    (tensor(6.), tensor(3.))
    """

    bijective: ClassVar[Any] = False
    sign: ClassVar[Any] = property(_unknown)
    """1 where the map increases, -1 where it decreases."""
    domain: ClassVar[Any]
    codomain: ClassVar[Any]
    _arguments: ClassVar[tuple[str, ...]] = ()
    _same_if_same_kind: ClassVar[bool] = False

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # a weak reference is not picklable

    @property
    def event_dim(self) -> int:
        """How many dimensions of a value belong together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform; its own inverse is this one."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return this transform with or without a cache."""
        if self._cache_size == cache_size:
            return self
        given = [getattr(self, name) for name in self._arguments]
        if not given and type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(*given, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other or self._equals(other)

    def _equals(self, other: object) -> bool:
        return self._same_if_same_kind and isinstance(other, type(self))

    __hash__ = None  # type: ignore[assignment] - equal transforms may differ in cache

    def __call__(self, x: Tensor) -> Tensor:
        """Map values forward."""
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log |dy / dx| of each event."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of the results for values of a shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of the values that give results of a shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, on whose methods it calls."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:  # type: ignore[override]
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def _equals(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


def _with_events(constraint: Any, event_dim: int) -> Any:
    """Widen a constraint to events of this many dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Transforms one after the other.

    >>> from gradtape.distributions import ComposeTransform, ExpTransform
    >>> ComposeTransform([ExpTransform(), ExpTransform().inv])
    ComposeTransform(
        ExpTransform(),
        _InverseTransform(ExpTransform())
    )
    """

    _arguments = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def _equals(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _with_events(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _with_events(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        found = None if self._inv is None else self._inv()
        if found is None:
            found = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, found._inv = weakref.ref(found), weakref.ref(self)
        return found

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return F.zeros_like(x)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        terms: list[Tensor] = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, steps, steps[1:], strict=False):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])
