"""`biject_to` and `transform_to`: from unconstrained numbers to a constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Make transforms onto constraints; new kinds are added with `register`.

    >>> from gradtape.distributions import constraints, transform_to
    >>> transform_to(constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register a factory for a kind of constraint, or decorate it.

        Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, "
                f"but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """Return a transform onto the constraint.

        Raises NotImplementedError for a kind that nobody registered.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            name = type(constraint).__name__
            raise NotImplementedError(f"Cannot transform {name} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


# ---- onto single numbers ----


def _onto_real(constraint: Any) -> Transform:
    return transforms.identity_transform


def _beyond(bound: Any, direction: int) -> Transform:
    parts = [transforms.ExpTransform(), transforms.AffineTransform(bound, direction)]
    return transforms.ComposeTransform(parts)


def _onto_greater_than(constraint: Any) -> Transform:
    return _beyond(constraint.lower_bound, 1)


def _onto_less_than(constraint: Any) -> Transform:
    return _beyond(constraint.upper_bound, -1)


def _onto_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(b, int | float) for b in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    scaling = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), scaling])


# ---- onto what is made of other constraints ----


def _onto_independent(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        count = constraint.reinterpreted_batch_ndims
        return transforms.IndependentTransform(base, count)

    return factory


def _onto_cat(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    return factory


def _onto_stack(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)

    return factory


for _registry in (biject_to, transform_to):
    for _kind, _factory in (
        (constraints.real, _onto_real),
        (constraints.greater_than, _onto_greater_than),
        (constraints.greater_than_eq, _onto_greater_than),
        (constraints.less_than, _onto_less_than),
        (constraints.interval, _onto_interval),
        (constraints.half_open_interval, _onto_interval),
        (constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform()),
        (constraints.independent, _onto_independent(_registry)),
        (constraints.cat, _onto_cat(_registry)),
        (constraints.stack, _onto_stack(_registry)),
    ):
        _registry.register(_kind, _factory)

biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
for _kind, _factory in (
    (constraints.simplex, lambda _: transforms.SoftmaxTransform()),
    (constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform()),
    (constraints.positive_definite, lambda _: transforms.PositiveDefiniteTransform()),
    (
        constraints.positive_semidefinite,
        lambda _: transforms.PositiveDefiniteTransform(),
    ),
):
    transform_to.register(_kind, _factory)
