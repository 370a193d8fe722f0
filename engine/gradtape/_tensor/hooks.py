"""The hooks of a tensor: on its gradient, on its ``.grad``, and the keeping of it."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._common import messages as _errors
from .._common.handles import RemovableHandle, new_registry, register
from .._modes.transforms import refuse_inside

_identities = itertools.count(1)


class TensorHooks:
    """Registering hooks. They belong to the ``grad_fn`` the tensor has at the time.

    So a hook from before an in-place write sees the gradient of the old value.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _grad: Any
        _grad_fn: Any
        _nr: int
        _extra: Any
        grad_fn: Any
        requires_grad: Any

        def more(self) -> Any: ...

    @property
    def _cdata(self) -> int:
        """A number of the tensor's contents: swap_tensors() exchanges it, too."""
        extra = self.more()
        if not extra.identity:
            extra.identity = next(_identities)
        return int(extra.identity)

    @property
    def retains_grad(self) -> bool:
        """Whether ``.grad`` of this non-leaf will be filled."""
        extra = self._extra
        return self._grad_fn is not None and extra is not None and extra.retains

    def retain_grad(self) -> None:
        """Ask for ``.grad`` although this tensor is no leaf.

        Raises RuntimeError for a tensor that needs no gradient.

        >>> import gradtape as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad
        tensor([6., 6.])
        """
        refuse_inside("retain_grad()")
        if not self.requires_grad:
            raise RuntimeError(_errors.RETAIN_NO_GRAD)
        node = None if self._grad_fn is None else self.grad_fn
        if node is None:
            return
        self.more().retains = True
        node.more().retain[self._nr] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` when this tensor's gradient is known.

        What the hook returns, unless None, takes the gradient's place. Raises
        RuntimeError for a tensor that needs no gradient.

        >>> import gradtape as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        if not self.requires_grad:
            raise RuntimeError(_errors.HOOK_NO_GRAD)
        if self._backward_hooks is None:
            self._backward_hooks = new_registry()
        return register(self._backward_hooks, hook)

    def register_post_accumulate_grad_hook(
        self, hook: Callable[[Any], None]
    ) -> RemovableHandle:
        """Call ``hook(tensor)`` after this leaf's ``.grad`` took in a gradient.

        Raises RuntimeError for a tensor that is no leaf, or needs no gradient.

        >>> import gradtape as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
        """
        if not self.requires_grad:
            raise RuntimeError(_errors.HOOK_NO_GRAD)
        if self.grad_fn is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        extra = self.more()
        if extra.post_accumulate is None:
            extra.post_accumulate = new_registry()
        return register(extra.post_accumulate, hook)

    @property
    def _backward_hooks(self) -> Any:
        """The table of the hooks on this tensor's gradient; None without any.

        A view whose base was written since shows the table of its old ``grad_fn`` until
        someone asks for the new one, as in PyTorch.
        """
        node = self._grad_fn
        if node is None:
            return None if self._extra is None else self._extra.hooks
        more = node.extra
        return None if more is None else more.tensor_hooks.get(self._nr)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        node = self.grad_fn
        if node is None:
            self.more().hooks = hooks
        elif hooks is None:
            node.more().tensor_hooks.pop(self._nr, None)
        else:
            node.more().tensor_hooks[self._nr] = hooks

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        """The table of the hooks that run after ``.grad`` was filled."""
        return None if self._extra is None else self._extra.post_accumulate

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, hooks: Any) -> None:
        self.more().post_accumulate = hooks


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of every hook on a tensor's gradient that saving the tensor would lose."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is "
                "expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
