"""The forward derivative of an op, from the backward formulas it declares.

A backward formula is linear in the incoming gradient ``u``. What it makes of ``u`` is
the transposed Jacobian applied to ``u``; transposing that map once more, which the
backward formulas of the ops *it* is written in do, gives the Jacobian itself. So every
declared op has a forward derivative, and few are written out (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._backend import backend_of
from .._common import messages as _errors
from .._dispatch.apply import apply
from .._dispatch.declare import raw_ops, tensor_ops
from .._dispatch.operands import as_array
from .._dispatch.recording import metas_of
from .._dispatch.sum_to_shape import fit
from .._graph.node import Node, accumulator_of, next_sequence_nr
from .._graph.op import UNDERIVED, Op
from .._graph.output_layout import layout_of
from .._modes.grad_mode import Switches, mode
from .._overrides.torch_dispatch import asked, dispatching
from .._tensor.tensor import Tensor, edge_of, wrap
from .rules import LINEAR, WRITTEN, Tangents, in_place_of, inputs_of


class _Plainly:
    """Record a private graph: gradients on; inference, hooks and profiler off."""

    __slots__ = ("before", "now")

    def __enter__(self) -> None:
        now: Switches = mode.now
        self.now = now
        self.before = now.grad, now.inference, now.packing, now.profile
        now.grad, now.inference, now.packing, now.profile = True, False, [], None
        now.settle()

    def __exit__(self, *exc: object) -> None:
        now = self.now
        now.grad, now.inference, now.packing, now.profile = self.before
        now.settle()


def differentiable_outputs(op: Op, outputs: Sequence[Tensor]) -> list[int]:
    """Return the numbers of the outputs that derivatives flow to."""
    several = op.outputs is None or len(outputs) == 1
    numbers = range(len(outputs)) if several else op.differentiable
    return [n for n in numbers if outputs[n]._data.dtype.kind in "fcV"]


def push_forward(
    op: Op,
    args: Sequence[Any],
    params: tuple[Any, ...],
    outputs: Sequence[Tensor],
    tangents: Tangents,
) -> dict[int, Tensor]:
    """Return the tangents of an op's outputs, by number.

    ``tangents`` belong to :func:`inputs_of` the call. The result is recorded as far as
    gradients are on. Outputs that do not depend on these inputs get zeros. Raises
    NotImplementedError for an op without a derivative.
    """
    try:
        return _pushed(op, args, params, outputs, tangents)
    except RuntimeError as error:
        begin = UNDERIVED.partition("{")[0]  # the backward has no derivative
        if isinstance(error, NotImplementedError) or str(error).startswith(begin):
            sentence = _errors.NO_FORWARD.format(name=op.name)
            raise NotImplementedError(sentence) from error
        raise


def _pushed(
    op: Op,
    args: Sequence[Any],
    params: tuple[Any, ...],
    outputs: Sequence[Tensor],
    tangents: Tangents,
) -> dict[int, Tensor]:
    if op.key in LINEAR:
        if outputs[0]._data.dtype.kind not in "fcV":  # to integers: cut off
            return {}
        return {0: apply(op, in_place_of(op, args, tangents), params)}
    if op.key in WRITTEN:
        return WRITTEN[op.key](args, params, outputs, tangents[0])
    if op.pointwise and _is_plain(op, [*args, *outputs, *tangents]):
        return {0: _elementwise(op, args, params, outputs[0], tangents)}
    numbers = differentiable_outputs(op, outputs)
    start = next_sequence_nr()
    with _Plainly():
        dummies = {n: _dummy(outputs[n]) for n in numbers}
        pairs = _pulled_back(op, args, params, outputs, tangents, dummies)
    found = _transpose(pairs, {n: accumulator_of(u) for n, u in dummies.items()}, start)
    known = [*tangents, *inputs_of(op, args), *outputs]
    if not any(isinstance(t, Tensor) and t.requires_grad for t in known):
        found = {n: _unrecorded(t) for n, t in found.items()}
    return {
        n: tensor_ops.zeros_like(dummies[n].detach()) if n not in found else found[n]
        for n in numbers
    }


def _unrecorded(tensor: Tensor) -> Tensor:
    """Forget that a result led to the dummies, if it did."""
    tensor._grad_fn, tensor._nr, tensor._needs = None, 0, False
    return tensor


def _is_plain(op: Op, values: Sequence[Any]) -> bool:
    """Tell whether one formula serves each input, and all numbers are real.

    Conjugates make no difference then.
    """
    return not any(f.joint for f in op.formulas) and not any(
        v._data.dtype.kind == "c" if isinstance(v, Tensor) else type(v) is complex
        for v in values
    )


def _elementwise(
    op: Op,
    args: Sequence[Any],
    params: tuple[Any, ...],
    output: Tensor,
    tangents: Tangents,
) -> Tensor:
    """Push through an op whose Jacobian is diagonal, and so its own transpose."""
    needs = tuple([t is not None for t in tangents])
    values = _values_for(op, args, params, (output,), needs)
    known = [*args, *tangents, output]
    recorded = mode.grad and any(
        isinstance(t, Tensor) and t.requires_grad for t in known
    )
    answered = dispatching and asked(known)
    raw = mode.now.duals is None and not (recorded or answered)
    F = raw_ops(output._data) if raw else tensor_ops
    if raw:
        values = [v._data if isinstance(v, Tensor) else v for v in values]
    total: Any = None
    for formula in op.formulas:
        for place in formula.edges:
            tangent = tangents[place]
            if tangent is None:
                continue
            grad: Any = tangent._data if raw else tangent
            picked = [values[i] for i in formula.picks]
            if raw:
                part = mode.run(formula.function, F, grad, *picked)
                total = part if total is None else mode.run(total.__add__, part)
            else:
                part = formula.function(F, grad, *picked)
                total = part if total is None else total + part
    return _fitted(output, as_array(total) if raw else total)


def _fitted(output: Tensor, found: Any) -> Tensor:
    """Bring a tangent to the shape and dtype of its output."""
    data = output._data
    if isinstance(found, Tensor):
        if found._data.dtype is not data.dtype:
            found = tensor_ops._to_copy(found, output.dtype)
        return found if found._data.shape == data.shape else found.expand(data.shape)
    if found.shape != data.shape:
        found = backend_of(data).xp.broadcast_to(found, data.shape)
    return wrap(found if found.dtype is data.dtype else found.astype(data.dtype))


def _values_for(
    op: Op,
    args: Sequence[Any],
    params: tuple[Any, ...],
    outputs: Sequence[Tensor],
    needs: tuple[bool, ...],
) -> list[Any]:
    """Return what formulas may ask for, in the order of their picks."""
    saved = [
        outputs[output] if argument is None else args[argument]
        for argument, output, _ in op.savings
    ]
    return [*saved, *params, *metas_of(op, args), needs]


def _dummy(output: Tensor) -> Tensor:
    own = type(output) in dispatching
    dummy = tensor_ops.zeros_like(output.detach() if own else wrap(output._data))
    dummy._needs = True
    return dummy


def _pulled_back(
    op: Op,
    args: Sequence[Any],
    params: tuple[Any, ...],
    outputs: Sequence[Tensor],
    tangents: Tangents,
    dummies: dict[int, Tensor],
) -> list[tuple[Tensor, Tensor]]:
    """Run the backward formulas on dummies; pair what comes out with the tangents."""
    grad: Any = [dummies.get(n) for n in range(len(outputs))]
    if len(outputs) == 1:
        grad = grad[0]
    needs = tuple([t is not None for t in tangents])
    values = _values_for(op, args, params, outputs, needs)
    inputs = inputs_of(op, args)
    gradients: list[Any] = [None] * len(op.edges)
    for formula in op.formulas:
        if op.listed is None and True not in [needs[i] for i in formula.edges]:
            continue
        picked = [values[i] for i in formula.picks]
        got = formula.function(tensor_ops, grad, *picked)
        if formula.joint:
            for i, g in zip(formula.edges, got, strict=True):
                gradients[i] = g
        else:
            gradients[formula.edges[0]] = got
    if op.listed is not None:
        at, count = op.listed, len(inputs) - len(op.tensors) + 1
        gradients[at : at + 1] = gradients[at] or [None] * count
    return [
        (fit(tensor_ops, g, layout_of(each._data)), t)
        for g, each, t in zip(gradients, inputs, tangents, strict=True)
        if t is not None and isinstance(g, Tensor)
    ]


def _transpose(
    pairs: Sequence[tuple[Tensor, Tensor]], ends: dict[int, Node], start: int
) -> dict[int, Tensor]:
    """Send tangents backward through the private graph made since ``start``."""
    order, cut = _between(pairs, set(ends.values()), start)
    try:
        arriving = _walked(pairs, order)
    finally:
        for node, following in cut:
            node.nodes = following
    return {
        number: each if isinstance(each := arriving[end][0], Tensor) else wrap(each)
        for number, end in ends.items()
        if end in arriving
    }


def _walked(
    pairs: Sequence[tuple[Tensor, Tensor]], order: set[Node]
) -> dict[Node, list[Any]]:
    """Run the nodes of ``order``; return what arrives at those that accumulate."""
    raw = not mode.grad and not mode.now.rare
    F = raw_ops(pairs[0][1]._data) if raw and pairs else tensor_ops
    arriving: dict[Node, list[Any]] = {}
    for gradient, tangent in pairs:
        node = edge_of(gradient)
        if node in order:
            value = tangent._data if F.raw else tangent
            _deliver(F, arriving, node, gradient._nr, value)
    for node in sorted(order, key=lambda n: n.seq, reverse=True):
        got = arriving.pop(node, None)
        if got is None or node.accumulates:
            if got is not None:
                arriving[node] = got
            continue
        outgoing = node.run(F, got if len(node.layouts) > 1 else got[0])
        for following, number, out in zip(
            node.nodes, node.numbers, outgoing, strict=False
        ):
            if following is not None and out is not None:
                _deliver(F, arriving, following, number, out)
    return arriving


def _between(
    pairs: Sequence[tuple[Tensor, Tensor]], ends: set[Node], start: int
) -> tuple[set[Node], list[tuple[Node, tuple[Node | None, ...]]]]:
    """Return the nodes that lead to ``ends``; cut their edges to all others.

    That spares gradients which nobody wants. The second value says how to undo it.
    """
    cut: list[tuple[Node, tuple[Node | None, ...]]] = []
    seen: set[Node] = set()
    stack = [node for g, _ in pairs if (node := edge_of(g)) is not None]
    while stack:
        node = stack.pop()
        if node in seen or node.seq < start or (node.accumulates and node not in ends):
            continue
        seen.add(node)
        stack += [n for n in node.nodes if n is not None]
    leading = ends & seen
    for node in sorted(seen - ends, key=lambda n: n.seq):
        kept = tuple([n if n in leading else None for n in node.nodes])
        if any(n is not None for n in kept):
            cut.append((node, node.nodes))
            node.nodes = kept
            leading.add(node)
    return leading, cut


def _deliver(
    F: Any, arriving: dict[Node, list[Any]], node: Node, number: int, grad: Any
) -> None:
    layouts = node.layouts
    grad = fit(F, grad, layouts[number])
    slots = arriving.setdefault(node, [None] * len(layouts))
    old = slots[number]
    if old is None:
        slots[number] = grad
    else:
        slots[number] = mode.run(old.__add__, grad) if F.raw else old + grad
