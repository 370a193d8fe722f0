"""LRScheduler: when a learning rate changes, and what remembers it."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

from ..._tensor.tensor import Tensor
from .._helpers import scalar_of
from ..optimizer import Group, Optimizer

Rate: TypeAlias = Any
"""A learning rate: a number, or a tensor of one element."""

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the scheduler. "
    "During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you "
    "are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
STEP_REPLACED = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    "`lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
STEP_NOT_CALLED = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
    "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
    "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
    "the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
NO_INITIAL_RATE = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler "
    "with last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume "
    "training from a checkpoint but haven't properly loaded the optimizer state\n2. "
    "You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


class LRScheduler:
    """Base of the schedulers: sets ``group["lr"]`` of an optimizer's groups.

    Call :meth:`step` after the optimizer's. A subclass writes :meth:`get_lr`, which
    returns the next rate of each group. ``last_epoch`` resumes a schedule; the groups
    must then know their ``initial_lr``.

    >>> import gradtape as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    optimizer: Optimizer
    base_lrs: list[Rate]
    last_epoch: int
    _last_lr: list[Rate]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            for number, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(NO_INITIAL_RATE.format(number))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return _without(self.__dict__, "optimizer")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """Return the rates that the last step set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at ``last_epoch``."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the next rates, or those of ``epoch`` (deprecated)."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(STEP_REPLACED, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(STEP_NOT_CALLED, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed: Callable[[], list[Rate]] | None
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed is None else closed()
        self._set(rates)

    def _set(self, rates: Sequence[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            update_group(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[Rate]:
        """Return the rates that the groups have now."""
        return values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Rate]:
        """Return the rates that the groups have now, times ``factor``."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _within_step(self) -> AbstractContextManager[None]:
        return _enable_get_lr_call(self)


class _LRScheduler(LRScheduler):  # pyright: ignore[reportUnusedClass]
    """The older name of :class:`LRScheduler`."""


def warn_outside_step(scheduler: LRScheduler) -> None:
    """Warn who calls ``get_lr`` and wants ``get_last_lr``."""
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use "
            "`get_last_lr()`.",
            UserWarning,
            stacklevel=3,
        )


@contextmanager
def _enable_get_lr_call(scheduler: LRScheduler) -> Generator[None]:
    """Let a scheduler call its own ``get_lr`` without a warning."""
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


def _note_steps_of(optimizer: Optimizer) -> None:
    """Let the optimizer remember whether it ever stepped."""
    step: Any = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    plain = step.__func__
    # The optimizer holds the wrapper, so the wrapper must not hold the optimizer.
    reference = weakref.ref(optimizer)

    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return plain(owner, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]


def _without(state: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key not in names}


# ---- groups and their options -----------------------------------------------------


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """Return a tensor's copy; other values as they are."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """Return one option of all groups, tensors copied."""
    return [copied(group[key]) for group in optimizer.param_groups]


def update_group(group: Group, key: str, value: Any) -> None:
    """Set an option; a tensor is filled, since others may hold it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(scalar_of(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return one value for each group, from one for all or a list of them."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [copied(value) for _ in range(groups)]
    if len(value) != groups:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {groups}."  # pyright: ignore[reportUnknownArgumentType]
        )
    return [copied(each) for each in value]  # pyright: ignore[reportUnknownVariableType]


def state_of_function(function: Any) -> dict[str, Any] | None:
    """Return what a callable object remembers; a function remembers nothing."""
    if isinstance(function, type(state_of_function)):
        return None
    return function.__dict__.copy()
