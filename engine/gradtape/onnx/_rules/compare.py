"""Rules of comparisons and of logic."""

from __future__ import annotations

from typing import Any

from ..._dtypes import bool_
from ..._dtypes.arithmetic import result_type_of
from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule
from .arithmetic import is_bool

_COMPARISONS = {
    "eq": "Equal",
    "ge": "GreaterOrEqual",
    "gt": "Greater",
    "le": "LessOrEqual",
    "lt": "Less",
}
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITS = {
    "bitwise_and": ("And", "BitwiseAnd"),
    "bitwise_or": ("Or", "BitwiseOr"),
    "bitwise_xor": ("Xor", "BitwiseXor"),
}


def _operands(graph: Graph, x: Any, y: Any) -> tuple[str, str]:
    common = result_type_of(
        [(v.dtype, v.ndim) if isinstance(v, Value) else v for v in (x, y)]
    )
    return graph.operand(x, common), graph.operand(y, common)


def _comparison(kind: str) -> Any:
    def translate(graph: Graph, call: Call, x: Any, y: Any) -> str:
        return graph.node(kind, *_operands(graph, x, y))

    return translate


RULES.update({name: _comparison(kind) for name, kind in _COMPARISONS.items()})


@rule("ne")
def ne(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """Not equal."""
    return graph.node("Not", graph.node("Equal", *_operands(graph, x, y)))


def as_bool(graph: Graph, value: Any) -> str:
    """Return whether each element differs from zero."""
    return graph.operand(value, bool_)


def _logic(kind: str) -> Any:
    def translate(graph: Graph, call: Call, x: Any, y: Any) -> str:
        return graph.node(kind, as_bool(graph, x), as_bool(graph, y))

    return translate


RULES.update({name: _logic(kind) for name, kind in _LOGIC.items()})


def _bits(kinds: tuple[str, str]) -> Any:
    def translate(graph: Graph, call: Call, x: Any, y: Any) -> str:
        dtype = call.outputs[0].dtype
        kind = kinds[0] if is_bool(dtype) else kinds[1]
        return graph.node(kind, graph.operand(x, dtype), graph.operand(y, dtype))

    return translate


RULES.update({name: _bits(kinds) for name, kinds in _BITS.items()})


@rule("bitwise_not")
def bitwise_not(graph: Graph, call: Call, x: Value) -> str:
    """Turn every bit."""
    return graph.node("Not" if is_bool(x.dtype) else "BitwiseNot", x)


@rule("logical_not")
def logical_not(graph: Graph, call: Call, x: Value) -> str:
    """Is zero."""
    return graph.node("Not", as_bool(graph, x))
