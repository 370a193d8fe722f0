"""Layers that are one function of ``nn.functional`` with options of their own."""

from __future__ import annotations

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

    def _call(self, *inputs: Any, **named: Any) -> Any:
        options = [getattr(self, name) for name in self._options]
        return getattr(F, self._function)(*inputs, *options, **named)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function to the input."""
        return self._call(input)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
