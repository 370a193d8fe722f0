"""Variable: what tensors with history were called before they were all tensors."""

from __future__ import annotations

import warnings
from typing import Any

from .._common.messages import NEW_LEAF_DTYPE
from .._graph.node import Node
from .._tensor.tensor import Tensor, wrap_alias
from ..ops.creation.factories import empty
from ._engine import execution_engine

_NO_GRAD_FN = (
    "_grad_fn argument to legacy Variable constructor is no longer supported.  "
    "Instead, please invoke your _grad_fn to produce a variable with it as the "
    "_grad_fn."
)


class VariableMeta(type):
    """Makes every tensor an instance of Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Make a leaf over a tensor's memory; an old name for what a tensor is today.

    Raises TypeError where ``data`` is no tensor, RuntimeError where its dtype has no
    gradient.

    >>> import gradtape as torch
    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> x, isinstance(x, torch.autograd.Variable)
    (tensor([1., 1.], requires_grad=True), True)
    """

    _execution_engine = execution_engine

    def __new__(
        cls,
        data: Any = None,
        requires_grad: bool = False,
        volatile: bool | None = False,
        _grad_fn: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return a plain tensor: nothing is a Variable by type."""
        if volatile:
            if requires_grad:
                raise ValueError(
                    "Variable can't be volatile and require_grad at the same time!"
                )
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():"
                "` instead.",
                UserWarning,
                stacklevel=2,
            )
        if _grad_fn is not None:
            if isinstance(_grad_fn, Node):
                raise RuntimeError(_NO_GRAD_FN)
            raise TypeError(
                "_grad_fn has to be a Function object or None, but got "
                f"{type(_grad_fn).__name__}"
            )
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}"
            )
        found = wrap_alias(data._data, data)
        if requires_grad:
            if not (data.is_floating_point() or data.is_complex()):
                raise RuntimeError(NEW_LEAF_DTYPE)
            found.requires_grad = True
        if name is not None:
            found.name = name
        return found
