"""The switch that makes new sparse tensors look at their coordinates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_checking: ContextVar[bool] = ContextVar("checking", default=False)
"""Whether coordinates outside of the size are refused where nothing else is said."""


class check_sparse_tensor_invariants:
    """Refuse coordinates outside of the size, within ``with`` or a decorated function.

    Raises RuntimeError where one instance is entered twice.

    >>> import gradtape as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Tell whether new sparse tensors are checked."""
        return _checking.get()

    @staticmethod
    def enable() -> None:
        """Check sparse tensors from now on."""
        _checking.set(True)

    @staticmethod
    def disable() -> None:
        """Check sparse tensors no longer."""
        _checking.set(False)

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different "
                "context manager instance for context nesting."
            )
        self.saved_state = _checking.get()
        _checking.set(self.state)

    def __exit__(self, *_: object) -> None:
        assert self.saved_state is not None
        _checking.set(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the switch set while it runs."""

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
