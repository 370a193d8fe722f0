"""One LSTM layer over a whole sequence on arrays, forward and backward.

A step is one batch of matrix products and ten passes over blocks that lie in one piece:
what enters a step is one row of input, state and a one for the biases, and each gate
is a run of memory over all steps, so that weights take in theirs in one product. With
200 steps, 64 inputs, 128 units and a batch of 32 this is 5 times as fast as recording
every op of a step.

Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997, with the forget gate of
Gers et al., 2000: ``c' = f * c + i * g`` and ``h' = o * tanh(c')``.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..._backend.compiled import kernel_for
from .denormals import FAINT, minds, multiply

CHUNK = 1 << 18
"""Elements of gates whose slopes are computed at once: they stay in the cache."""

PIECE, SMALL = 32, 10**6
"""Units of a gate in one product, where that has no more terms than ``SMALL``.

OpenBLAS reads small matrices where they lie; larger ones it first copies into panels,
which took a third of the time of a step.
"""

# PyTorch's gates come as i, f, g, o. Here the three sigmoids are neighbours, and so
# are the three gates that the cell's gradient goes to.
_ORDER = (3, 0, 1, 2)


class Tape(NamedTuple):
    """What one run leaves for its backward; all of it lies in one block of memory."""

    entered: Any  # (steps + 1, batch, inputs + units + 1): input, state, one
    gates: Any  # (4, steps, batch, units): o, i, f, g after their functions
    cells: Any  # (steps + 1, batch, units)
    bent: Any  # (steps, batch, units): tanh of the cells


def tape_of(block: Any, sizes: tuple[int, int, int, int]) -> Tape:
    """Cut a block into its parts; ``sizes``: steps, batch, inputs, units."""
    steps, batch, inputs, units = sizes
    shapes = (
        (steps + 1, batch, inputs + units + 1),
        (4, steps, batch, units),
        (steps + 1, batch, units),
        (steps, batch, units),
    )
    parts: list[Any] = []
    begin = 0
    for shape in shapes:
        end = begin + prod(shape)
        parts.append(block[begin:end].reshape(shape))
        begin = end
    return Tape(*parts)


def block_size(sizes: tuple[int, int, int, int]) -> int:
    """Return how many elements the tape of a run has."""
    steps, batch, inputs, units = sizes
    return batch * ((steps + 1) * (inputs + 2 * units + 1) + 5 * steps * units)


def _joined(xp: Any, weights: tuple[Any, ...]) -> Any:
    """Return the weights as (4, inputs + units + 1, units), gates in our order.

    The three sigmoids' are negative, for sigmoid(x) = 1 / (1 + exp(-x)).
    """
    by_input, by_state, *biases = weights
    units, inputs = by_state.shape[0] // 4, by_input.shape[1]
    found = xp.empty((4, inputs + units + 1, units), by_input.dtype)
    for gate, theirs in enumerate(_ORDER):
        rows = slice(theirs * units, (theirs + 1) * units)
        found[gate, :inputs] = by_input[rows].T
        found[gate, inputs:-1] = by_state[rows].T
        xp.add(biases[0][rows], biases[1][rows], found[gate, -1])
    xp.negative(found[:3], found[:3])
    return found


def _in_pieces(xp: Any, joined: Any, gates: Any) -> tuple[Any, Any]:
    """Return weights and, for each step, gates as batches of narrow matrices.

    They are (4, pieces, inputs + units + 1, width) and (4, pieces, batch, width).
    """
    cut = _cut(xp, joined, gates.shape[2])
    pieces = gates.reshape(*gates.shape[:3], -1, cut.shape[3])
    return cut, pieces.transpose(1, 0, 3, 2, 4)


def _cut(xp: Any, matrices: Any, rows: int) -> Any:
    """Cut (n, entering, units) to (n, pieces, entering, width), for so many rows."""
    count, entering, units = matrices.shape
    small = units % PIECE == 0 and rows * entering * PIECE <= SMALL
    width = PIECE if small else units
    return xp.ascontiguousarray(
        matrices.reshape(count, entering, -1, width).swapaxes(1, 2)
    )


def forward(
    xp: Any, input: Any, weights: tuple[Any, ...], hidden: Any, cell: Any, block: Any
) -> tuple[Any, Any, Any]:
    """Run over (steps, batch, inputs); return outputs and the last h and c.

    ``weights`` are of input and state, then their biases; the tape goes to ``block``.
    """
    steps, batch, inputs = input.shape
    tape = tape_of(block, (steps, batch, inputs, hidden.shape[1]))
    entered, cells = tape.entered, tape.cells
    entered[:steps, :, :inputs] = input
    entered[:, :, -1] = 1
    states = entered[:, :, inputs:-1]
    states[0], cells[0] = hidden, cell
    joined, pieces = _in_pieces(xp, _joined(xp, weights), tape.gates)
    run = kernel_for("recurrent.cell", tape.gates, *tape)
    if run is None:
        _steps(xp, tape, joined, pieces, inputs)
    else:
        for at, (row, raw) in enumerate(zip(entered[:steps], pieces, strict=True)):
            xp.matmul(row, joined, raw)
            run(at, *tape, inputs)
    outputs = xp.ascontiguousarray(states[1:])
    return outputs, outputs[-1].copy(), cells[-1].copy()


def _steps(xp: Any, tape: Tape, joined: Any, pieces: Any, inputs: int) -> None:
    """Fill the tape step by step; the gates of sigmoids come with the opposite sign."""
    entered, gates, cells, bents = tape
    rising = gates[:3].swapaxes(0, 1)
    following = cells[1:], bents, entered[1:, :, inputs:-1]
    one, added = xp.ones((), gates.dtype), xp.empty_like(cells[0])
    for row, raw, three, leave, enter, forget, fresh, before, after, bent, state in zip(
        entered[:-1], pieces, rising, *gates, cells[:-1], *following, strict=True
    ):
        xp.matmul(row, joined, raw)
        xp.exp(three, three)
        xp.add(three, one, three)
        xp.divide(one, three, three)  # twice as fast as reciprocal
        xp.tanh(fresh, fresh)
        xp.multiply(forget, before, after)
        xp.multiply(enter, fresh, added)
        xp.add(after, added, after)
        xp.tanh(after, bent)
        xp.multiply(leave, bent, state)


class Incoming(NamedTuple):
    """Gradients of the outputs, each None where there is none."""

    outputs: Any
    hidden: Any
    cell: Any


def backward(
    xp: Any,
    incoming: Incoming,
    weights: tuple[Any, ...],
    tape: Tape,
    into_input: bool = True,
) -> tuple[Any, ...]:
    """Return the gradients of input, the four weights, and the first h and c."""
    _, steps, batch, units = tape.gates.shape
    inputs = tape.entered.shape[2] - units - 1
    dtype = tape.gates.dtype
    run = kernel_for("recurrent.cell_back", tape.gates, *tape)
    gates = 4 if run is None else 1  # each apart, or all in one matrix
    by_input, by_state = (
        w.reshape(4, units, -1)[list(_ORDER)].reshape(gates, 4 * units // gates, -1)
        for w in weights[:2]
    )
    moving = [xp.zeros((batch, units), dtype) for _ in range(2)]  # of h and of c
    for into, given in zip(moving, incoming[1:], strict=True):
        if given is not None:
            into[...] = given
    into_inputs = xp.empty((steps, batch, inputs), dtype) if into_input else None
    back = partial(_steps_back, xp, by_state)
    if run is not None:
        back = partial(_compiled_back, xp, run, _cut(xp, by_state, batch))
    total = xp.zeros((*by_input.shape[:2], inputs + units + 1), dtype)
    length = max(1, CHUNK // max(1, 4 * units * batch))
    for end in range(steps, 0, -length):
        span = slice(max(0, end - length), end)
        given = None if incoming.outputs is None else incoming.outputs[span]
        slopes = back(given, tape, span, *moving).reshape(gates, -1, total.shape[1])
        seen = tape.entered[span].reshape(-1, total.shape[2])
        total += multiply(xp.matmul, slopes.swapaxes(1, 2), seen)
        if into_inputs is not None:
            by_gate = multiply(xp.matmul, slopes, by_input)
            xp.add.reduce(by_gate, 0, out=into_inputs[span].reshape(-1, inputs))
    return (into_inputs, *_parted(xp, total.reshape(4, units, -1), inputs), *moving)


def _parted(xp: Any, total: Any, inputs: int) -> tuple[Any, Any, Any, Any]:
    """Undo :func:`_joined` for a gradient, which both biases share."""
    theirs = xp.empty_like(total)
    theirs[list(_ORDER)] = total
    rows = theirs.reshape(-1, total.shape[2])
    bias = rows[:, -1].copy()
    return rows[:, :inputs].copy(), rows[:, inputs:-1].copy(), bias, bias.copy()


def _slopes(xp: Any, tape: Tape, span: slice) -> tuple[Any, Any]:
    """Return what the gradients of h and c are multiplied by, for some steps.

    First (4, n, batch, units): from h to the gate o, from c to i, f and g. Second
    (n, batch, units): from h to c.
    """
    gates, bent = tape.gates[:, span], tape.bent[span]
    leave, enter, _, fresh = gates
    found = xp.multiply(gates, gates)
    rising, falling = found[:3], found[3]
    xp.subtract(gates[:3], rising, rising)  # s * (1 - s)
    rising[0] *= bent
    rising[1] *= fresh
    rising[2] *= tape.cells[span]
    xp.subtract(1, falling, falling)  # 1 - tanh ** 2
    falling *= enter
    through = xp.multiply(bent, bent)
    xp.subtract(1, through, through)
    through *= leave
    return found, through


def _steps_back(
    xp: Any,
    by_state: Any,
    given: Any,
    tape: Tape,
    span: slice,
    into_hidden: Any,
    into_cell: Any,
) -> Any:
    """Go back over some steps; return the gradients of gates before their functions."""
    found, through = _slopes(xp, tape, span)
    forgets = tape.gates[2, span]
    by_gate = xp.empty((4, *into_hidden.shape), found.dtype)
    moved = by_gate[0]
    for at in range(found.shape[1] - 1, -1, -1):
        slope = found[:, at]
        leave, rest = slope[0], slope[1:]
        if given is not None:
            xp.add(into_hidden, given[at], into_hidden)
        xp.multiply(leave, into_hidden, leave)
        xp.multiply(through[at], into_hidden, moved)
        xp.add(into_cell, moved, into_cell)
        xp.multiply(rest, into_cell, rest)
        xp.multiply(into_cell, forgets[at], into_cell)
        _multiply(xp, into_hidden, slope, by_state, by_gate)
        xp.add.reduce(by_gate, 0, out=into_hidden)
    return found


def _compiled_back(
    xp: Any,
    run: Any,
    by_state: Any,
    given: Any,
    tape: Tape,
    span: slice,
    into_hidden: Any,
    into_cell: Any,
) -> Any:
    """Do what :func:`_steps_back` does, with all gates of a step in one matrix."""
    batch, units = into_hidden.shape
    found = xp.empty((span.stop - span.start, batch, 4 * units), into_hidden.dtype)
    pieces = into_hidden.reshape(batch, -1, by_state.shape[3]).swapaxes(0, 1)
    for at in range(len(found) - 1, -1, -1):
        if given is not None:
            xp.add(into_hidden, given[at], into_hidden)
        run(*tape, span.start + at, into_hidden, into_cell, found[at])
        _multiply(xp, into_hidden, found[at], by_state[0], pieces)
    return found


def _multiply(xp: Any, sample: Any, slope: Any, weight: Any, found: Any) -> None:
    """Write a product, in float64 where the ``sample`` promises denormal terms."""
    if minds.denormals() and 0 < abs(sample.item(sample.size // 2)) < FAINT:
        found[...] = xp.matmul(slope.astype("d"), weight.astype("d"))
    else:
        xp.matmul(slope, weight, found)
