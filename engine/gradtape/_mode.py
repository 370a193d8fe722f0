"""Per-thread switches: gradient recording and the module scope that ops inherit."""

from __future__ import annotations

import contextvars
import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ._observe import GradModeSwitched, notify, observers
from ._site import caller_site

if TYPE_CHECKING:
    from ._scope import Scope

F = TypeVar("F", bound=Callable[..., Any])


class Switches:
    """What one thread has switched on, and how it runs kernels.

    ``special`` says that something rare is on; the hot path looks at nothing else.
    Whoever changes one of the rare switches calls :meth:`settle`.
    """

    __slots__ = (
        "duals",
        "grad",
        "inference",
        "packing",
        "profile",
        "run",
        "scope",
        "special",
    )

    def __init__(self) -> None:
        self.grad = True
        self.scope: Scope | None = None
        self.special = False
        self.inference = False  # inference_mode
        self.packing: list[Any] = []  # saved_tensors_hooks, outermost first
        self.duals: Any = None  # the level of forward-mode differentiation
        self.profile: Any = None  # who wants to know when ops begin and end
        # Kernels run in a context of their own where NumPy's floating-point warnings
        # are off, as in PyTorch. The user's NumPy settings stay untouched, and it
        # costs 0.02 µs a call; np.errstate costs 0.8.
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run
        """Call a kernel quietly. Kernels must not call back into user code."""

    def settle(self) -> None:
        """Work out anew whether anything rare is on."""
        self.special = bool(
            self.inference or self.packing or self.duals or self.profile
        )


class Mode(threading.local):
    """The switches of the current thread; each thread starts with gradients on.

    The hot path takes ``now`` once, because each look at a thread-local costs 0.03 µs.
    """

    now: Switches

    def __init__(self) -> None:
        self.now = Switches()

    @property
    def run(self) -> Callable[..., Any]:
        """Call a kernel quietly; see :class:`Switches`."""
        return self.now.run

    @property
    def grad(self) -> bool:
        """Whether operations are recorded."""
        return self.now.grad

    @grad.setter
    def grad(self, enabled: bool) -> None:
        self.now.grad = enabled

    @property
    def scope(self) -> Scope | None:
        """The module call that operations belong to."""
        return self.now.scope

    @scope.setter
    def scope(self, scope: Scope | None) -> None:
        self.now.scope = scope


mode = Mode()


def is_grad_enabled() -> bool:
    """Tell whether operations on this thread are recorded.

    >>> import gradtape as torch
    >>> torch.is_grad_enabled()
    True
    """
    return mode.grad


def switch_grad_mode(enabled: bool) -> None:
    """Set gradient recording for this thread and tell the observers."""
    mode.grad = enabled
    if observers:
        notify(GradModeSwitched(enabled, caller_site()))


class _Decorator:
    """A context manager that also decorates functions and generator functions."""

    def clone(self) -> _Decorator:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, func: F) -> F:
        if inspect.isgeneratorfunction(func):
            return cast(F, _wrap_generator(self.clone, func))

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return cast(F, wrapper)


def _wrap_generator(
    clone: Callable[[], _Decorator], func: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    """Hold the mode only while the generator runs, not while it is suspended."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = func(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with clone():
                    value = step()
            except StopIteration as stop:
                return stop.value
            try:
                received = yield value
                step = functools.partial(generator.send, received)
            except GeneratorExit:
                with clone():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)

    return wrapper


class _GradMode(_Decorator):
    """Shared enter and exit of no_grad and enable_grad."""

    enabled: bool

    def __new__(cls, func: Any = None) -> Any:
        """Decorate ``func`` when it is given, as PyTorch allows ``@no_grad``."""
        self = super().__new__(cls)
        return self if func is None else self(func)

    def __enter__(self) -> None:
        self.previous = mode.grad
        switch_grad_mode(self.enabled)

    def __exit__(self, *exc: object) -> None:
        switch_grad_mode(self.previous)


class no_grad(_GradMode):
    """Stop recording inside the block or the decorated function.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False


class enable_grad(_GradMode):
    """Record inside the block even where an outer block switched recording off.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    enabled = True


class set_grad_enabled(_Decorator):
    """Switch recording at once; used in ``with``, restore the old mode at its end.

    >>> import gradtape as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.previous = is_grad_enabled()
        self.enabled = mode
        switch_grad_mode(mode)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.enabled)

    def __call__(self, func: F) -> F:
        switch_grad_mode(self.previous)
        return super().__call__(func)

    def __enter__(self) -> None:
        switch_grad_mode(self.enabled)

    def __exit__(self, *exc: object) -> None:
        switch_grad_mode(self.previous)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.enabled})"
