"""Transforms of values, with their inverses and log-determinants."""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from .. import linalg
from .._dtypes import finfo
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import (
    F,
    broadcast_all,
    lazy_property,
    sum_rightmost,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

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


def clipped_sigmoid(x: Tensor) -> Tensor:
    """Return the sigmoid, kept inside (0, 1)."""
    limits = finfo(x.dtype)
    return F.clamp(F.sigmoid(x), min=limits.tiny, max=1.0 - limits.eps)


class ExpTransform(Transform):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:  # type: ignore[override]
        return self.exponent.sign()

    def _equals(self, other: object) -> bool:
        return (
            isinstance(other, PowerTransform)
            and self.exponent.eq(other.exponent).all().item() is True
        )

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return F.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return F.broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), kept a rounding error away from 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x)."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return F.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2), without its cancellation for large x.
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; the inverse gives the positive one of two."""

    domain = constraints.real
    codomain = constraints.positive
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x, over events of ``event_dim`` dimensions."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        event_dim: int = 0,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        if self.event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        return self.domain

    def _equals(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal(self.loc, other.loc)
            and _equal(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:  # type: ignore[override]
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            result = F.abs(self.scale).log()
        else:
            result = F.full_like(x, math.log(abs(self.scale)))
        shape = x.shape
        if self.event_dim:
            result = result.view((*result.size()[: -self.event_dim], -1)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return F.broadcast_shapes(shape, _shape(self.loc), _shape(self.scale))

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


def _shape(value: Tensor | float) -> Any:
    return value.shape if isinstance(value, Tensor) else ()


def _equal(a: Tensor | float, b: Tensor | float) -> bool:
    same: Any = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlations.

    The tanh of each number is a partial correlation; a row is completed to length 1
    (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices", 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(F.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - r**2).sqrt().cumprod(-1)
        r = r + F.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - F.cumsum(y * y, dim=-1)
        rest = F.pad(rest[..., :-1], [1, 0], value=1)
        below, left = tril_matrix_to_vec(y, -1), tril_matrix_to_vec(rest, -1)
        t = below / left.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(
        self, x: Tensor, y: Tensor, intermediates: Any = None
    ) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        sticks = 0.5 * rest.log().sum(-1)
        tanhs = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return sticks + tanhs

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(FEW)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(FEW)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _vector(shape: Any) -> Any:
    if len(shape) < 1:
        raise ValueError(FEW)
    return shape


class SoftmaxTransform(Transform):
    """y = exp(x) over its sum; not bijective, as a constant added to x is lost."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _vector(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _vector(shape)


class StickBreakingTransform(Transform):
    """Vectors to the simplex of one more dimension, breaking a stick again and again.

    The offsets put 0 at the simplex's centre.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        z = clipped_sigmoid(x - self._offset(x).log())
        rest = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        rest = F.clamp(1 - head.cumsum(-1), min=finfo(y.dtype).tiny)
        return head.log() - rest.log() + self._offset(head).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def _offset(self, x: Tensor) -> Tensor:
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return (*_vector(shape)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*_vector(shape)[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones of positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones, by way of their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


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


__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
