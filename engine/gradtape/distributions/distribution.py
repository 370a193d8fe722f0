"""`Distribution`: what every distribution has, and how they are declared."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Final, NoReturn

from .._common.site import user_stacklevel
from .._modes.grad_mode import no_grad
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .utils import F, broadcast_all, lazy_property

_CUSTOM_INIT = (
    "Subclass {} of {} that defines a custom __init__ method must also define a custom "
    ".expand() method."
)
_BAD_PARAMETER = (
    "Expected parameter {name} ({kind} of shape {shape}) of distribution {self!r} to "
    "satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
)
_BAD_VALUE = (
    "Expected value argument ({kind} of shape {shape}) to be within the support "
    "({constraint!r}) of the distribution {self!r}, but found invalid values:\n{value}"
)
_NO_ARG_CONSTRAINTS = (
    "{} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
    "initialize the distribution with `validate_args=False` to turn off validation."
)
_NO_SUPPORT = (
    "{} does not define `support` to enable sample validation. Please initialize the "
    "distribution with `validate_args=False` to turn off validation."
)


SCALAR: Final = Size()
"""The shape of a single number: no dimensions."""


def _undefined(self: Any) -> NoReturn:
    raise NotImplementedError


def _no_mode(self: Any) -> NoReturn:
    raise NotImplementedError(f"{self.__class__} does not implement mode")


class Distribution:
    """A probability distribution over tensors.

    Samples have the shape sample_shape + batch_shape + event_shape. A subclass names
    the constraints of its parameters in ``arg_constraints``, where its samples lie in
    ``support``, and in ``_expanded`` the attributes that `expand` widens: tensors whose
    shape begins with the batch's, and distributions over such a batch.

    >>> import gradtape as torch
    >>> normal = torch.distributions.Normal(torch.zeros(2, 3), 1.0)
    >>> normal.batch_shape, normal.sample((4,)).shape
    (torch.Size([2, 3]), torch.Size([4, 2, 3]))
    """

    has_rsample: ClassVar[Any] = False
    has_enumerate_support: ClassVar[Any] = False
    arg_constraints: ClassVar[Any] = property(_undefined)
    support: ClassVar[Any] = property(_undefined)

    _validate_args: bool = __debug__
    _expanded: ClassVar[tuple[str, ...]] = ()
    _kept: ClassVar[tuple[str, ...]] = ()
    """Attributes that `expand` hands on as they are."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions check their arguments unless told otherwise."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = SCALAR,
        event_shape: Any = SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _broadcast(
        self, validate_args: bool | None = None, **parameters: Tensor | float
    ) -> None:
        """Set parameters, broadcast to one shape, which is the batch's."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].size(), validate_args=validate_args)

    # ---- shapes ----

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample."""
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with a batch broadcast to a larger shape.

        Raises NotImplementedError where a subclass has an ``__init__`` of its own and
        says nothing about expansion.

        >>> import gradtape as torch
        >>> torch.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        torch.Size([2, 3])
        """
        if not any(vars(kind).get("_expanded") for kind in type(self).__mro__):
            raise NotImplementedError
        new, shape = self._start_expansion(batch_shape, _instance)
        return self._finish_expansion(new, shape)

    def _start_expansion(self, batch_shape: Any, _instance: Any) -> tuple[Any, Size]:
        """Return an instance that has the parameters, widened, and nothing else."""
        declared = next(
            kind for kind in type(self).__mro__ if "_expanded" in vars(kind)
        )
        new = self._get_checked_instance(declared, _instance)
        shape, kept = Size(batch_shape), len(self._batch_shape)
        for name in self._expanded:
            if name in self.__dict__:
                value = self.__dict__[name]
                whole = value.shape if isinstance(value, Tensor) else value.batch_shape
                new.__dict__[name] = value.expand(shape + whole[kept:])
        for name in self._kept:
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name]
        return new, shape

    def _finish_expansion(self, new: Any, shape: Size) -> Any:
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                _CUSTOM_INIT.format(type(self).__name__, cls.__name__)
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Any = SCALAR) -> Size:
        return Size(tuple(sample_shape) + self._batch_shape + self._event_shape)

    # ---- moments ----

    mean: Any = property(_undefined, doc="The mean.")
    mode: Any = property(_no_mode, doc="Where the density or probability is greatest.")
    variance: Any = property(_undefined, doc="The variance.")
    stddev: Any = property(
        lambda self: self.variance.sqrt(), doc="The standard deviation."
    )

    # ---- samples ----

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Draw samples that no gradient flows through."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Draw samples that are differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw ``n`` samples; the old form of ``sample((n,))``."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
        return self.sample(Size((n,)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return every possible sample, along a new first dimension."""
        raise NotImplementedError

    # ---- probabilities ----

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density or probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which samples lie with this probability."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return F.exp(self.entropy())

    # ---- checks ----

    def _validate_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warnings.warn(
                _NO_ARG_CONSTRAINTS.format(self.__class__),
                stacklevel=user_stacklevel(),
            )
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue  # cannot be checked on its own
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if name not in self.__dict__ and lazy:
                continue  # made from the parameters that are checked
            self._require(_BAD_PARAMETER, constraint, getattr(self, name), name)

    def _require(
        self, sentence: str, constraint: Any, value: Tensor, name: str = ""
    ) -> None:
        if not constraint.check(value).all():
            raise ValueError(
                sentence.format(
                    name=name,
                    kind=type(value).__name__,
                    shape=tuple(value.shape),
                    self=self,
                    constraint=constraint,
                    value=value,
                )
            )

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError where a value cannot be a sample, by shape or by support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event = value.size(), self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{shape} vs {event}."
            )
        expected = self._batch_shape + event
        for i, j in zip(reversed(shape), reversed(expected), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                _NO_SUPPORT.format(self.__class__), stacklevel=user_stacklevel()
            )
            return
        self._require(_BAD_VALUE, support, value)

    def _checked(self, value: Tensor) -> None:
        """Check a value, unless this distribution does not check."""
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        shown = {k: vars(self)[k] for k in self.arg_constraints if k in vars(self)}
        text = [f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in shown.items()]
        return f"{type(self).__name__}({', '.join(text)})"
