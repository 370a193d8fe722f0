"""set_multithreading_enabled: a switch that PyTorch's programs set, and may ask for."""

from __future__ import annotations

from .._modes.grad_mode import _Decorator, mode


class set_multithreading_enabled(_Decorator):
    """Allow or forbid backward passes to use several threads; a context or a call.

    gradtape's passes run in the thread that starts them, so it changes no result. The
    order of a pass can be asked for only where one thread is certain.

    >>> import gradtape as torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch._C._is_multithreading_enabled()
    False
    >>> torch._C._is_multithreading_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.previous = is_multithreading_enabled()
        switch_multithreading(mode)

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        switch_multithreading(self.previous)


def is_multithreading_enabled() -> bool:
    """Tell whether backward passes of this thread may use several threads.

    >>> import gradtape as torch
    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return mode.now.multithreading


def switch_multithreading(enabled: bool) -> None:
    """Set the switch for this thread."""
    mode.now.multithreading = enabled
