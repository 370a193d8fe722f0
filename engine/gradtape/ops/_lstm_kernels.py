"""One LSTM layer over a whole sequence on arrays, forward and backward.

A step is one matrix product and ten passes over blocks that lie in one piece: states
are kept as (features, batch), so that each gate is a run of memory, and what enters a
step is one column of input, state and a one for the biases. With 200 steps, 64 inputs,
128 units and a batch of 32 this is 5 times as fast as recording every op of a step.

Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997, with the forget gate of
Gers et al., 2000: ``c' = f * c + i * g`` and ``h' = o * tanh(c')``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

CHUNK = 1 << 17
"""Elements of gates whose slopes are computed at once: they stay in the cache."""

# PyTorch's gates come as i, f, g, o. Here the three sigmoids are neighbours, and so
# are the three gates that the cell's gradient goes to.
_ORDER = (3, 0, 1, 2)


class Tape(NamedTuple):
    """What one run leaves for its backward; all of it lies in one block of memory."""

    entered: Any  # (steps + 1, inputs + units + 1, batch): input, state, one
    gates: Any  # (steps, 4, units, batch): o, i, f, g after their functions
    cells: Any  # (steps + 1, units, batch)
    bent: Any  # (steps, units, batch): tanh of the cells


def tape_of(block: Any, sizes: tuple[int, int, int, int]) -> Tape:
    """Cut a block into its parts; ``sizes``: steps, batch, inputs, units."""
    steps, batch, inputs, units = sizes
    shapes = (
        (steps + 1, inputs + units + 1, batch),
        (steps, 4, units, batch),
        (steps + 1, units, batch),
        (steps, units, batch),
    )
    parts: list[Any] = []
    begin = 0
    for shape in shapes:
        end = begin + _volume(shape)
        parts.append(block[begin:end].reshape(shape))
        begin = end
    return Tape(*parts)


def block_size(sizes: tuple[int, int, int, int]) -> int:
    """Return how many elements the tape of a run has."""
    steps, batch, inputs, units = sizes
    return batch * ((steps + 1) * (inputs + 2 * units + 1) + 5 * steps * units)


def _volume(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _joined(xp: Any, by_input: Any, by_state: Any, biases: Any) -> Any:
    """Return the weights as (4 * units, inputs + units + 1), gates in our order."""
    units, inputs = by_state.shape[0] // 4, by_input.shape[1]
    found = xp.empty((4, units, inputs + units + 1), by_input.dtype)
    for gate, theirs in enumerate(_ORDER):
        rows = slice(theirs * units, (theirs + 1) * units)
        found[gate, :, :inputs] = by_input[rows]
        found[gate, :, inputs:-1] = by_state[rows]
        found[gate, :, -1] = biases[rows]
    return found


def forward(
    xp: Any, input: Any, weights: tuple[Any, ...], hidden: Any, cell: Any, block: Any
) -> tuple[Any, Any, Any]:
    """Run over (steps, batch, inputs); return outputs and the last h and c.

    ``weights`` are of input and state, then their biases; the tape goes to ``block``.
    """
    steps, batch, inputs = input.shape
    units = hidden.shape[1]
    tape = tape_of(block, (steps, batch, inputs, units))
    entered, gates = tape.entered, tape.gates
    entered[:steps, :inputs] = input.swapaxes(1, 2)
    entered[:, -1] = 1
    states = entered[:, inputs:-1]
    states[0] = hidden.T
    tape.cells[0] = cell.T
    joined = _joined(xp, weights[0], weights[1], weights[2] + weights[3])
    xp.negative(joined[:3], joined[:3])  # for sigmoid(x) = 1 / (1 + exp(-x))
    joined = joined.reshape(4 * units, -1)
    one = xp.ones((), input.dtype)
    added = xp.empty((units, batch), input.dtype)
    for column, raw, gate, before, after, bent, state in zip(
        entered[:steps],
        gates.reshape(steps, 4 * units, batch),
        gates,
        tape.cells[:steps],
        tape.cells[1:],
        tape.bent,
        states[1:],
        strict=True,
    ):
        xp.dot(joined, column, raw)
        rising, (leave, enter, forget, fresh) = gate[:3], gate
        xp.exp(rising, rising)
        xp.add(rising, one, rising)
        xp.divide(one, rising, rising)  # twice as fast as reciprocal
        xp.tanh(fresh, fresh)
        xp.multiply(forget, before, after)
        xp.multiply(enter, fresh, added)
        xp.add(after, added, after)
        xp.tanh(after, bent)
        xp.multiply(leave, bent, state)
    outputs = xp.ascontiguousarray(states[1:].swapaxes(1, 2))
    return outputs, outputs[-1].copy(), xp.ascontiguousarray(tape.cells[-1].T)


class Incoming(NamedTuple):
    """Gradients of the outputs, each None where there is none."""

    outputs: Any
    hidden: Any
    cell: Any


class _Moving(NamedTuple):
    """Gradients that a backward run moves along, step by step, in place."""

    state: Any  # (inputs + units, batch): of the input, then of h; or of h alone
    cell: Any  # (units, batch)
    inputs: Any  # (steps, inputs, batch), filled as the steps are done; or None


def backward(
    xp: Any,
    incoming: Incoming,
    weights: tuple[Any, ...],
    tape: Tape,
    into_input: bool = True,
) -> tuple[Any, ...]:
    """Return the gradients of input, the four weights, and the first h and c."""
    steps, _, units, batch = tape.gates.shape
    inputs = tape.entered.shape[1] - units - 1
    dtype = tape.gates.dtype
    joined = _joined(xp, *weights[:3]).reshape(4 * units, -1)
    back = xp.ascontiguousarray(joined[:, 0 if into_input else inputs : -1].T)
    moving = _Moving(
        xp.zeros((back.shape[0], batch), dtype),
        xp.zeros((units, batch), dtype),
        xp.empty((steps, inputs, batch), dtype) if into_input else None,
    )
    if incoming.hidden is not None:
        moving.state[-units:] = incoming.hidden.T
    if incoming.cell is not None:
        moving.cell[...] = incoming.cell.T
    total = xp.zeros((4 * units, inputs + units + 1), dtype)
    length = max(1, CHUNK // max(1, 4 * units * batch))
    for end in range(steps, 0, -length):
        span = slice(max(0, end - length), end)
        given = None
        if incoming.outputs is not None:
            given = xp.ascontiguousarray(incoming.outputs[span].swapaxes(1, 2))
        slopes = _steps_back(xp, given, tape, span, back, moving)
        slopes = slopes.reshape(-1, 4 * units, batch).swapaxes(0, 1)
        seen = tape.entered[span].swapaxes(0, 1).reshape(total.shape[1], -1)
        total += xp.dot(slopes.reshape(4 * units, -1), seen.T)
    return (
        xp.ascontiguousarray(moving.inputs.swapaxes(1, 2)) if into_input else None,
        *_parted(xp, total, inputs),
        xp.ascontiguousarray(moving.state[-units:].T),
        xp.ascontiguousarray(moving.cell.T),
    )


def _parted(xp: Any, total: Any, inputs: int) -> tuple[Any, Any, Any, Any]:
    """Undo :func:`_joined` for a gradient, which both biases share."""
    by_gate = total.reshape(4, total.shape[0] // 4, -1)
    theirs = xp.empty_like(by_gate)
    theirs[list(_ORDER)] = by_gate
    rows = theirs.reshape(total.shape)
    bias = rows[:, -1].copy()
    return rows[:, :inputs].copy(), rows[:, inputs:-1].copy(), bias, bias.copy()


def _slopes(xp: Any, tape: Tape, span: slice) -> tuple[Any, Any]:
    """Return what the gradients of h and c are multiplied by, for some steps.

    First (n, 4, units, batch): from h to the gate o, from c to i, f and g. Second
    (n, units, batch): from h to c.
    """
    gates, bent = tape.gates[span], tape.bent[span]
    leave, enter, fresh = gates[:, 0], gates[:, 1], gates[:, 3]
    found = xp.multiply(gates, gates)
    rising = found[:, :3]
    xp.subtract(gates[:, :3], rising, rising)  # s * (1 - s)
    rising[:, 0] *= bent
    rising[:, 1] *= fresh
    rising[:, 2] *= tape.cells[span]
    falling = found[:, 3]
    xp.subtract(1, falling, falling)  # 1 - tanh ** 2
    falling *= enter
    through = xp.multiply(bent, bent)
    xp.subtract(1, through, through)
    through *= leave
    return found, through


def _steps_back(
    xp: Any, given: Any, tape: Tape, span: slice, back: Any, moving: _Moving
) -> Any:
    """Go back over some steps; return the gradients of gates before their functions."""
    found, through = _slopes(xp, tape, span)
    count, _, units, batch = found.shape
    flat = found.reshape(count, 4 * units, batch)
    forgets = tape.gates[span][:, 2]
    hidden, into_input = moving.state[-units:], moving.state[:-units]
    into_cell, into_inputs = moving.cell, moving.inputs
    if into_inputs is not None:
        into_inputs = into_inputs[span]
    moved = xp.empty((units, batch), found.dtype)
    for at in range(count - 1, -1, -1):
        slope = found[at]
        leave, rest = slope[0], slope[1:]
        if given is not None:
            xp.add(hidden, given[at], hidden)
        xp.multiply(leave, hidden, leave)
        xp.multiply(through[at], hidden, moved)
        xp.add(into_cell, moved, into_cell)
        xp.multiply(rest, into_cell, rest)
        xp.multiply(into_cell, forgets[at], into_cell)
        xp.dot(back, flat[at], moving.state)
        if into_inputs is not None:
            into_inputs[at] = into_input
    return found
