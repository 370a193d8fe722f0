"""Calling the user's hooks around a node. Hooks see tensors, whatever the pass uses.

Around one node they run in this order: hooks of its output tensors, the filling of
retained gradients, hooks before the node, the node, hooks after it. What a hook returns
takes the place of what it was given. Hooks added or removed while others run count from
the next time on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._common import messages as _errors
from .._dispatch.declare import tensor_ops
from .._dispatch.operands import as_array
from .._graph.node import AccumulateGrad, Node
from .._graph.observe import HookRan, HookReturned, notify, observers
from .._tensor.memory import TensorMemory
from .._tensor.tensor import Tensor, wrap


def run_tensor_hooks(F: Any, node: Node, slots: list[Any]) -> None:
    """Run the hooks of a node's output tensors on ``slots``, then fill their .grad."""
    if node.accumulates:
        assert isinstance(node, AccumulateGrad)
        extra = node.variable._extra
        if extra is not None and extra.hooks:
            _through(F, node, extra.hooks, slots, 0)
        return
    more = node.extra
    if more is None:
        return
    for number, hooks in list(more.tensor_hooks.items()):
        if hooks:
            _through(F, node, hooks, slots, number)
    for number, reference in list(more.retain.items()):
        tensor = reference()
        if tensor is not None and slots[number] is not None:
            _retain(F, tensor, slots[number])


def run_pre_hooks(F: Any, node: Node, slots: list[Any]) -> list[Any]:
    """Run ``hook(grad_outputs)``; a tuple it returns replaces them."""
    if node.extra is None or not node.extra.pre_hooks:
        return slots
    given = current = _as_tensors(F, slots)
    for key, hook in list(node.extra.pre_hooks.items()):
        returned = _call(key, hook, node, current)
        if returned is not None and returned is not current:
            _check_tuple(hook, current, returned)
            current = returned
    return slots if current is given else _as_grads(F, current)


def run_post_hooks(
    F: Any, node: Node, outgoing: Sequence[Any], slots: Sequence[Any]
) -> Sequence[Any]:
    """Run ``hook(grad_inputs, grad_outputs)``; a tuple replaces grad_inputs."""
    extra = node.extra
    assert extra is not None
    outputs = _as_tensors(F, slots)
    given = current = _as_tensors(F, outgoing)
    for key, hook in list(extra.post_hooks.items()):
        returned = _call(key, hook, node, current, outputs)
        if returned is not None and returned is not current:
            _check_tuple(hook, current, returned)
            current = returned
    return outgoing if current is given else _as_grads(F, current)


def run_post_accumulate_hooks(leaf: AccumulateGrad) -> None:
    """Run the hooks that want the leaf once its ``.grad`` is up to date."""
    variable = leaf.variable
    extra = variable._extra
    if extra is None or not extra.post_accumulate:
        return
    for key, hook in list(extra.post_accumulate.items()):
        returned = _call(key, hook, leaf, variable)
        if returned is None or returned is variable:
            continue
        if not isinstance(returned, TensorMemory):
            kind = type(returned).__name__
            raise TypeError(f"expected Variable, but hook returned '{kind}'")
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def has_leaf_hooks(leaves: Iterable[Any]) -> bool:
    """Tell whether anyone can see in which order these leaves get their gradients."""
    for leaf in leaves:
        extra = leaf.variable._extra
        if leaf.extra is not None or (
            extra is not None and (extra.hooks or extra.post_accumulate)
        ):
            return True
    return False


def _through(
    F: Any, node: Node, hooks: dict[int, Any], slots: list[Any], number: int
) -> None:
    """Run the hooks of one tensor on its gradient, which may be None."""
    given = current = _as_tensor(F, slots[number])
    for key, hook in list(hooks.items()):
        returned = _call(key, hook, node, current)
        if returned is not None and returned is not current:
            _check_one(hook, current, returned)
            current = returned
    if current is not given:
        slots[number] = _as_grad(F, current)


def _call(key: int, hook: Any, node: Node, *args: Any) -> Any:
    return _announced(key, hook, node, args) if observers else hook(*args)


def _announced(key: int, hook: Any, node: Node, args: tuple[Any, ...]) -> Any:
    notify(HookRan(getattr(hook, "__qualname__", repr(hook)), node, key))
    given = [t for arg in args for t in (arg if isinstance(arg, tuple) else (arg,))]
    tensors = [t for t in given if isinstance(t, Tensor)]
    versions = [_version(tensor) for tensor in tensors]
    returned = hook(*args)
    wrote = versions != [_version(tensor) for tensor in tensors]
    notify(HookReturned(key, node, returned is not None, wrote))
    return returned


def _version(tensor: Tensor) -> int:
    memory = tensor._memory
    return 0 if memory is None or memory.inference else memory.version


def _name(hook: Any) -> str:
    return str(getattr(hook, "__name__", "<unknown>"))


def _check_tuple(hook: Any, given: Sequence[Any], returned: Any) -> None:
    if not isinstance(returned, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(returned).__name__}'"
        )
    if len(given) != len(returned):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got "
            f"{len(returned)}, but expected {len(given)})"
        )
    for old, new in zip(given, returned, strict=True):
        _check_one(hook, old, new)


def _check_one(hook: Any, old: Tensor | None, new: Any) -> None:
    if new is None:
        return
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old.dtype is not new.dtype or old.is_sparse is not new.is_sparse:
        was, got = (
            _errors.legacy_type_name(each.dtype, each.is_sparse) for each in (old, new)
        )
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {was} got {got})"
        )
    if old.shape != new.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _as_tensor(F: Any, grad: Any) -> Any:
    return wrap(_writable(as_array(grad))) if F.raw and grad is not None else grad


def _writable(array: Any) -> Any:
    """Let a hook write a gradient whose elements share cells, as PyTorch does.

    NumPy marks what it broadcast as read-only, and its refusal names no tensor.
    """
    if type(array) is np.ndarray and not array.flags.writeable:
        with suppress(ValueError):  # over memory that nobody may write
            array.flags.writeable = True
    return array


def _as_tensors(F: Any, grads: Sequence[Any]) -> tuple[Tensor | None, ...]:
    return tuple([_as_tensor(F, grad) for grad in grads])


def _as_grads(F: Any, tensors: Sequence[Tensor | None]) -> list[Any]:
    return [_as_grad(F, tensor) for tensor in tensors]


def _as_grad(F: Any, tensor: Tensor | None) -> Any:
    return tensor._data if F.raw and tensor is not None else tensor


def _retain(F: Any, tensor: Tensor, grad: Any) -> None:
    from ..ops.memory.memory_format import contiguous_format  # ops need this module

    new = tensor_ops.clone(_as_tensor(F, grad), contiguous_format)
    old = tensor._grad
    tensor._grad = new if old is None else tensor_ops.add(old, new)
