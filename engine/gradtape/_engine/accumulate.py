"""Adding a finished gradient to a leaf's ``.grad``."""

from __future__ import annotations

import threading
from operator import add
from typing import Any

from .._common import messages as _errors
from .._common.compiled import compiled
from .._common.warn import warn_once
from .._dispatch.declare import tensor_ops
from .._dispatch.inplace import check_overlap
from .._dispatch.operands import as_array
from .._graph.observe import GradAccumulated, notify, observers
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import dispatching
from .._sparse.array import SparseArray
from .._storage.ownership import is_only_ours
from .._storage.result_strides import empty_like_leaf, is_dense
from .._tensor.tensor import Tensor, wrap

_LOCKS = [threading.RLock() for _ in range(64)]
"""Threads that meet at a leaf take turns; its address says which lock is a leaf's."""


def accumulate(task: Any, leaf: Any, slots: list[Any], others: int = 0) -> None:
    """Let ``leaf.variable.grad`` take in the gradient in ``slots``, which is emptied.

    The first gradient becomes ``.grad`` itself where nobody else refers to its memory
    (``others`` references are harmless) and it lies as the leaf does; otherwise it is
    copied into the leaf's layout. Later ones are added in place, except under
    ``create_graph``, where the sum is a new tensor and stays differentiable.
    """
    variable = leaf.variable
    if variable._grad_fn is not None and not leaf.dead:
        raise RuntimeError(_errors.LEAF_MOVED)
    if not variable._needs:
        return  # switched off since
    event = None
    if observers:
        event = GradAccumulated(leaf, variable, getattr(slots[0], "_data", slots[0]))
        others += 1
    with _LOCKS[(id(variable) >> 6) & 63]:
        old = variable._grad
        if event is not None:
            event.first = old is None
        if task.create_graph:
            variable._grad = _recorded_sum(variable, old, slots.pop())
        elif type(slots[0]) in dispatching:
            grad = slots.pop()
            variable._grad = grad.detach() if old is None else old.add_(grad)  # type: ignore[attr-defined]
        else:
            if not task.space.raw:
                slots[0] = slots[0]._data
            if old is None:
                variable._grad = wrap(_settled(variable._data, slots, others))
            else:
                variable._grad = _added(old, slots.pop())
        if old is not None and old._data.strides != variable._data.strides:
            _check_layout(variable, variable._grad, task.create_graph)
    if event is not None:
        notify(event)


def _settled(data: Any, slots: list[Any], others: int) -> Any:
    """Return the gradient, or a copy of it in the memory layout of the leaf."""
    grad = as_array(slots.pop())
    if lies_right(grad, data) and grad.flags.writeable and is_only_ours(grad, others):
        return grad
    if type(grad) is SparseArray:
        return grad.with_values(grad.values.copy(), False)
    copy = empty_like_leaf(data, grad.dtype)
    copy[...] = grad
    return copy


def lies_right(grad: Any, data: Any) -> bool:
    """Tell whether a gradient lies as PyTorch wants the ``.grad`` of a leaf to lie."""
    if data.flags.c_contiguous or not is_dense(data):
        return bool(grad.flags.c_contiguous)
    layout = zip(data.shape, grad.strides, data.strides, strict=True)
    return all(size == 1 or mine == wanted for size, mine, wanted in layout)


def _added(old: Tensor, grad: Any) -> Tensor:
    """Add to ``old`` in place, except where a dense gradient meets a sparse one."""
    if type(old._data) is not SparseArray:
        check_overlap(old)
    elif type(grad) is not SparseArray:
        return wrap(mode.run(add, grad, old._data))
    mode.run(_add_raw, old._data, grad)
    old._storage.bump("accumulate_grad", None)
    return old


def _add_raw(target: Any, grad: Any) -> None:
    target += grad


def _recorded_sum(variable: Tensor, old: Tensor | None, grad: Tensor) -> Tensor:
    sparse = type(grad._data) is SparseArray
    if old is not None:
        swapped = type(old._data) is SparseArray and not sparse
        return tensor_ops.add(grad, old) if swapped else tensor_ops.add(old, grad)
    data = variable._data
    if sparse:
        return tensor_ops.clone(grad)
    if not is_dense(data):
        from ..ops.memory.memory_format import contiguous_format  # ops need this module

        return tensor_ops.clone(grad, contiguous_format)
    copy_: Any = wrap(empty_like_leaf(data, grad._data.dtype)).copy_  # type: ignore[attr-defined]
    return copy_(grad)


def _check_layout(variable: Tensor, grad: Tensor, recorded: bool) -> None:
    """Warn of a ``.grad`` that lies badly, once for recorded sums, once for others."""
    if lies_right(grad._data, variable._data):
        return
    message = _errors.LAYOUT_CONTRACT.format(
        grad_sizes=list(grad.shape),
        grad_strides=list(grad.stride()),
        sizes=list(variable.shape),
        strides=list(variable.stride()),
    )
    cause = f"layout of sums recorded: {recorded}"
    warn_once(message, cause)


accumulate = compiled(accumulate)
