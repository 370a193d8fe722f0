"""Rules of padding. PyTorch counts from the last dimension, ONNX from the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule
from .._varying import Length


def _padded(
    graph: Graph, x: Value, pad: Sequence[Length], mode: str, value: str | None = None
) -> str:
    befores: list[Length] = [0] * x.ndim
    afters: list[Length] = [0] * x.ndim
    for i in range(len(pad) // 2):
        befores[-1 - i], afters[-1 - i] = pad[2 * i], pad[2 * i + 1]
    return graph.node("Pad", x, graph.ints([*befores, *afters]), value, mode=mode)


@rule("constant_pad_nd")
def constant_pad(
    graph: Graph, call: Call, x: Value, pad: Sequence[Length], value: Any
) -> str:
    """Pad with a number."""
    return _padded(graph, x, pad, "constant", graph.number(value, x.dtype))


def _border(mode: str) -> Any:
    def translate(graph: Graph, call: Call, x: Value, pad: Sequence[Length]) -> str:
        return _padded(graph, x, pad, mode)

    return translate


RULES.update({f"reflection_pad{n}d": _border("reflect") for n in (1, 2, 3)})
RULES.update({f"replication_pad{n}d": _border("edge") for n in (1, 2, 3)})
