"""Layers that are one function of ``nn.functional`` with options of their own."""

from __future__ import annotations

from functools import update_wrapper
from types import FunctionType
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module


class FunctionLayer(Module):
    """Calls a function of ``nn.functional`` with some of the layer's attributes.

    It is looked up at each call: a profiler puts a twin in its place.
    """

    _function: str
    _options: tuple[str, ...] = ()
    """The attributes that the function takes behind the inputs, in order."""
    _shown: tuple[str, ...] = ()
    """The attributes that PyTorch prints."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_function" in vars(cls) and "forward" not in vars(cls):
            cls.forward = _named_after(cls, cls.forward)

    def _call(self, *inputs: Any, **named: Any) -> Any:
        options = [getattr(self, name) for name in self._options]
        return getattr(F, self._function)(*inputs, *options, **named)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)


class UnaryLayer(FunctionLayer):
    """Calls a function of one input."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to the input."""
        return self._call(input)


def _named_after(cls: type, inherited: Any) -> Any:
    """Copy a method for a subclass: errors about its arguments name the layer."""
    facts = (inherited.__defaults__, inherited.__closure__)
    own = FunctionType(inherited.__code__, inherited.__globals__, "forward", *facts)
    update_wrapper(own, inherited)
    del vars(own)["__wrapped__"]
    own.__qualname__ = f"{cls.__qualname__}.forward"
    return own
