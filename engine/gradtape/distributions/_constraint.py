"""Constraint: a region that values must lie in, and constraints over other ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from ._functions import F


class Constraint:
    """A region in which values are valid.

    >>> import gradtape as torch
    >>> torch.distributions.constraints.positive.check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    is_discrete: ClassVar[Any] = False
    event_dim: ClassVar[Any] = 0
    _bounds: ClassVar[tuple[str, ...]] = ()

    def check(self, value: Tensor) -> Tensor:
        """Return for each event whether it satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = [f"{name}={getattr(self, name)}" for name in self._bounds]
        return f"{type(self).__name__[1:]}({', '.join(bounds)})"


# ---- constraints that other values decide ----


class _Dependent(Constraint):
    """A region that depends on values of a distribution; nothing can be checked."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """Return the constraint with more said about it."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Say whether a constraint depends on values of a distribution."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a dependent constraint while it is asked of the class.

    >>> from gradtape.distributions import Uniform, constraints
    >>> constraints.is_dependent(Uniform.support), Uniform(1.0, 2.0).support
    (True, Interval(lower_bound=1.0, upper_bound=2.0))
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:  # type: ignore[override]
        """Decorate: ``@dependent_property(is_discrete=False, event_dim=0)``."""
        return _DependentProperty(
            fn, is_discrete=self._is_discrete, event_dim=self._event_dim
        )


# ---- constraints over other constraints ----


def _all_right(result: Tensor, kept: int) -> Tensor:
    """Ask whether all hold, over all dimensions but the first ``kept``."""
    return result.reshape((*result.shape[:kept], -1)).all(-1)


class _OverAnother(Constraint):
    """A constraint whose kind is that of the one it wraps."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete


class _IndependentConstraint(_OverAnother):
    """A constraint that must hold over some batch dimensions at once."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(base_constraint)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        return _all_right(result, kept)

    def __repr__(self) -> str:
        inner = f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"
        return f"{type(self).__name__[1:]}({inner})"


class MixtureSameFamilyConstraint(_OverAnother):
    """The support of a mixture: that of its components, asked for each of them."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return for each event whether it satisfies the components' constraint."""
        batched = value.unsqueeze(-1 - self.event_dim)
        result = self.base_constraint.check(batched)
        if value.dim() < self.event_dim:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        return _all_right(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


# ---- several constraints along one dimension ----


class _Several(Constraint):
    """Constraints for the parts of a tensor along ``dim``."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)


class _Cat(_Several):
    def __init__(
        self,
        cseq: Sequence[Constraint],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        checks: list[Tensor] = []
        start = 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return F.cat(checks, self.dim)


class _Stack(_Several):
    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        checks = [c.check(p) for p, c in zip(parts, self.cseq, strict=True)]
        return F.stack(checks, self.dim)


# ---- the public names ----

cat = _Cat
dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
stack = _Stack
