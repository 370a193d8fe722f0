"""What a tensor's ``.grad`` is and may be."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

from .._common import messages as _errors
from .._common.site import user_stacklevel
from .extra import TensorExtra, check_grad, grad_dtype_of, set_grad_dtype

if TYPE_CHECKING:
    from .._graph.node import Node
    from .tensor import Tensor


class TensorGrad:
    """The part of Tensor that is about its gradient."""

    __slots__ = ()

    if TYPE_CHECKING:
        _extra: TensorExtra | None
        _grad: Tensor | None
        _grad_fn: Node | None

        @property
        def is_leaf(self) -> bool: ...

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() left here; None before.

        Warns on a tensor that never gets one: not a leaf, no ``retain_grad()``.
        """
        extra = self._extra
        if (
            self._grad is None
            and self._grad_fn is not None
            and not (extra is not None and extra.retains)
        ):
            level = user_stacklevel()
            warnings.warn(_errors.NON_LEAF_GRAD, UserWarning, stacklevel=level)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_grad(cast("Tensor", self), value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of ``.grad``: this leaf's own unless chosen; None allows any.

        Raises RuntimeError for a tensor that is no leaf.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return grad_dtype_of(cast("Tensor", self))

    @grad_dtype.setter
    def grad_dtype(self, wanted: Any) -> None:
        set_grad_dtype(cast("Tensor", self), wanted)
