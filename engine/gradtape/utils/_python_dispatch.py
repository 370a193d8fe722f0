"""``TorchDispatchMode``: what runs below autograd, op by op.

>>> import gradtape as torch
>>> from gradtape.utils._python_dispatch import TorchDispatchMode
>>> class Log(TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> x = torch.ones(2, 2, requires_grad=True)
>>> with Log():
...     y = (x @ x).sum()
aten.mm.default
aten.sum.default
"""

from __future__ import annotations

from typing import Any

from .._modes.grad_mode import mode
from ..ops.tensor.subclasses import (
    is_traceable_wrapper_subclass as is_traceable_wrapper_subclass,
)
from ..overrides._overridable import arm


class TorchDispatchMode:
    """Stands before every op that runs in its ``with`` block, backward's too.

    It is given the op under PyTorch's name, below autograd: what it calls records
    nothing, and what it returns is what the program gets. Ops that it runs itself go to
    the modes around it. Derivatives come as the ops that they are written in, which are
    not always one op as in PyTorch.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        arm()
        now = mode.now
        now.dispatch += (self,)
        now.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        now = mode.now
        now.dispatch = now.dispatch[:-1]
        now.settle()


class BaseTorchDispatchMode(TorchDispatchMode):
    """Passes every op on."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:  # pyright: ignore[reportUnusedFunction]
    modes = mode.now.dispatch
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:  # pyright: ignore[reportUnusedFunction]
    return list(mode.now.dispatch)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return what a class without memory should answer for an op.

    That is the operand that was written, in place or as ``out=``; a view counts its
    writes with what it looks into; anything else is ``out`` itself.
    """
    if func.__name__.partition(".")[0].endswith("_"):
        return args[0]
    if "out" in kwargs:
        return kwargs["out"]
    if mode.now.asking is not None and mode.now.asking.view:
        for each in out if isinstance(out, list | tuple) else (out,):
            each._storage = args[0]._storage
    return out
