"""Rules of activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._graph import Graph, Value
from .._record import Call
from .._table import CannotTranslateError, rule
from .shape import axis_of


@rule("hardtanh")
def hardtanh(graph: Graph, call: Call, x: Value, low: float, high: float) -> str:
    """Bring into an interval."""
    return graph.node(
        "Clip", x, graph.number(low, x.dtype), graph.number(high, x.dtype)
    )


@rule("hardsigmoid")
def hardsigmoid(graph: Graph, call: Call, x: Value) -> str:
    """clip(x / 6 + 1 / 2, 0, 1)."""
    return graph.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@rule("hardshrink")
def hardshrink(graph: Graph, call: Call, x: Value, lambd: float) -> str:
    """Zero between -lambd and lambd."""
    return graph.node("Shrink", x, lambd=float(lambd), bias=0.0)


@rule("softshrink")
def softshrink(graph: Graph, call: Call, x: Value, lambd: float) -> str:
    """Towards zero by lambd, and zero between."""
    return graph.node("Shrink", x, lambd=float(lambd), bias=float(lambd))


@rule("threshold")
def threshold(graph: Graph, call: Call, x: Value, limit: float, value: float) -> str:
    """X above a limit, a number elsewhere."""
    above = graph.node("Greater", x, graph.number(limit, x.dtype))
    return graph.node("Where", above, x, graph.number(value, x.dtype))


@rule("leaky_relu")
def leaky_relu(graph: Graph, call: Call, x: Value, slope: float) -> str:
    """X above zero, slope * x below."""
    return graph.node("LeakyRelu", x, alpha=float(slope))


@rule("rrelu_with_noise")
def rrelu(
    graph: Graph,
    call: Call,
    x: Value,
    noise: Any,
    low: float,
    high: float,
    training: bool,
) -> str:
    """The slope in the middle, as in evaluation."""
    if training:
        raise CannotTranslateError("it draws random slopes: call model.eval() first")
    return graph.node("LeakyRelu", x, alpha=(low + high) / 2)


@rule("_prelu_kernel")
def prelu(graph: Graph, call: Call, x: Value, weight: Value) -> str:
    """A slope of its own for each channel."""
    return graph.node("PRelu", x, weight)


@rule("elu")
def elu(
    graph: Graph, call: Call, x: Value, alpha: float, scale: float, input_scale: float
) -> str:
    """scale * (x if x > 0 else alpha * (exp(x * input_scale) - 1))."""
    if input_scale == 1 and scale == 1:
        return graph.node("Elu", x, alpha=float(alpha))
    if input_scale == 1:
        return graph.node("Selu", x, alpha=float(alpha), gamma=float(scale))
    below = graph.node("Elu", graph.node("Mul", x, graph.number(input_scale, x.dtype)))
    below = graph.node("Mul", below, graph.number(alpha, x.dtype))
    above = graph.node("Greater", x, graph.number(0, x.dtype))
    found = graph.node("Where", above, x, below)
    return graph.node("Mul", found, graph.number(scale, x.dtype))


@rule("celu")
def celu(graph: Graph, call: Call, x: Value, alpha: float) -> str:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return graph.node("Celu", x, alpha=float(alpha))


@rule("gelu")
def gelu(graph: Graph, call: Call, x: Value, approximate: str) -> str:
    """X times the normal distribution function, or its approximation with tanh."""
    if graph.opset >= 20:
        return graph.node("Gelu", x, approximate=approximate)

    def number(value: float) -> str:
        return graph.number(value, x.dtype)

    if approximate == "tanh":
        cube = graph.node(
            "Mul", graph.node("Mul", x, graph.node("Mul", x, x)), number(0.044715)
        )
        inner = graph.node(
            "Mul", graph.node("Add", x, cube), number(math.sqrt(2 / math.pi))
        )
        bend = graph.node("Tanh", inner)
    else:
        bend = graph.node("Erf", graph.node("Div", x, number(math.sqrt(2))))
    half = graph.node("Mul", x, number(0.5))
    return graph.node("Mul", half, graph.node("Add", bend, number(1)))


@rule("silu")
def silu(graph: Graph, call: Call, x: Value) -> str:
    """X * sigmoid(x)."""
    return graph.node("Mul", x, graph.node("Sigmoid", x))


@rule("softplus")
def softplus(graph: Graph, call: Call, x: Value, beta: float, limit: float) -> str:
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the limit."""
    wide = graph.node("Mul", x, graph.number(beta, x.dtype))
    soft = graph.node("Softplus", wide)
    soft = graph.node("Div", soft, graph.number(beta, x.dtype))
    above = graph.node("Greater", wide, graph.number(limit, x.dtype))
    return graph.node("Where", above, x, soft)


@rule("log_sigmoid_forward")
def log_sigmoid(graph: Graph, call: Call, x: Value) -> tuple[str, None]:
    """-softplus(-x); what the backward pass keeps is not exported."""
    soft = graph.node("Softplus", graph.node("Neg", x))
    return graph.node("Neg", soft), None


@rule("glu")
def glu(graph: Graph, call: Call, x: Value, dim: int) -> str:
    """One half times the sigmoid of the other."""
    axis = axis_of(dim, x.ndim)
    first, second = graph.nodes_of("Split", 2, x, axis=axis, num_outputs=2)
    return graph.node("Mul", first, graph.node("Sigmoid", second))


@rule("softmax", "_softmax", "log_softmax", "_log_softmax")
def softmax(graph: Graph, call: Call, x: Value, dim: int, *options: Any) -> str:
    """Exponentials that sum to one, or their logarithms."""
    kind = "LogSoftmax" if "log" in call.name else "Softmax"
    name = graph.cast(x, call.outputs[0].dtype)
    if not x.ndim:
        flat = graph.node(kind, graph.reshape(name, (), (1,)), axis=0)
        return graph.reshape(flat, (1,), ())
    return graph.node(kind, name, axis=axis_of(dim, x.ndim))


@rule("_safe_softmax")
def safe_softmax(graph: Graph, call: Call, x: Value, dim: int, *options: Any) -> str:
    """Softmax, but zero where everything is masked with -inf."""
    axis = axis_of(dim, x.ndim)
    found = graph.node("Softmax", x, axis=axis)
    top = graph.node("ReduceMax", x, graph.ints([axis]), keepdims=1)
    empty = graph.node("Equal", top, graph.number(-np.inf, x.dtype))
    return graph.node("Where", empty, graph.number(0, x.dtype), found)


@rule("_native_dropout")
def dropout(graph: Graph, call: Call, *args: Any) -> str:
    """Refuse: it drops at random."""
    raise CannotTranslateError("it draws random numbers: call model.eval() first")
