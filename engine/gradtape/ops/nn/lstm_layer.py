"""mkldnn_rnn_layer: one LSTM layer over a whole sequence as one op, and one node.

PyTorch's CPU has it for float32 and bfloat16. Its kernels are in `_kernels/lstm.py`;
under ``create_graph`` the same gradient is written out in recorded ops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._dispatch.declare import FUNCTIONS, Array
from ..._dtypes import bfloat16, float32
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._kernels.lstm import Incoming, backward, block_size, forward, tape_of
from .._support.operands import hidden_op
from ..tensor.settings import onednn
from .recurrent_steps import Hidden, Weights

LSTM = 2
"""How PyTorch numbers the kinds of layers; the op knows this one."""


def _derivative(
    F: Any,
    grad: Any,
    input: Any,
    weight0: Any,
    weight1: Any,
    weight2: Any,
    weight3: Any,
    hx_: Any,
    cx_: Any,
    result0: Any,
    result1: Any,
    result2: Any,
    result3: Any,
    reverse: bool,
    needs: Any,
) -> Any:
    weights = (weight0, weight1, weight2, weight3)
    if F.raw:
        found = F.mkldnn_rnn_layer_backward(
            input, *weights, hx_, *grad[:3], result3, reverse, needs[0]
        )
    else:
        states = hx_, cx_, result0
        found = _recorded(F, grad, input, weights, states, reverse)
    return tuple(g if need else None for g, need in zip(found, needs, strict=True))


@hidden_op(
    {
        (
            "input",
            "weight0",
            "weight1",
            "weight2",
            "weight3",
            "hx_",
            "cx_",
        ): _derivative
    },
    outputs=4,
    differentiable=(0, 1, 2),
)
def mkldnn_rnn_layer(
    xp: Any,
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    hx_: Array,
    cx_: Array,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> Any:
    """Return outputs (T, N, H), the last h and c, and what backward needs of the run.

    ``input`` is (T, N, I); the weights are of input and state, then their biases.
    """
    steps, batch, inputs = input.shape
    dtype = input.dtype
    block = xp.empty(block_size((steps, batch, inputs, hidden_size)), "float32")
    arrays = (input, weight0, weight1, weight2, weight3, hx_, cx_)
    seen, *weights, hidden, cell = [_wide(a) for a in arrays]
    seen = seen[::-1] if reverse else seen
    outputs, hidden, cell = forward(xp, seen, tuple(weights), hidden, cell, block)
    if reverse:
        outputs = xp.ascontiguousarray(outputs[::-1])
    found = [a.astype(dtype, copy=False) for a in (outputs, hidden, cell)]
    return (*found, block.view("uint8"))


@hidden_op(outputs=7)
def mkldnn_rnn_layer_backward(
    xp: Any,
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    hx_: Array,
    grad_output: Array | None,
    grad_hy: Array | None,
    grad_cy: Array | None,
    workspace: Array,
    reverse: bool,
    into_input: bool,
) -> Any:
    """Return the gradients of input, the four weights, h and c."""
    dtype = input.dtype
    grads = (grad_output, grad_hy, grad_cy)
    outputs, hidden, cell = (None if g is None else _wide(g) for g in grads)
    if reverse and outputs is not None:
        outputs = outputs[::-1]
    weights = tuple(_wide(w) for w in (weight0, weight1, weight2, weight3))
    tape = tape_of(workspace.view("float32"), (*input.shape, hx_.shape[1]))
    incoming = Incoming(outputs, hidden, cell)
    found = list(backward(xp, incoming, weights, tape, into_input))
    if reverse and into_input:
        found[0] = xp.ascontiguousarray(found[0][::-1])
    return tuple(None if g is None else g.astype(dtype, copy=False) for g in found)


def _wide(array: Any) -> Any:
    return array.astype("float32", copy=False)


# ---- the op in a network ----


class Run(NamedTuple):
    """How a stack of layers is run."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


def runs_whole(input: Tensor, parts: list[Tensor], weights: list[Weights]) -> bool:
    """Tell whether an LSTM's layers are one op each: where PyTorch calls oneDNN.

    What does not fit together is left to the composed steps, whose ops refuse it.
    """
    known = [input, *parts, *(w for group in weights for w in group if w is not None)]
    units, features = parts[0].shape[2], input.shape[2]
    return (
        onednn.is_enabled()
        and input.dtype in (float32, bfloat16)
        and all(t.dtype is input.dtype for t in known)
        and all(type(t._data) is np.ndarray for t in known)
        and input.numel() != 0
        and mode.now.duals is None  # forward mode follows the composed steps
        and parts[0].shape == parts[1].shape
        and parts[0].shape[1] == input.shape[1]
        and bool(weights)
        and weights[0].input.shape == (4 * units, features)
        and all(w.hidden.shape == (4 * units, units) for w in weights)
    )


def whole_layer(
    run: Run,
    batch_first: bool,
    input: Tensor,
    state: Hidden,
    weights: Weights,
    backwards: bool,
) -> tuple[Tensor, Hidden]:
    """Run one layer in one direction; see the composed :func:`_along_steps`."""
    biases = weights.input_bias, weights.hidden_bias
    if not run.has_biases:
        nothing = FUNCTIONS["zeros"](weights.input.shape[0], dtype=input.dtype)
        biases = nothing, nothing
    tensors = (input, weights.input, weights.hidden, *biases, *state)
    units = state[0].shape[1]
    how = (backwards, (), LSTM, units, run.num_layers, run.has_biases)
    rest = (run.bidirectional, batch_first, run.train)
    output, hidden, cell, _ = mkldnn_rnn_layer(*tensors, *how, *rest)
    return output, (hidden, cell)


# ---- the same in recorded ops ----


def _recorded(
    F: Any,
    grads: Any,
    input: Any,
    weights: tuple[Any, ...],
    states: tuple[Any, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    """Return the gradients of all seven tensors as tensors with a history."""
    hx, cx, outputs = states
    count = input.shape[0]
    order = list(range(count))[:: -1 if reverse else 1]
    hidden = [hx, *(F.select(outputs, 0, at) for at in order)]
    steps: list[tuple[Any, ...]] = []
    cell = cx
    for number, at in enumerate(order):
        gates = _gates(F, F.select(input, 0, at), hidden[number], weights)
        enter, forget, fresh, _ = gates
        after = forget * cell + enter * fresh
        steps.append((at, hidden[number], cell, F.tanh(after), gates))
        cell = after
    into_hidden, into_cell = grads[1], grads[2]
    total: list[Any] = [None] * 3
    into_inputs: list[Any] = [None] * count
    for at, before, cell, bent, gates in reversed(steps):
        if grads[0] is not None:
            into_hidden = _sum(into_hidden, F.select(grads[0], 0, at))
        slope, into_cell = _step(F, into_hidden, into_cell, cell, bent, gates)
        into_inputs[at] = F.mm(slope, weights[0])
        into_hidden = F.mm(slope, weights[1])
        turned = F.t(slope)
        seen = F.mm(turned, F.select(input, 0, at)), F.mm(turned, before)
        parts = (*seen, F.sum(slope, (0,)))
        total = [_sum(*pair) for pair in zip(total, parts, strict=True)]
    by_weight = (total[0], total[1], total[2], total[2])
    return F.stack(into_inputs, 0), *by_weight, into_hidden, into_cell


def _sum(total: Any, part: Any) -> Any:
    return part if total is None else total + part


def _gates(F: Any, input: Any, hidden: Any, weights: tuple[Any, ...]) -> list[Any]:
    """Return the four gates i, f, g, o of a step, each (batch, units)."""
    raw = F.mm(input, F.t(weights[0])) + F.mm(hidden, F.t(weights[1]))
    raw = raw + weights[2] + weights[3]
    units = hidden.shape[1]
    parts = [F.slice(raw, 1, k * units, (k + 1) * units, 1) for k in range(4)]
    return [F.tanh(p) if k == 2 else F.sigmoid(p) for k, p in enumerate(parts)]


def _step(
    F: Any, into_hidden: Any, into_cell: Any, cell: Any, bent: Any, gates: list[Any]
) -> tuple[Any, Any]:
    """Return the gradient of a step's gates before their functions, and of its c."""
    enter, forget, fresh, leave = gates
    parts: list[Any] = [None] * 4
    if into_hidden is not None:
        parts[3] = into_hidden * bent * leave * (1 - leave)
        into_cell = _sum(into_cell, into_hidden * leave * (1 - bent * bent))
    else:
        parts[3] = leave * 0
    parts[0] = into_cell * fresh * enter * (1 - enter)
    parts[1] = into_cell * cell * forget * (1 - forget)
    parts[2] = into_cell * enter * (1 - fresh * fresh)
    return F.cat(parts, 1), into_cell * forget
