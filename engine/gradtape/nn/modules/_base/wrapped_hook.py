"""Hooks that want their module first, and hold it weakly."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any


class WrappedHook:
    """A hook that may want its module first, which it holds weakly.

    It goes with its module when that is copied or pickled. Raises RuntimeError when it
    is called, or revived, after its module is gone.
    """

    __module__ = "gradtape.nn.modules.module"
    __qualname__ = "_WrappedHook"  # what files call it

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError(
                    "You are trying to revive the hook of a dead Module!"
                )
            self.module = weakref.ref(state["module"])
