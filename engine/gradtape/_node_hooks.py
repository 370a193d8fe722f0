"""Calling the user's hooks around a node. Hooks see tensors, whatever the pass uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _errors
from ._define import tensor_ops
from ._dtypes import DTYPE_OF
from ._node import AccumulateGrad, Node
from ._observe import HookRan, notify, observers
from ._tensor import Tensor, wrap


def run_pre_hooks(F: Any, node: Node, grad: Any) -> Any:
    """Run tensor hooks, then node pre-hooks, then fill retained gradients."""
    extra = node.extra
    assert extra is not None
    slots = list(grad) if isinstance(grad, list) else [grad]
    for number, hooks in extra.tensor_hooks.items():
        slots[number] = _through(F, node, hooks, slots[number])
    for hook in list(extra.pre_hooks.values()):
        returned = _call(hook, node, _as_tensors(F, slots))
        if returned is not None:
            slots = _as_grads(F, returned)
    for number, reference in extra.retain.items():
        tensor = reference()
        if tensor is not None and slots[number] is not None:
            _retain(F, tensor, slots[number])
    return slots if isinstance(grad, list) else slots[0]


def run_post_hooks(
    F: Any,
    node: Node,
    outgoing: Sequence[Any],
    grad: Any,
) -> Sequence[Any]:
    """Run ``hook(grad_inputs, grad_outputs)``; what it returns replaces grad_inputs."""
    extra = node.extra
    assert extra is not None
    given = grad if isinstance(grad, list) else [grad]
    outputs = _as_tensors(F, given)
    for hook in list(extra.post_hooks.values()):
        returned = _call(hook, node, _as_tensors(F, outgoing), outputs)
        if returned is not None:
            outgoing = _as_grads(F, returned)
    return outgoing


def run_leaf_hooks(F: Any, leaf: AccumulateGrad, grad: Any) -> Any:
    """Run a leaf's tensor hooks, then the pre-hooks of its accumulate node."""
    tensor_extra = leaf.variable._extra
    if tensor_extra is not None and tensor_extra.hooks:
        grad = _through(F, leaf, tensor_extra.hooks, grad)
    if leaf.extra is not None:
        for hook in list(leaf.extra.pre_hooks.values()):
            returned = _call(hook, leaf, (_as_tensor(F, grad),))
            if returned is not None:
                grad = _as_grads(F, returned)[0]
    return grad


def run_post_accumulate_hooks(variable: Tensor) -> None:
    """Run the hooks that want the leaf once its ``.grad`` is up to date."""
    extra = variable._extra
    if extra is not None and extra.post_accumulate:
        for hook in list(extra.post_accumulate.values()):
            hook(variable)


def _through(F: Any, node: Node, hooks: dict[int, Any], grad: Any) -> Any:
    if grad is None:
        return None
    for hook in list(hooks.values()):
        returned = _call(hook, node, _as_tensor(F, grad))
        if returned is not None:
            grad = _as_grad(F, _checked(hook, returned, grad))
    return grad


def _call(hook: Any, node: Node, *args: Any) -> Any:
    if observers:
        notify(HookRan(getattr(hook, "__qualname__", repr(hook)), node))
    return hook(*args)


def _checked(hook: Any, returned: Any, grad: Any) -> Tensor:
    if not isinstance(returned, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(returned).__name__}'"
        )
    name = getattr(hook, "__name__", repr(hook))
    was, got = DTYPE_OF[getattr(grad, "_data", grad).dtype], returned.dtype
    if was is not got:
        names = [_errors.legacy_type_name(dtype) for dtype in (was, got)]
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {names[0]} got "
            f"{names[1]})"
        )
    if tuple(returned.shape) != tuple(grad.shape):
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return returned


def _as_tensor(F: Any, grad: Any) -> Tensor:
    return wrap(grad) if F.raw else grad


def _as_tensors(F: Any, grads: Sequence[Any]) -> tuple[Tensor | None, ...]:
    return tuple(None if grad is None else _as_tensor(F, grad) for grad in grads)


def _as_grads(F: Any, returned: Any) -> list[Any]:
    """Take the gradients out of what a hook returned: one tensor, or several."""
    tensors = (returned,) if isinstance(returned, Tensor) else returned
    return [_as_grad(F, tensor) for tensor in tensors]


def _as_grad(F: Any, tensor: Tensor | None) -> Any:
    return tensor._data if F.raw and tensor is not None else tensor


def _retain(F: Any, tensor: Tensor, grad: Any) -> None:
    new = _as_tensor(F, grad.copy() if F.raw else grad)
    old = tensor._grad
    tensor._grad = new if old is None else tensor_ops.add(old, new)
