"""Rules of arithmetic: operands are converted to the result's dtype first."""

from __future__ import annotations

import math
from typing import Any

from ..._dtypes import bool_
from ..._dtypes.arithmetic import result_type_of
from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule
from .shape import expanded


def is_bool(dtype: Any) -> bool:
    """Say whether a dtype is bool."""
    return str(dtype).endswith("bool")


def is_float(dtype: Any) -> bool:
    """Say whether a dtype is a floating-point one."""
    return bool(dtype.is_floating_point)


def binary(graph: Graph, kind: str, x: Any, y: Any, dtype: Any) -> str:
    """Append one arithmetic node over operands of a common dtype."""
    if is_bool(dtype):
        kind = {"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}[kind]
    return graph.node(kind, graph.operand(x, dtype), graph.operand(y, dtype))


def scaled(graph: Graph, x: Any, factor: Any, dtype: Any) -> str:
    """Return x * factor, or x alone for a factor of 1."""
    name = graph.operand(x, dtype)
    if factor == 1:
        return name
    return graph.node("Mul", name, graph.number(factor, dtype))


@rule("add", "add_number")
def add(graph: Graph, call: Call, x: Any, y: Any, alpha: Any = 1) -> str:
    """x + alpha * y."""
    dtype = call.outputs[0].dtype
    if is_bool(dtype):
        return binary(graph, "Add", x, y, dtype)
    return graph.node("Add", graph.operand(x, dtype), scaled(graph, y, alpha, dtype))


@rule("sub", "sub_number")
def sub(graph: Graph, call: Call, x: Any, y: Any, alpha: Any = 1) -> str:
    """x - alpha * y."""
    dtype = call.outputs[0].dtype
    return graph.node("Sub", graph.operand(x, dtype), scaled(graph, y, alpha, dtype))


@rule("rsub")
def rsub(graph: Graph, call: Call, x: Any, y: Any, alpha: Any = 1) -> str:
    """y - alpha * x."""
    return sub(graph, call, y, x, alpha)


@rule("mul", "mul_number")
def mul(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """x * y."""
    return binary(graph, "Mul", x, y, call.outputs[0].dtype)


@rule("div", "div_number")
def div(graph: Graph, call: Call, x: Any, y: Any, rounding: str | None = None) -> str:
    """x / y, perhaps rounded."""
    dtype = call.outputs[0].dtype
    if rounding == "floor":
        return floor_divide(graph, call, x, y)
    found = binary(graph, "Div", x, y, dtype)
    if rounding == "trunc" and is_float(dtype):
        size = graph.node("Floor", graph.node("Abs", found))
        return graph.node("Mul", graph.node("Sign", found), size)
    return found


@rule("floor_divide")
def floor_divide(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """x // y, rounded down also for integers, which ONNX rounds towards zero."""
    dtype = call.outputs[0].dtype
    if is_float(dtype):
        return graph.node("Floor", binary(graph, "Div", x, y, dtype))
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    return graph.node("Div", graph.node("Sub", x, graph.node("Mod", x, y)), y)


@rule("remainder")
def remainder(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """x % y with the sign of y."""
    dtype = call.outputs[0].dtype
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    if not is_float(dtype):
        return graph.node("Mod", x, y)
    whole = graph.node("Floor", graph.node("Div", x, y))
    return graph.node("Sub", x, graph.node("Mul", whole, y))


@rule("fmod")
def fmod(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """x % y with the sign of x."""
    dtype = call.outputs[0].dtype
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    return graph.node("Mod", x, y, fmod=1)


@rule("pow")
def power(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """x ** y."""
    dtype = call.outputs[0].dtype
    if isinstance(y, int | float) and y in (1, 2) and isinstance(x, Value):
        x = graph.cast(x, dtype)
        return graph.node("Mul", x, x) if y == 2 else graph.node("Identity", x)
    return binary(graph, "Pow", x, y, dtype)


@rule("maximum", "fmax")
def maximum(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """The larger of two."""
    return binary(graph, "Max", x, y, call.outputs[0].dtype)


@rule("minimum", "fmin")
def minimum(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """The smaller of two."""
    return binary(graph, "Min", x, y, call.outputs[0].dtype)


@rule("clamp")
def clamp(graph: Graph, call: Call, x: Value, low: Any, high: Any) -> str:
    """Bring into an interval; bounds are numbers, tensors or None."""
    dtype = call.outputs[0].dtype
    found = graph.cast(x, dtype)
    if low is not None:
        found = graph.node("Max", found, graph.operand(low, dtype))
    if high is not None:
        found = graph.node("Min", found, graph.operand(high, dtype))
    return found


@rule("clamp_min")
def clamp_min(graph: Graph, call: Call, x: Value, low: Any) -> str:
    """The larger of x and a bound."""
    return clamp(graph, call, x, low, None)


@rule("clamp_max")
def clamp_max(graph: Graph, call: Call, x: Value, high: Any) -> str:
    """The smaller of x and a bound."""
    return clamp(graph, call, x, None, high)


@rule("lerp")
def lerp(graph: Graph, call: Call, x: Value, end: Value, weight: Any) -> str:
    """x + weight * (end - x)."""
    step = graph.node("Sub", end, x)
    return graph.node("Add", x, graph.node("Mul", graph.operand(weight, x.dtype), step))


@rule("addcmul", "addcdiv")
def addc(graph: Graph, call: Call, x: Any, y: Any, z: Any, value: Any) -> str:
    """x + value * y * z, or y / z."""
    dtype = call.outputs[0].dtype
    kind = "Mul" if call.name.startswith("addcmul") else "Div"
    part = binary(graph, kind, y, z, dtype)
    if value != 1:
        part = graph.node("Mul", part, graph.number(value, dtype))
    return graph.node("Add", graph.operand(x, dtype), part)


@rule("where")
def where(graph: Graph, call: Call, condition: Value, x: Any, y: Any) -> str:
    """Choose element by element."""
    dtype = call.outputs[0].dtype
    return graph.node(
        "Where", condition, graph.operand(x, dtype), graph.operand(y, dtype)
    )


@rule("masked_fill")
def masked_fill(graph: Graph, call: Call, x: Value, mask: Value, value: Any) -> str:
    """Put a value where the mask is set."""
    return graph.node("Where", mask, graph.operand(value, x.dtype), x)


@rule("atan2")
def atan2(graph: Graph, call: Call, y: Any, x: Any) -> str:
    """The angle of a point: atan(y / x), moved to the left half-plane where x < 0."""
    dtype = call.outputs[0].dtype
    y, x = graph.operand(y, dtype), graph.operand(x, dtype)
    zero, half = graph.number(0, dtype), graph.number(math.pi / 2, dtype)
    angle = graph.node("Atan", graph.node("Div", y, x))
    full, back = graph.number(math.pi, dtype), graph.number(-math.pi, dtype)
    turn = graph.node("Where", graph.node("Less", y, zero), back, full)
    left = graph.node("Where", graph.node("Less", x, zero), turn, zero)
    upright = graph.node("Mul", graph.node("Sign", y), half)
    there = graph.node("Equal", x, zero)
    return graph.node("Where", there, upright, graph.node("Add", angle, left))


@rule("hypot")
def hypot(graph: Graph, call: Call, x: Any, y: Any) -> str:
    """sqrt(x * x + y * y)."""
    dtype = call.outputs[0].dtype
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    squares = graph.node("Mul", x, x), graph.node("Mul", y, y)
    return graph.node("Sqrt", graph.node("Add", *squares))


@rule("logit")
def logit(graph: Graph, call: Call, x: Value, eps: float | None = None) -> str:
    """log(x / (1 - x)), with x kept away from 0 and 1 by eps."""
    dtype = call.outputs[0].dtype
    found, one = graph.cast(x, dtype), graph.number(1, dtype)
    if eps is not None:
        low, high = graph.number(eps, dtype), graph.number(1 - eps, dtype)
        found = graph.node("Clip", found, low, high)
    odds = graph.node("Div", found, graph.node("Sub", one, found))
    return graph.node("Log", odds)


@rule("_normal_both", "_normal_around", "_normal_spread")
def normal(graph: Graph, call: Call, first: Any, second: Any) -> str:
    """Mean + std * a number that the runtime draws."""
    mean, std = (second, first) if call.name.endswith("spread") else (first, second)
    out = call.outputs[0]
    shape = expanded(graph, graph.number(0, out.dtype), (), out.shape)
    drawn = graph.node("RandomNormalLike", shape)
    wide = graph.node("Mul", drawn, graph.operand(std, out.dtype))
    return graph.node("Add", wide, graph.operand(mean, out.dtype))


@rule("mse_loss")
def mse_loss(graph: Graph, call: Call, x: Value, target: Value, reduction: int) -> str:
    """The squared difference: itself, its mean, or its sum."""
    apart = graph.node("Sub", x, target)
    squares = graph.node("Mul", apart, apart)
    if not reduction:
        return squares
    kind = "ReduceMean" if reduction == 1 else "ReduceSum"
    return graph.node(kind, squares, keepdims=0)


# ---- rules of pointwise ops with one operand, and of conversions -------------

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


# ---- rules of comparisons and of logic ---------------------------------------

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
