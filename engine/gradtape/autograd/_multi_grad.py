"""``register_multi_grad_hook``: one hook for the gradients of several tensors."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Literal

from .._common.handles import RemovableHandle
from .._engine.graph_task import current_id, will_execute
from .._graph.node import Node, accumulator_of
from .._tensor.tensor import Tensor
from ._graph_edges import node_of

NOT_IN_BACKWARD = "expected this hook to be called inside a backward call"


class _MultiHandle(RemovableHandle):
    """Takes the hooks of several tensors back at once."""

    __slots__ = ("handles",)

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(state)


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[..., None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call ``fn`` when the gradients of several tensors are known.

    In mode "all" once per backward pass, with one gradient per tensor (None for those
    that the pass does not reach); in mode "any" with the first gradient of the pass.
    The handle that is returned takes the hook back.

    >>> import gradtape as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> y, z = x * 2, x * 3
    >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (y + z).backward()
    [tensor([5.]), tensor([1.])]
    """
    if mode == "all":
        return _MultiHandle(_hook_all(tensors, fn))
    if mode == "any":
        return _MultiHandle(_hook_any(tensors, fn))
    modes = ("all", "any")
    raise ValueError(f"Expects mode to be one of {modes} but got {mode}")


class _Pass:
    """What one backward pass has brought so far."""

    def __init__(self, length: int, awaited: int) -> None:
        self.gradients: list[Tensor | None] = [None] * length
        self.left = awaited


def _hook_all(
    tensors: Sequence[Tensor], fn: Callable[[Sequence[Tensor | None]], None]
) -> tuple[RemovableHandle, ...]:
    nodes = [_reference(tensor) for tensor in tensors]
    passes: dict[int, _Pass] = {}
    lock = threading.Lock()

    def take(index: int, grad: Tensor) -> None:
        task = _task_id()
        with lock:
            if task not in passes:
                passes[task] = _Pass(len(nodes), sum(map(_will_run, nodes)))
            state = passes[task]
            state.gradients[index] = grad
            state.left -= 1
            if not state.left:
                del passes[task]
        if not state.left:
            fn(state.gradients)

    return tuple(
        tensor.register_hook(functools.partial(take, index))
        for index, tensor in enumerate(tensors)
    )


def _hook_any(
    tensors: Sequence[Tensor], fn: Callable[[Tensor], None]
) -> tuple[RemovableHandle, ...]:
    seen: set[int] = set()
    lock = threading.Lock()

    @functools.wraps(fn)
    def first(grad: Tensor) -> None:
        task = _task_id()
        with lock:
            if task in seen:
                return
            seen.add(task)
        fn(grad)

    return tuple(t.register_hook(first) for t in tensors if t.requires_grad)


def _task_id() -> int:
    task = current_id()
    if task == -1:
        raise AssertionError(NOT_IN_BACKWARD)
    return task


def _reference(tensor: Tensor) -> Callable[[], Node | None]:
    """Refer to the node of a tensor's gradient without keeping it alive.

    The hook hangs on the node, or on the leaf, that it asks for.
    """
    node = node_of(tensor)
    if tensor.grad_fn is not None:
        return weakref.ref(node)
    leaf = weakref.ref(tensor)

    def accumulator() -> Node | None:
        alive = leaf()
        return None if alive is None else accumulator_of(alive)

    return accumulator


def _will_run(reference: Callable[[], Node | None]) -> bool:
    node = reference()
    return node is not None and will_execute(node)


# ---- options that wait for later backward passes ----

_BUDGET: Final = "torch.autograd.graph.region_activation_memory_budget"


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accept PyTorch's switch: one stream is used, so nothing can mismatch."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accept PyTorch's switch: no stream is captured here."""


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """Refuse: a budget is for compiled code, and nothing is compiled.

    Raises TypeError or ValueError for a budget that is none, else RuntimeError.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{_BUDGET}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{_BUDGET}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{_BUDGET} can only be used inside a torch.compile region; it has no effect "
        "in eager mode."
    )
