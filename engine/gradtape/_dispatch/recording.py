"""Recording: what every node keeps of the call that made it, and what it saves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .._common.compiled import compiled
from .._common.site import user_files, users_above
from .._dtypes import DTYPE_OF
from .._graph.anomaly import callers_of
from .._graph.node import (
    Node,
    SavedTensor,
    accumulator_of,
    new_object,
    next_sequence_nr,
    save_input,
    save_output,
)
from .._graph.op import Op
from .._graph.output_layout import element_strides, known_layouts, layout_of
from .._modes.grad_mode import Switches, mode
from .._saved.hooks import pack_inputs
from .._tensor.tensor import Tensor, edge_of
from .templates import template

_get_frame = sys._getframe

depth: int = 2
"""How far above :func:`place` the user's frame mostly is; copies have their own."""


@template
def place(node: Node, result: Tensor, now: Switches) -> None:
    """Note where a node stands in the program, and make ``result`` its only output.

    This is the one place where a node gets its number, scope, layout and line.
    """
    node.seq = next_sequence_nr()
    node.scope = now.scope
    node.extra = None
    data = result._data
    try:
        node.layout = known_layouts[data.shape, data.strides, data.dtype]
    except KeyError:
        node.layout = layout_of(data)
    memory = result._memory
    node.storage_ids = 0 if memory is None else memory.id
    try:
        frame = _get_frame(depth)
    except ValueError:  # there are no frames above the package's
        frame = _get_frame(depth - 1)
    code = frame.f_code
    if code.co_filename not in user_files:
        frame = users_above(frame)
        code = frame.f_code
    node.code = code
    node.lasti = frame.f_lasti
    if now.anomaly:
        node.callers = callers_of(frame, now.evaluating)
    result._grad_fn = node
    result._needs = True


def record(
    op: Op, args: Sequence[Any], params: tuple[Any, ...], outputs: tuple[Tensor, ...]
) -> Node | None:
    """Make the node of a call, or nothing where no input needs a gradient."""
    node = make_node(op, args, params, outputs)
    if node is None or ends_history(op, outputs[0]):
        return None
    place(node, outputs[0], mode.now)
    if len(outputs) > 1:
        make_outputs(op, node, outputs)
    return node


def ends_history(op: Op, result: Tensor) -> bool:
    """Tell whether a result is of a dtype that has no history, be it asked for.

    Raises RuntimeError, in PyTorch's words, where it refuses to record such a result.
    """
    kind = result._data.dtype.kind
    if kind in "biu" and op.outputs == 1:
        if op.recorded == "cast":
            return True
        name = DTYPE_OF[result._data.dtype].cpp_name
        raise RuntimeError(f"Autograd not support dtype: {name}")
    if kind == "c" and op.recorded == "real":
        raise RuntimeError(
            f"{op.name} does not support automatic differentiation for outputs with "
            "complex dtype."
        )
    return False


@template
def make_outputs(op: Op, node: Node, outputs: tuple[Tensor, ...]) -> None:
    """Make tensors the outputs of a node, which was placed as if it had the first."""
    node.layout, node.several = None, tuple([layout_of(o._data) for o in outputs])
    node.storage_ids = tuple([o._storage.id for o in outputs])
    for number, output in enumerate(outputs):
        if op.outputs is None or number in op.differentiable:
            output._grad_fn, output._nr, output._needs = node, number, True
        else:
            output._grad_fn, output._needs = None, False


def make_node(
    op: Op, args: Sequence[Any], params: tuple[Any, ...], outputs: Sequence[Tensor]
) -> Node | None:
    """Build a node with its edges and saved values; None if no gradient can flow."""
    if op.listed is None:
        inputs = args if len(args) == len(op.edges) else [args[i] for i in op.edges]
    else:
        at = op.listed
        inputs = (*args[:at], *args[at], *args[at + 1 :])
    nodes = tuple([edge_of(t) if isinstance(t, Tensor) else None for t in inputs])
    if mode.now.inference_leaves:
        nodes = with_inference_leaves(inputs, nodes)
    if nodes.count(None) == len(nodes):
        return None
    node = new_object(op.node_type)
    node.nodes = nodes
    node.numbers = tuple([t._nr if isinstance(t, Tensor) else 0 for t in inputs])
    node.saved = saved_of(op, args, nodes, outputs) if op.saves else ()
    node.params = params if not op.metas else (*params, *metas_of(op, args))
    if mode.now.rare:
        pack_inputs(node)
    return node


def with_inference_leaves(
    inputs: Sequence[Any], nodes: tuple[Node | None, ...]
) -> tuple[Node | None, ...]:
    """Add the edges of inference tensors that require grad, beside normal operands.

    As in PyTorch, nothing is recorded of an op that meets no other tensor or number.
    """
    if all(isinstance(t, Tensor) and t.is_inference() for t in inputs):
        return nodes
    found = list(nodes)
    for i, t in enumerate(inputs):
        if isinstance(t, Tensor) and t._needs and t._grad_fn is None and not nodes[i]:
            found[i] = accumulator_of(t)
    return tuple(found)


@template
def saved_of(
    op: Op, args: Sequence[Any], nodes: Sequence[Node | None], outputs: Sequence[Tensor]
) -> tuple[Any, ...]:
    """Save what the formulas that will run ask for; None in the other slots."""
    saved: list[Any] = []
    any_missing = None in nodes
    for argument, output, users in op.savings:
        if users is not None and (any_missing or not users):
            for user in users:
                if nodes[user] is not None:
                    break
            else:
                saved.append(None)
                continue
        if argument is None:
            saved.append(save_output(outputs[output]))
        else:
            value = args[argument]
            saved.append(save_input(value) if isinstance(value, Tensor) else value)
    return tuple(saved)


def save_operand(tensor: Tensor, edge: Any) -> SavedTensor:
    """Keep an operand that was written, or is a parameter, for a slot of a node.

    What a leaf is saved as, its accumulate node keeps: a parameter used a million times
    is one record.
    """
    if edge is None or not edge.accumulates:
        return save_input(tensor)
    kept = edge.kept
    if kept is None or kept.tensor is not tensor or kept.memory.version != kept.version:
        return edge.keep(tensor)
    return kept


def metas_of(op: Op, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shapes, strides and dtypes that the formulas ask for."""
    return tuple([meta_reader(kind)(args[at]) for at, kind in op.meta_reads])


def meta_reader(kind: str) -> Callable[[Any], Any]:
    """Return what reads metadata of this kind off an operand, or off a sequence."""
    return _META[kind]


def _shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._data.shape
    return [_shape(each) for each in value] if isinstance(value, list | tuple) else ()


def _strides(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return ()
    data = value._data
    return element_strides(data) if data.size else value.stride()


def _dtype(value: Any) -> Any:
    return DTYPE_OF[value._data.dtype] if isinstance(value, Tensor) else None


_META = {"shape": _shape, "strides": _strides, "dtype": _dtype}


save_operand = compiled(save_operand)
