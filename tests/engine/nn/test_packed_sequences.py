"""Padding and packing of sequences give PyTorch's values, graphs and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from .._compare import graph_text
from ..oracle import assert_same


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence(batch_first: bool, side: str) -> None:
    def program(t: Any) -> Any:
        given = [t.randn(n, 2, requires_grad=True) for n in (2, 4, 0)]
        padded = t.nn.utils.rnn.pad_sequence(
            given, batch_first, padding_value=7.0, padding_side=side
        )
        padded.pow(2).sum().backward()
        return [padded, graph_text(padded.grad_fn), [x.grad for x in given]]

    assert_same(lambda t: (t.manual_seed(0), program(t))[1])


def test_packing_there_and_back() -> None:
    def program(t: Any) -> Any:
        rnn = t.nn.utils.rnn
        given = [t.arange(n) * 1.0 for n in (2, 4, 3)]
        packed = rnn.pack_sequence(given, enforce_sorted=False)
        return [
            list(packed),
            str(packed),
            rnn.unpack_sequence(packed),
            rnn.pad_packed_sequence(packed, total_length=6),
            rnn.unpad_sequence(rnn.pad_sequence(given), t.tensor([2, 4, 3])),
            packed.double().data,
            packed.to(t.int64).data,
            packed.to(t.float32) is packed,
            packed.cpu() is packed,
            packed.is_cuda,
            rnn.invert_permutation(t.tensor([1, 2, 0])),
            rnn.invert_permutation(None),
            list(rnn.PackedSequence((t.ones(2), t.tensor([1, 1])))),
            list(rnn.pack_padded_sequence(t.ones(3, 2, 2), [5, 1])),
        ]

    assert_same(program)


def test_packing_has_second_derivatives() -> None:
    def program(t: Any) -> Any:
        rnn = t.nn.utils.rnn
        x = (t.arange(12.0).reshape(3, 2, 2) / 10).requires_grad_()
        packed = rnn.pack_padded_sequence(x, [3, 1], batch_first=False)
        (first,) = t.autograd.grad(packed.data.pow(3).sum(), x, create_graph=True)
        (second,) = t.autograd.grad(first.sum(), x)
        return [first.detach(), second.detach(), graph_text(packed.data.grad_fn)]

    assert_same(program)


@pytest.mark.parametrize(
    "action",
    [
        lambda r, t: r.pack_padded_sequence(t.ones(3, 2, 2), [1, 3]),
        lambda r, t: r.pack_padded_sequence(t.ones(3, 2, 2), [3, 0]),
        lambda r, t: r.pack_padded_sequence(t.ones(3, 2, 2), [3]),
        lambda r, t: r.pack_padded_sequence(t.ones(3, 2, 2), [[3, 2]]),
        lambda r, t: r.pack_padded_sequence(t.ones(3, 0, 2), []),
        lambda r, t: r.pad_sequence([]),
        lambda r, t: r.pad_sequence(3),
        lambda r, t: r.pad_sequence([1]),
        lambda r, t: r.pad_sequence([t.tensor(1.0)]),
        lambda r, t: r.pad_sequence([t.ones(2, 2), t.ones(2, 3)]),
        lambda r, t: r.pad_sequence([t.ones(2)], padding_side="top"),
        lambda r, t: r.PackedSequence(t.ones(2)),
        lambda r, t: r.pad_packed_sequence(
            r.pack_sequence([t.ones(3)]), total_length=2
        ),
    ],
)
def test_refused_sequences(action: Any) -> None:
    assert_same(lambda t: action(t.nn.utils.rnn, t))
