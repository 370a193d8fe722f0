"""The CTC loss gives PyTorch's values, gradients, graphs and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from .._compare import graph_text
from ..oracle import assert_same


def inputs(t: Any) -> tuple[Any, Any]:
    """Make log-probabilities of 6 times, 3 samples and 5 classes, and their leaf."""
    t.manual_seed(1)
    leaf = t.randn(6, 3, 5, dtype=t.float64, requires_grad=True)
    return leaf, leaf.log_softmax(2)


@pytest.mark.parametrize(
    ("targets", "ends", "lengths"),
    [
        ([[1, 2, 2], [3, 1, 0], [4, 4, 1]], [6, 5, 6], [3, 2, 3]),
        ([[1, 2, 2], [3, 1, 0], [4, 4, 1]], [6, 2, 4], [0, 1, 3]),
        ([[1, 2, 2], [3, 1, 0], [4, 4, 1]], [6, 2, 3], [3, 3, 3]),
        ([1, 2, 2, 3, 1, 4], [6, 5, 3], [3, 2, 1]),
        ([[1, 2, 2], [3, 1, 0], [4, 4, 1]], [0, 5, 0], [0, 2, 1]),
    ],
)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss(
    targets: Any, ends: Any, lengths: Any, reduction: str, zero_infinity: bool
) -> None:
    def program(t: Any) -> Any:
        leaf, logs = inputs(t)
        how = {"reduction": reduction, "zero_infinity": zero_infinity}
        loss = t.nn.functional.ctc_loss(logs, t.tensor(targets), ends, lengths, **how)
        loss.sum().backward()
        return [loss, graph_text(loss.grad_fn), leaf.grad]

    assert_same(program)


def test_other_blanks_layouts_and_the_layer() -> None:
    def program(t: Any) -> Any:
        _, logs = inputs(t)
        targets = t.tensor([[1, 2, 2], [3, 1, 0], [0, 0, 1]])
        ends, lengths = t.tensor([6, 6, 6]), t.tensor([3, 2, 3])
        layer = t.nn.CTCLoss(blank=4, zero_infinity=True)
        single = t.nn.functional.ctc_loss(
            logs[:, 0], t.tensor([1, 2]), t.tensor(6), t.tensor(2), reduction="none"
        )
        return [
            layer(logs, targets, ends, lengths),
            layer(logs.float(), targets.int(), ends, lengths).detach().double(),
            single,
            t.ctc_loss(logs, targets, ends, lengths, 4, 2),
            str(layer),
        ]

    assert_same(program, rtol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, t, x, y: f(x, y, [6, 6, 6], [3, 2, 4]),
        lambda f, t, x, y: f(x, y, [7, 6, 6], [3, 2, 1]),
        lambda f, t, x, y: f(x, y, [6, 6, -1], [3, 2, 1]),
        lambda f, t, x, y: f(x, y, [6, 6, 6], [3, 2, -1]),
        lambda f, t, x, y: f(x, y, [6], [3, 2, 1]),
        lambda f, t, x, y: f(x, y, [6, 6, 6], [3]),
        lambda f, t, x, y: f(x, y, [6, 6, 6], [3, 2, 1], blank=5),
        lambda f, t, x, y: f(x.int(), y, [6, 6, 6], [3, 2, 1]),
        lambda f, t, x, y: f(x, y, [6, 6, 6], [3, 2, 1], reduction="x"),
        lambda f, t, x, y: f(x, y[0], [6, 6, 6], [3, 2, 1]),
        lambda f, t, x, y: f(x, y[:2], [6, 6, 6], [3, 2, 1]),
        lambda f, t, x, y: f(x, y, t.tensor([6.0, 6, 6]), t.tensor([3, 2, 1])),
    ],
)
def test_refusals(call: Any) -> None:
    def program(t: Any) -> Any:
        targets = t.tensor([[1, 2, 2], [3, 1, 1], [4, 4, 1]])
        return call(t.nn.functional.ctc_loss, t, inputs(t)[1].detach(), targets)

    assert_same(program)
