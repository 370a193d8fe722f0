"""Running an op forward: promote, compute, wrap the result, record the node."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .._common.site import internal_files
from .._dtypes import DTYPE_OF
from .._graph.anomaly import callers_of
from .._graph.node import (
    Node,
    accumulator_of,
    new_object,
    next_sequence_nr,
    save_input,
    save_output,
)
from .._graph.observe import OpCalled, notify, observers
from .._graph.op import Op
from .._graph.output_layout import known_layouts, layout_of
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import (
    adopt,
    answer,
    asked,
    by_classes,
    dispatching,
    shares_memory,
)
from .._overrides.torch_function import ask, overriding
from .._saved.hooks import pack_inputs, pack_outputs
from .._storage.result_strides import laid_out
from .._tensor.tensor import Tensor, edge_of, wrap, wrap_view
from .anomaly_report import check_outputs
from .operands import (
    arrays_of,
    as_array,
    broadcast_error,
    compute,
    placed_results,
    promote,
)

_get_frame = sys._getframe


WRAPPED: Final = frozenset((Tensor, *(np.dtype(c).type for c in "bBhHiIlLqQ")))
"""What an option's number may come as."""


def numbers_of(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return options with the numbers of those that came as 0-d tensors or NumPy's."""
    return tuple(
        p.item()
        if type(p) in WRAPPED
        and (type(p) is not Tensor or not (p.dim() or p.requires_grad))
        else p
        for p in params
    )


def finish(node: Node, output: Tensor, depth: int = 2) -> None:
    """Fill in what every node records and make ``output`` its only output."""
    data = output._data
    now = mode.now
    node.seq = next_sequence_nr()
    node.scope = now.scope
    node.extra = None
    key = (data.shape, data.strides, data.dtype)
    node.layout = known_layouts.get(key) or layout_of(data)
    memory = output._memory
    node.storage_ids = 0 if memory is None else memory.id
    frame = _get_frame(depth)
    code = frame.f_code
    while internal_files[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    node.code = code
    node.lasti = frame.f_lasti
    if now.anomaly:
        node.callers = callers_of(frame, now.evaluating)
    output._grad_fn = node
    output._needs = True


def apply(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run an op on tensors (``args``) and other arguments (``params``)."""
    now = mode.now
    if now.profile is not None:
        return now.profile.op(apply, op, args, params)
    if now.overrides:
        kinds = overriding(args)
        if kinds:
            return ask(kinds, apply, op, args, params)
    if now.casting is not None:
        args = now.casting.op(op, args, params)
    if not WRAPPED.isdisjoint(map(type, params)):
        params = numbers_of(params)
    kinds = asked((*args, *params)) if now.dispatch or dispatching else None
    if kinds is None:
        outputs = computed(op, args, params)
    else:
        found = answer(apply, op, args, params, kinds)
        if found is None:
            return None
        outputs = outputs_of(op, args, found)
    if now.checks:
        check_outputs(op, op.name, (*args, *params), outputs)
    node = None
    if now.grad and op.formulas:
        node = record(op, args, params, outputs)
        if node is not None and (now.rare or kinds):
            pack_outputs(node, outputs)
        if node is not None and kinds:
            by_classes.add(node)
    if now.duals is not None:
        now.duals.ran(op, args, params, outputs, node)
    if observers:
        notify(OpCalled(op.name, (*args, *params), outputs, node))
    return outputs[0] if op.outputs == 1 else outputs


def computed(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run the kernel of an op; return its results as tensors, without history."""
    now = mode.now
    arrays, xp = arrays_of(op, args)
    if op.check is not None:
        op.check(op.name, *args, *params)
    given = arrays
    if op.promotion != "none":
        arrays = now.run(promote, op, args, arrays)
    try:
        found = now.run(compute, op, xp, arrays, params)
    except ValueError as error:
        if op.promotion != "none" and "broadcast" in str(error):
            raise broadcast_error(*(np.shape(a) for a in arrays)) from None
        raise
    if xp is not np:
        found = placed_results(xp, found)
    if op.lies_like_operands:
        found = laid_out(xp, as_array(found), given)
    return wrap_outputs(op, args, found)


def outputs_of(op: Op, args: Sequence[Any], found: Any) -> tuple[Tensor, ...]:
    """Return what was answered for an op as tensors that can take its history."""
    outputs = (found,) if op.outputs == 1 else tuple(found)
    if op.view is None:
        return outputs
    if shares_memory(outputs[0], args[0]):
        return tuple(wrap_view(o._data, args[0], op.view) for o in outputs)
    for output in outputs:
        adopt(output, args[0], op.view)
    return outputs


def wrap_outputs(op: Op, args: Sequence[Any], found: Any) -> tuple[Tensor, ...]:
    """Make tensors over what the kernel returned."""
    arrays = (found,) if op.outputs == 1 else found
    if op.view is not None:
        return tuple(wrap_view(as_array(a), args[0], op.view) for a in arrays)
    return tuple([wrap(as_array(a)) for a in arrays])


def record(
    op: Op, args: Sequence[Any], params: tuple[Any, ...], outputs: tuple[Tensor, ...]
) -> Node | None:
    """Make the node of a call, or nothing where no input needs a gradient."""
    node = make_node(op, args, params, outputs)
    if node is None:
        return None
    if len(outputs) == 1:
        finish(node, outputs[0], 3)
        return node
    finish(node, outputs[0], 3)
    node.layout, node.several = None, tuple(layout_of(o._data) for o in outputs)
    node.storage_ids = tuple(o._storage.id for o in outputs)
    for number, output in enumerate(outputs):
        if op.outputs is None or number in op.differentiable:
            output._grad_fn, output._nr, output._needs = node, number, True
        else:
            output._grad_fn, output._needs = None, False
    return node


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
    if op.outputs == 1 and outputs[0]._data.dtype.kind in "biu":
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


def saved_of(
    op: Op, args: Sequence[Any], nodes: Sequence[Node | None], outputs: Sequence[Tensor]
) -> tuple[Any, ...]:
    """Save what the formulas that will run ask for; None in the other slots."""
    saved: list[Any] = []
    for argument, output, users in op.savings:
        if users is not None and not _any_needs(users, nodes):
            saved.append(None)
        elif argument is None:
            saved.append(save_output(outputs[output]))
        else:
            value = args[argument]
            saved.append(save_input(value) if isinstance(value, Tensor) else value)
    return tuple(saved)


def _any_needs(users: tuple[int, ...], nodes: Sequence[Node | None]) -> bool:
    for user in users:  # noqa: SIM110 - any() over a generator costs 0.3 µs more
        if nodes[user] is not None:
            return True
    return False


def metas_of(op: Op, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shapes, strides and dtypes that the formulas ask for."""
    metas: list[Any] = []
    for argument, kind in op.meta_reads:
        value, of = args[argument], _META[kind]
        metas.append(
            [of(t) for t in value] if isinstance(value, list | tuple) else of(value)
        )
    return tuple(metas)


def _shape(value: Any) -> Any:
    return value._data.shape if isinstance(value, Tensor) else ()


def _dtype(value: Any) -> Any:
    return DTYPE_OF[value._data.dtype] if isinstance(value, Tensor) else None


def _strides(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return ()
    data = value._data
    item = data.itemsize
    return tuple([s // item for s in data.strides]) if data.size else value.stride()


_META = {"shape": _shape, "strides": _strides, "dtype": _dtype}
