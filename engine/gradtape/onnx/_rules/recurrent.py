"""Rules of recurrent layers: ONNX's LSTM, GRU and RNN, one per layer of the stack.

ONNX keeps the gates in another order (Operators.md: LSTM i, o, f, c; GRU z, r, h) than
PyTorch (i, f, g, o; r, z, n), and both directions in one tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph import Graph, Value
from .._record import Call
from .._table import rule
from .shape import sliced

_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


@rule("LSTM", "GRU", "RNN")
def recurrent(
    graph: Graph, call: Call, x: Value, state: Any, weights: Any
) -> tuple[str, ...]:
    """The stack: output of the last layer, and the last states of all."""
    module = call.module
    kind = next(k for k in _ORDERS if module.mode.startswith(k))
    alone = x.ndim == 2
    name = x.name
    if alone:
        name = graph.node("Unsqueeze", x, graph.ints([1]))
    elif module.batch_first:
        name = graph.node("Transpose", x, perm=[1, 0, 2])
    firsts = _first_states(graph, state, alone)
    lasts: list[tuple[str, ...]] = []
    ways = 2 if module.bidirectional else 1
    for layer in range(module.num_layers):
        own = weights[layer * ways : (layer + 1) * ways]
        rows = layer * ways, (layer + 1) * ways
        starts = [sliced(graph, s, 0, *rows) for s in firsts]
        name, *ends = _layer(graph, kind, module, name, own, starts)
        lasts.append(tuple(ends))
    states = [graph.node("Concat", *each, axis=0) for each in zip(*lasts, strict=True)]
    if alone:
        where = graph.ints([1])
        name, *states = (graph.node("Squeeze", n, where) for n in (name, *states))
    elif module.batch_first:
        name = graph.node("Transpose", name, perm=[1, 0, 2])
    return (name, *states)


def _first_states(graph: Graph, state: Any, alone: bool) -> list[str]:
    given = () if state is None else (state,) if isinstance(state, Value) else state
    if alone:
        return [graph.node("Unsqueeze", s, graph.ints([1])) for s in given]
    return [s.name for s in given]


def _layer(
    graph: Graph, kind: str, module: Any, name: str, weights: Any, starts: list[str]
) -> tuple[str, ...]:
    """Append one layer, in one or two directions; return output and last states."""
    ways, size = len(weights), module.hidden_size
    order = np.concatenate([np.arange(size) + gate * size for gate in _ORDERS[kind]])
    rows = graph.constant(order)

    def stacked(position: int) -> str:
        sorted_ = [graph.node("Gather", w[position], rows, axis=0) for w in weights]
        wide = [graph.node("Unsqueeze", s, graph.ints([0])) for s in sorted_]
        return graph.node("Concat", *wide, axis=0) if ways > 1 else wide[0]

    bias = None
    if module.bias:
        bias = graph.node("Concat", stacked(2), stacked(3), axis=1)
    initial = [*starts, *[None] * (2 - len(starts))][: 2 if kind == "LSTM" else 1]
    more: dict[str, Any] = {}
    if kind == "GRU":
        more["linear_before_reset"] = 1
    if kind == "RNN":
        more["activations"] = [module.nonlinearity.capitalize()] * ways
    every, *lasts = graph.nodes_of(
        kind,
        3 if kind == "LSTM" else 2,
        name,
        stacked(0),
        stacked(1),
        bias,
        None,
        *initial,
        hidden_size=size,
        direction="bidirectional" if ways > 1 else "forward",
        **more,
    )
    if ways == 1:
        return graph.node("Squeeze", every, graph.ints([1])), *lasts
    beside = graph.node("Transpose", every, perm=[0, 2, 1, 3])
    return graph.node("Reshape", beside, graph.ints([0, 0, -1])), *lasts
