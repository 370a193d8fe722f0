"""Per-thread switches: gradient recording and the module scope that ops inherit."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from .._common.messages import not_bool
from .._common.site import caller_site
from .._graph.observe import GradModeSwitched, notify, observers
from .._graph.scope import Scope
from .thread_state import Switches as Switches
from .thread_state import recorders as recorders
from .thread_state import threads as threads
from .thread_state import threads_lock as threads_lock

F = TypeVar("F", bound=Callable[..., Any])


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
        now = self.now
        now.grad = enabled and not now.inference

    @property
    def scope(self) -> Scope | None:
        """The module call that operations belong to."""
        return self.now.scope

    @scope.setter
    def scope(self, scope: Scope | None) -> None:
        self.now.scope = scope


mode = Mode()

inferring: list[Switches] = []
"""The threads in inference mode. Whoever makes a tensor tests it for emptiness."""


def is_grad_enabled() -> bool:
    """Tell whether operations on this thread are recorded.

    >>> import gradtape as torch
    >>> torch.is_grad_enabled()
    True
    """
    now = mode.now
    return now.asked if now.inference else now.grad


def switch_grad_mode(enabled: bool) -> None:
    """Set gradient recording for this thread and tell the observers."""
    now = mode.now
    if now.inference:
        now.asked = enabled
    else:
        now.grad = enabled
    if observers:
        notify(GradModeSwitched(enabled, caller_site()))


_DECORATED_CLASS = (
    "Decorating classes is deprecated and will be disabled in future versions. You "
    "should only decorate functions or methods. To preserve the current behavior of "
    "class decoration, you can directly decorate the `__init__` method and nothing "
    "else."
)


class _Decorator:
    """A context manager that also decorates functions and generator functions."""

    function: Callable[..., Any] | None = None  # the decorated one, while it runs

    def clone(self) -> _Decorator:
        return type(self)()

    def around(self, func: Callable[..., Any]) -> _Decorator:
        """Return a context manager for one call of a decorated function."""
        found = self.clone()
        found.function = func
        return found

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, func: F) -> F:
        if inspect.isclass(func):
            warnings.warn(_DECORATED_CLASS, FutureWarning, stacklevel=2)
        if inspect.isgeneratorfunction(func):
            return cast(F, _wrap_generator(functools.partial(self.around, func), func))

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.around(func):
                return func(*args, **kwargs)

        return cast(F, wrapper)


def _wrap_generator(
    around: Callable[[], _Decorator], func: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    """Hold the mode only while the generator runs, not while it is suspended."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = func(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with around():
                    value = step()
            except StopIteration as stop:
                return stop.value
            try:
                received = yield value
                step = functools.partial(generator.send, received)
            except GeneratorExit:
                with around():
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
        self.previous = is_grad_enabled()
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

    __module__ = "gradtape.autograd.grad_mode"

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

    __module__ = "gradtape.autograd.grad_mode"

    enabled = True


class set_grad_enabled(_Decorator):
    """Switch recording at once; used in ``with``, restore the old mode at its end.

    >>> import gradtape as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    __module__ = "gradtape.autograd.grad_mode"

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise not_bool(mode, "set_grad_enabled", "enabled")
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
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.enabled})"


def is_inference_mode_enabled() -> bool:
    """Tell whether this thread is in inference mode.

    >>> import gradtape as torch
    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """
    return mode.now.inference


class inference_mode(_Decorator):
    """Keep no history and count no writes for what is made inside.

    Tensors made inside can be read anywhere, but neither written nor saved by a
    recorded op outside. ``inference_mode(False)`` is the ordinary mode within such a
    block.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    __module__ = "gradtape.autograd.grad_mode"

    def __new__(cls, mode: Any = True) -> Any:
        """Decorate ``mode`` where it is a function: ``@inference_mode``."""
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        now = mode.now
        self.previous = now.inference, now.grad, now.asked, now.forward
        self._switch(self.mode, not self.mode, False, not self.mode)

    def __exit__(self, *exc: object) -> None:
        self._switch(*self.previous)

    def _switch(self, inference: bool, grad: bool, asked: bool, forward: bool) -> None:
        now = mode.now
        now.inference, now.grad, now.asked = inference, grad, asked
        now.forward = forward
        if inference and now not in inferring:
            inferring.append(now)
        elif not inference and now in inferring:
            inferring.remove(now)
        now.settle()
        if observers:
            notify(GradModeSwitched(grad, caller_site()))
