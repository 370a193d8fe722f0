"""Recurrent layers step by step, and sequences of several lengths packed for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..._autocast.autocast import autocasts
from ..._backend import backend_of
from ..._dispatch.declare import FUNCTIONS, Array, op, public
from ..._tensor.tensor import Tensor, wrap
from .._support.operands import hidden_op
from ..creation.factories import full
from ..rearrange.cat import cat, stack
from ..views.reshape import view
from ..views.split import unbind
from .lstm_layer import Run, runs_whole, whole_layer
from .recurrent_steps import (
    Cell,
    Hidden,
    Layer,
    Weights,
    gru_step,
    lstm_step,
    relu_step,
    tanh_step,
)

_UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
    "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence "
    "to sidestep this requirement if you do not need ONNX exportability."
)
_NO_LENGTH = (
    "Length of all samples has to be greater than 0, but found an element in 'lengths' "
    "that is <= 0"
)


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (first step, end, batch size) of runs of steps of one batch size."""
    start = 0
    for step in range(1, len(sizes) + 1):
        if step == len(sizes) or sizes[step] != sizes[start]:
            yield start, step, sizes[start]
            start = step


def _check_lengths(lengths: Any, batch: int) -> list[int]:
    if lengths.ndim != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.ndim}D cpu Long tensor"
        )
    found: list[int] = lengths.tolist()
    if len(found) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(found)} "
            f"(batch_size={batch})"
        )
    if found[-1] <= 0:
        raise RuntimeError(_NO_LENGTH)
    if any(a < b for a, b in itertools.pairwise(found)):
        raise RuntimeError(_UNSORTED)
    return found


def _unpacked(
    F: Any, grad: Any, input_shape: Any, result1: Any, batch_first: bool
) -> Any:
    sizes = tuple(result1.tolist())
    return F._pack_padded_sequence_backward(grad[0], input_shape, sizes, batch_first)


@op(
    {"input": _unpacked},
    node="PackPaddedSequenceBackward0",
    outputs=2,
    differentiable=(0,),
    method=False,
)
def _pack_padded_sequence(
    xp: Any, input: Array, lengths: Array, batch_first: bool
) -> Any:
    """Return the rows that are no padding, and how many there are at each step."""
    steps = input.swapaxes(0, 1) if batch_first else input
    if not input.size:
        raise RuntimeError("Cannot pack empty tensors.")
    ends = _check_lengths(lengths, steps.shape[1])
    sizes = [sum(end > step for end in ends) for step in range(ends[0])]
    parts = [
        steps[start:end, :size].reshape(-1, *input.shape[2:])
        for start, end, size in _blocks(sizes)
    ]
    return xp.concatenate(parts), xp.asarray(sizes, "int64")


@hidden_op(
    {
        "grad_output": lambda F, grad, sizes, batch_first: F._pack_rows(
            grad, sizes, batch_first
        )
    }
)
def _pack_padded_sequence_backward(
    xp: Any,
    grad_output: Array,
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    batch_first: bool,
) -> Any:
    """Put packed rows back into a padded batch of zeros."""
    found = xp.zeros(shape, grad_output.dtype)
    steps = found.swapaxes(0, 1) if batch_first else found
    offset = 0
    for start, end, size in _blocks(sizes):
        block = steps[start:end, :size]
        rows = block.shape[0] * size
        block[...] = grad_output[offset : offset + rows].reshape(block.shape)
        offset += rows
    return found


@hidden_op(
    {
        "self": lambda F, grad, self_shape, sizes, batch_first: (
            F._pack_padded_sequence_backward(grad, self_shape, sizes, batch_first)
        )
    }
)
def _pack_rows(xp: Any, self: Array, sizes: tuple[int, ...], batch_first: bool) -> Any:
    """Take the rows of a padded batch that packing keeps."""
    steps = self.swapaxes(0, 1) if batch_first else self
    return xp.concatenate(
        [
            steps[start:end, :size].reshape(-1, *self.shape[2:])
            for start, end, size in _blocks(sizes)
        ]
    )


@public
def _pad_packed_sequence(
    data: Tensor,
    batch_sizes: Tensor,
    batch_first: bool,
    padding_value: float,
    total_length: int,
) -> tuple[Tensor, Tensor]:
    """Return packed rows as a padded batch, and the length of each sequence."""
    sizes: list[int] = batch_sizes.tolist()
    inner = tuple(data.shape[1:])
    steps = total_length if total_length > 0 else len(sizes)
    if steps < len(sizes):
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence "
            f"in input, but got total_length={total_length} and max sequence length "
            f"being {len(sizes)}"
        )
    shape = (steps, sizes[0], *inner)
    output = full(shape, padding_value, dtype=data.dtype, device=data.device)
    offset = 0
    for start, end, size in _blocks(sizes):
        rows = (end - start) * size
        block = view(data[offset : offset + rows], (end - start, size, *inner))
        output[start:end, :size].copy_(block)
        offset += rows
    if batch_first:
        output = output.transpose(0, 1)
    xp = backend_of(batch_sizes._data).xp
    ends = [sum(size > row for size in sizes) for row in range(sizes[0])]
    return output, wrap(xp.asarray(ends, "int64"))


# ---- one layer, one direction ----


def _along_steps(
    cell: Cell, input: Tensor, state: Hidden, weights: Weights, backwards: bool
) -> tuple[Tensor, Hidden]:
    """Run over (time, batch, features)."""
    steps: Sequence[Tensor] = unbind(weights.of_input(input), 0)
    outputs: list[Tensor] = []
    for step in reversed(steps) if backwards else steps:
        state = cell(step, state, weights)
        outputs.append(state[0])
    if backwards:
        outputs.reverse()
    return stack(outputs, 0), state


def _packed_forwards(
    cell: Cell, data: Tensor, sizes: list[int], state: Hidden, weights: Weights
) -> tuple[Tensor, Hidden]:
    """Run over packed data, setting aside states of sequences that have ended."""
    gates, offset, last = weights.of_input(data), 0, sizes[0]
    outputs: list[Tensor] = []
    ended: list[Hidden] = []
    for size in sizes:
        step = gates.narrow(0, offset, size)
        offset += size
        if size < last:
            ended.append(_rows(state, size, last))
            state = _rows(state, 0, size)
        last = size
        state = cell(step, state, weights)
        outputs.append(state[0])
    ended.append(state)
    return cat(outputs, 0), _joined(ended[::-1])


def _packed_backwards(
    cell: Cell, data: Tensor, sizes: list[int], first: Hidden, weights: Weights
) -> tuple[Tensor, Hidden]:
    """Run from the last step to the first, taking in sequences as they begin."""
    gates, offset, last = weights.of_input(data), data.shape[0], sizes[-1]
    outputs: list[Tensor] = []
    state = _rows(first, 0, last)
    for size in reversed(sizes):
        if size > last:
            state = _joined([state, _rows(first, last, size)])
        offset -= size
        last = size
        state = cell(gates.narrow(0, offset, size), state, weights)
        outputs.append(state[0])
    return cat(outputs[::-1], 0), state


def _rows(state: Hidden, start: int, end: int) -> Hidden:
    return tuple(part.narrow(0, start, end - start) for part in state)


def _joined(states: list[Hidden]) -> Hidden:
    return tuple(cat(parts, 0) for parts in zip(*states, strict=True))


def _packed(
    cell: Cell,
    sizes: list[int],
    data: Tensor,
    state: Hidden,
    weights: Weights,
    backwards: bool,
) -> tuple[Tensor, Hidden]:
    run = _packed_backwards if backwards else _packed_forwards
    return run(cell, data, sizes, state, weights)


# ---- stacks of layers ----


def _stacked(
    run_layer: Layer,
    input: Tensor,
    states: list[Hidden],
    weights: list[Weights],
    run: Run,
) -> tuple[Tensor, list[Tensor]]:
    """Run all layers; return the last one's output, and each part of the states."""
    directions = 2 if run.bidirectional else 1
    if len(weights) < run.num_layers * directions:
        raise RuntimeError("Expected more weights in apply_layer_stack")
    final: list[Hidden] = []
    for layer in range(run.num_layers):
        outputs: list[Tensor] = []
        for way in range(directions):
            at = layer * directions + way
            found = run_layer(input, states[at], weights[at], way == 1)
            outputs.append(found[0])
            final.append(found[1])
        input = outputs[0] if directions == 1 else cat(outputs, outputs[0].dim() - 1)
        if run.dropout and run.train and layer < run.num_layers - 1:
            input = FUNCTIONS["dropout"](input, run.dropout, True)
    return input, [stack(list(parts), 0) for parts in zip(*final, strict=True)]


def _gathered(params: Sequence[Tensor], biases: bool, projected: bool) -> list[Weights]:
    """Cut the flat list of parameters into one record per layer and direction."""
    count = 2 + 2 * biases + projected
    if len(params) % count:
        raise RuntimeError(
            f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {count}"
        )
    found: list[Weights] = []
    for start in range(0, len(params), count):
        group = list(params[start : start + count])
        projection = group.pop() if projected else None
        found.append(Weights(*group)._replace(projection=projection))
    return found


def _network(
    cell: Cell, parts: list[Tensor], args: tuple[Any, ...]
) -> tuple[Tensor, list[Tensor]]:
    """Read a call for padded or packed input, run it, and lay out the result.

    ``parts`` are the initial states; ``args`` what PyTorch's function takes, with
    the states left out.
    """
    packed = isinstance(args[1], Tensor)
    if packed:
        input, batch_sizes, params, *how = args
        run_layer: Layer = partial(_packed, cell, batch_sizes.tolist())
        batch_first = False
    else:
        input, params, *how, batch_first = args
        run_layer = partial(_along_steps, cell)
        if batch_first:
            input = input.transpose(0, 1)
        if input.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    run = Run(*how)
    projected = len(parts) == 2 and parts[0].shape[2] != parts[1].shape[2]
    weights = _gathered(params, run.has_biases, projected)
    if cell is lstm_step and not packed and runs_whole(input, parts, weights):
        run_layer = partial(whole_layer, run, batch_first)
        input, rows = input.contiguous(), range(parts[0].shape[0])
        states = [tuple(part.select(0, row) for part in parts) for row in rows]
    else:
        states = list(zip(*(unbind(part, 0) for part in parts), strict=True))
    output, final = _stacked(run_layer, input, states, weights, run)
    if batch_first and len(parts) == 2:
        output = output.transpose(0, 1)
    elif batch_first:
        output.transpose_(0, 1)  # as in PyTorch, so that it is no view
    return output, final


_whole_lstm = autocasts("mkldnn_rnn_layer")(_network)
"""An LSTM without projections on padded input: in PyTorch, one op on the CPU."""


def _without(position: int, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return args[position], (*args[:position], *args[position + 1 :])


def _state_position(args: tuple[Any, ...], pair: bool) -> int:
    """Tell where the states are: (input, hx, …) or (data, batch_sizes, hx, …)."""
    if pair:
        return 2 if isinstance(args[1], Tensor) else 1
    return 2 if isinstance(args[2], Tensor) else 1


@public
def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Run an LSTM: (input, (h, c), params, has_biases, …) or packed data first.

    Returns the outputs of the last layer and the final h and c of every layer.
    """
    states, rest = _without(_state_position(args, pair=True), args)
    if len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    padded = not isinstance(rest[1], Tensor)
    if padded and states[0].shape == states[1].shape:
        output, (hidden, cell) = _whole_lstm(lstm_step, list(states), rest)
    else:
        output, (hidden, cell) = _network(lstm_step, list(states), rest)
    return output, hidden, cell


def _simple(name: str, cell: Cell, doc: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def run(*args: Any) -> tuple[Tensor, Tensor]:
        state, rest = _without(_state_position(args, pair=False), args)
        output, (hidden,) = _network(cell, [state], rest)
        return output, hidden

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Run {doc}; return outputs and final states."
    return public(run)


gru = _simple("gru", gru_step, "gated recurrent units")
rnn_tanh = _simple("rnn_tanh", tanh_step, "an Elman network with tanh")
rnn_relu = _simple("rnn_relu", relu_step, "an Elman network with relu")


# ---- single cells ----


def _check_cell(input: Tensor, state: Hidden, w_ih: Tensor, w_hh: Tensor) -> None:
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[1]} expected "
            f"{w_ih.shape[1]}"
        )
    for number, part in enumerate(state):
        if input.shape[0] != part.shape[0]:
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{number} batch "
                f"size {part.shape[0]}"
            )
        if part.shape[1] != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {part.shape[1]}, "
                f"expected {w_hh.shape[1]}"
            )


def _once(cell: Cell, input: Tensor, state: Hidden, *weights: Tensor | None) -> Hidden:
    found = Weights(*weights)  # pyright: ignore[reportArgumentType]
    _check_cell(input, state, found.input, found.hidden)
    return cell(found.of_input(input), state, found)


@public
@autocasts("lstm_cell")
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take one step of an LSTM; return the next h and c, each (batch, hidden)."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden, cell = _once(lstm_step, input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return hidden, cell


def _single(name: str, cell: Cell, doc: str) -> Callable[..., Tensor]:
    def step(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return _once(cell, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    step.__name__ = step.__qualname__ = name
    step.__doc__ = f"Take one step of {doc}; return the next state, (batch, hidden)."
    return public(autocasts(name)(step))


gru_cell = _single("gru_cell", gru_step, "a gated recurrent unit")
rnn_tanh_cell = _single("rnn_tanh_cell", tanh_step, "an Elman network with tanh")
rnn_relu_cell = _single("rnn_relu_cell", relu_step, "an Elman network with relu")
