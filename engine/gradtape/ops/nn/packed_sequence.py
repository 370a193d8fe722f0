"""Packed sequences: the rows of a padded batch, step by step, without the padding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import Array, op, public
from ..._tensor.tensor import Tensor, wrap
from .._support.operands import hidden_op
from ..creation.factories import full
from ..views.reshape import view

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
