"""Rules of pointwise ops with one operand, and of conversions."""

from __future__ import annotations

import math
from typing import Any

from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule

_SAME = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "hardswish": "HardSwish",
    "log": "Log",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}


def _same(kind: str) -> Any:
    def translate(graph: Graph, call: Call, x: Value) -> str:
        return graph.node(kind, graph.cast(x, call.outputs[0].dtype))

    return translate


RULES.update({name: _same(kind) for name, kind in _SAME.items()})


@rule("alias", "clone", "contiguous", "_fw_primal", "real", "conj")
def alias(graph: Graph, call: Call, x: Value, *options: Any) -> str:
    """Pass the value on: a graph has no memory."""
    return x.name


@rule("_to_copy", "_onto_device", "_from_device")
def to_copy(graph: Graph, call: Call, x: Value, *options: Any) -> str:
    """Convert to the dtype of the result."""
    return graph.cast(x, call.outputs[0].dtype)


@rule("rsqrt")
def rsqrt(graph: Graph, call: Call, x: Value) -> str:
    """1 / sqrt(x)."""
    return graph.node("Reciprocal", graph.node("Sqrt", x))


@rule("exp2")
def exp2(graph: Graph, call: Call, x: Value) -> str:
    """2 ** x."""
    dtype = call.outputs[0].dtype
    return graph.node("Pow", graph.number(2, dtype), graph.cast(x, dtype))


@rule("expm1")
def expm1(graph: Graph, call: Call, x: Value) -> str:
    """exp(x) - 1."""
    dtype = call.outputs[0].dtype
    power = graph.node("Exp", graph.cast(x, dtype))
    return graph.node("Sub", power, graph.number(1, dtype))


@rule("log1p")
def log1p(graph: Graph, call: Call, x: Value) -> str:
    """log(1 + x)."""
    dtype = call.outputs[0].dtype
    total = graph.node("Add", graph.cast(x, dtype), graph.number(1, dtype))
    return graph.node("Log", total)


@rule("log2", "log10")
def log_to_a_base(graph: Graph, call: Call, x: Value) -> str:
    """log(x) / log(base)."""
    dtype = call.outputs[0].dtype
    base = math.log(2 if call.name.startswith("log2") else 10)
    natural = graph.node("Log", graph.cast(x, dtype))
    return graph.node("Div", natural, graph.number(base, dtype))


@rule("erfc")
def erfc(graph: Graph, call: Call, x: Value) -> str:
    """1 - erf(x)."""
    return graph.node("Sub", graph.number(1, x.dtype), graph.node("Erf", x))


@rule("trunc")
def trunc(graph: Graph, call: Call, x: Value) -> str:
    """sign(x) * floor(abs(x))."""
    size = graph.node("Floor", graph.node("Abs", x))
    return graph.node("Mul", graph.node("Sign", x), size)


@rule("frac")
def frac(graph: Graph, call: Call, x: Value) -> str:
    """x - trunc(x)."""
    return graph.node("Sub", x, trunc(graph, call, x))


@rule("deg2rad", "rad2deg")
def degrees(graph: Graph, call: Call, x: Value) -> str:
    """Scale between degrees and radians."""
    dtype = call.outputs[0].dtype
    factor = math.pi / 180 if call.name.startswith("deg") else 180 / math.pi
    return graph.node("Mul", graph.cast(x, dtype), graph.number(factor, dtype))


@rule("isnan", "isinf")
def not_finite(graph: Graph, call: Call, x: Value) -> str:
    """IsNaN and IsInf."""
    return graph.node({"isnan": "IsNaN", "isinf": "IsInf"}[call.name], x)


@rule("isfinite")
def isfinite(graph: Graph, call: Call, x: Value) -> str:
    """Neither NaN nor infinite."""
    wrong = graph.node("Or", graph.node("IsNaN", x), graph.node("IsInf", x))
    return graph.node("Not", wrong)
