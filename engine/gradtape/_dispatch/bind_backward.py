"""What an op's node does in backward: unpack, check versions, apply the formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._common import messages as _errors
from .._common.site import resolve
from .._dtypes import DTYPE_OF
from .._graph.anomaly import anomaly
from .._graph.node import Node, SavedTensor
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._saved.hooks import Packing, unpack_array
from .backward_source import bind_simple, bind_spelled, is_simple, plain_call


def check_version(node: Node, saved: SavedTensor) -> Any:
    """Return the array that was saved, unless it was overwritten since."""
    if saved.is_stale:
        memory: Any = saved.memory
        if type(memory) is Packing:
            return unpack_array(memory)
        raise modified_error(node, saved)
    return saved.array


def modified_error(node: Node | None, saved: SavedTensor) -> RuntimeError:
    """Build PyTorch's error for a saved tensor that an in-place op changed.

    PyTorch cannot say who wrote; the write log can, and a note on the error does.
    """
    dtype = DTYPE_OF[saved.array.dtype]
    producer = ""
    source = node if saved.tensor is None else saved.tensor.grad_fn
    if source is not None:
        number = _output_of(source, saved) if saved.tensor is None else saved.tensor._nr
        name = _errors.op_of_node(source.name())
        producer = f", which is output {number} of {name},"
    error = RuntimeError(
        _errors.MODIFIED.format(
            kind=_errors.type_in_graph(dtype),
            shape=_errors.shape_text(saved.array.shape),
            producer=producer,
            now=saved.storage.version,
            saved=saved.version,
            hint=_errors.MODIFIED_HINT_ANOMALY
            if anomaly.enabled
            else _errors.MODIFIED_HINT,
        )
    )
    for write in saved.storage.writes:
        if write.version > saved.version:
            error.add_note(_write_note(node, write))
    return error


def _output_of(node: Node, saved: SavedTensor) -> int:
    """Return which output of ``node`` an entry of what it saved is."""
    entries = node.saved or ()
    slot = node.slots[entries.index(saved)] if saved in entries else ""
    return int(slot.removeprefix("result") or 0)


def _write_note(node: Node | None, write: Any) -> str:
    where = "" if write.site is None else f" at {resolve(*write.site)}"
    keeper = "a checkpoint"  # which keeps its arguments in no node
    if node is not None:
        keeper = node.name() + ("" if node.site is None else f" ({node.site})")
    return (
        f"{write.op}{where} made version {write.version} of memory that {keeper} had "
        "saved."
    )


def bind_run(op: Op) -> Callable[..., tuple[Any, ...]]:
    """Return the ``run`` method of the op's node type."""
    if is_simple(op):
        return bind_simple(op)
    if not op.formulas:
        return Node.run
    if op.listed is None:
        return bind_spelled(op)
    return _bind_listed(op, op.listed)


def _bind_listed(op: Op, listed: int) -> Callable[..., tuple[Any, ...]]:
    """Bind an op that takes a sequence of tensors: nodes differ in their edges."""
    formulas, count = op.formulas, len(op.edges)

    def run(self: Node, F: Any, grad: Any) -> tuple[Any, ...]:
        needs = tuple([node is not None for node in self.nodes])
        values = [*self.unpack(F), *self.params, needs]
        call = mode.now.run if F.raw else plain_call
        gradients: list[Any] = [None] * count
        for formula in formulas:
            picked = [values[i] for i in formula.picks]
            found = call(formula.function, F, grad, *picked)
            if formula.joint:
                for i, g in zip(formula.edges, found, strict=True):
                    gradients[i] = g
            else:
                gradients[formula.edges[0]] = found
        gradients[listed : listed + 1] = gradients[listed] or [None] * (
            len(needs) - len(op.tensors) + 1
        )
        if False in needs:
            for i, need in enumerate(needs):
                if not need:
                    gradients[i] = None
        return tuple(gradients)

    return run
