"""``nn.utils.rnn``: batches of sequences of unlike lengths, padded and packed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import (
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import full
from ...ops.creation.from_data import as_tensor
from ...ops.creation.ranges import arange
from ...ops.nn.recurrent import _pack_padded_sequence, _pad_packed_sequence

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_MADE_BY_HAND = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
    "created manually. They should be instantiated by functions like pack_sequence and "
    "pack_padded_sequences in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)


class PackedSequence_(NamedTuple):
    """The fields of a packed sequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Rows of several sequences, ordered by time step, without padding.

    ``data`` is (rows, …); ``batch_sizes`` says how many rows each step has.
    ``sorted_indices`` is the order, longest first, in which the sequences lie.
    Made by :func:`pack_padded_sequence` and :func:`pack_sequence`.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Any:
        """Make one of its fields, or of a pair (data, batch_sizes)."""
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(_MADE_BY_HAND)
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, move: Callable[[Tensor], Tensor]) -> Any:
        indices = (self.sorted_indices, self.unsorted_indices)
        moved = [None if each is None else move(each) for each in indices]
        return type(self)(data, self.batch_sizes, *moved)

    def pin_memory(self) -> Any:
        """Return the sequence in page-locked memory."""
        pinned: Any = self.data.pin_memory()
        return self._with(pinned, lambda indices: indices.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sequence with its data converted as ``Tensor.to`` does."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with(data, lambda indices: indices.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sequence on the GPU."""
        return self.to(*args, **({} if args else {"device": "cuda"}), **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sequence in host memory."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def double(self) -> Any:
        """Return the sequence with float64 data."""
        return self.to(dtype=float64)

    def float(self) -> Any:
        """Return the sequence with float32 data."""
        return self.to(dtype=float32)

    def half(self) -> Any:
        """Return the sequence with float16 data."""
        return self.to(dtype=float16)

    def long(self) -> Any:
        """Return the sequence with int64 data."""
        return self.to(dtype=int64)

    def int(self) -> Any:
        """Return the sequence with int32 data."""
        return self.to(dtype=int32)

    def short(self) -> Any:
        """Return the sequence with int16 data."""
        return self.to(dtype=int16)

    def char(self) -> Any:
        """Return the sequence with int8 data."""
        return self.to(dtype=int8)

    def byte(self) -> Any:
        """Return the sequence with uint8 data."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Tell whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another; None of None.

    >>> import gradtape as torch
    >>> invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    output = FUNCTIONS["empty_like"](permutation)
    places = arange(0, permutation.numel(), device=permutation.device)
    return output.scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch, (time, batch, …), whose sequences have these lengths.

    With ``enforce_sorted`` lengths must fall, else RuntimeError is raised; without,
    the batch is sorted and the order kept.
    """
    if isinstance(lengths, Tensor):
        ends = lengths.to(dtype=int64)
    else:
        ends = as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        ends, order = FUNCTIONS["sort"](ends, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _pack_padded_sequence(input, ends, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return a packed sequence as a padded batch, and the lengths.

    ``total_length`` pads further; ValueError is raised where it is too short.
    """
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest "
                f"sequence in input, but got total_length={total_length} and max "
                f"sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = _pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, steps
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences, (length, …) each, into (longest, batch, …).

    >>> import gradtape as torch
    >>> pad_sequence([torch.ones(1), torch.ones(2)], batch_first=True)
    tensor([[1., 0.],
            [1., 1.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    given: list[Tensor] = list(sequences)
    _check_sequences(given, padding_side)
    longest, inner = max(s.shape[0] for s in given), tuple(given[0].shape[1:])
    lead = (len(given), longest) if batch_first else (longest, len(given))
    first = given[0]
    output = full(
        (*lead, *inner), padding_value, dtype=first.dtype, device=first.device
    )
    for row, sequence in enumerate(given):
        length = sequence.shape[0]
        start = longest - length if padding_side == "left" else 0
        steps = output.select(0 if batch_first else 1, row)
        steps.narrow(0, start, length).copy_(sequence)
    return output


def _check_sequences(given: Sequence[Any], padding_side: str) -> None:
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    for at, sequence in enumerate(given):
        if not isinstance(sequence, Tensor):
            raise TypeError(
                f"expected Tensor as element {at} in argument 0, but got "
                f"{type(sequence).__name__}"
            )
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if given[0].dim() == 0:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Cut a padded batch back into sequences of these lengths."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    steps = arange(padded_sequences.shape[1], device=lengths.device)
    return [
        sequence[steps < length]
        for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]


def pack_sequence(
    sequences: list[Tensor], enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences of unlike lengths, (length, …) each."""
    lengths = as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences that were packed, in their first order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
