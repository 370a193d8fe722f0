"""Time gradtape against PyTorch on large arrays and on whole models, in one process.

    python -m tests.benchmarks.bench_models [--threads N] [--scale X] [--only TEXT]

Chains over a million and ten million elements, LeNet, a transformer block, and LSTMs of
200 steps: the layer, and a cell written by hand, every op of which is recorded. Both
engines take turns; see bench_engine for how to read the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .bench_engine import Step, Workload, main


def _training(t: Any, parameters: Any, loss_of: Callable[[], Any]) -> Step:
    """Return a step that computes a loss, goes back, and moves the parameters."""
    optimizer = t.optim.SGD(parameters, lr=1e-3)

    def step() -> tuple[float, float]:
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of()
        middle = time.perf_counter()
        loss.backward()
        optimizer.step()
        return middle - begin, time.perf_counter() - middle

    return step


def _alone(x: Any, loss_of: Callable[[], Any]) -> Step:
    """Return a step that computes a loss and its gradient for one tensor."""

    def step() -> tuple[float, float]:
        x.grad = None
        begin = time.perf_counter()
        loss = loss_of()
        middle = time.perf_counter()
        loss.backward()
        return middle - begin, time.perf_counter() - middle

    return step


# ---- chains over large arrays ----


def sums_and_products(size: int) -> Callable[[Any], Step]:
    """Five multiplications and five additions in turn."""

    def build(t: Any) -> Step:
        t.manual_seed(0)
        x, scale, shift = (
            t.randn(size, requires_grad=True),
            t.randn(size),
            t.randn(size),
        )

        def loss_of() -> Any:
            y = x
            for _ in range(5):
                y = y * scale
                y = y + shift
            return y.sum()

        return _alone(x, loss_of)

    return build


def functions(size: int) -> Callable[[Any], Step]:
    """Functions as in activations and losses."""

    def build(t: Any) -> Step:
        t.manual_seed(0)
        x, scale, shift = (
            t.randn(size, requires_grad=True),
            t.randn(size),
            t.randn(size),
        )

        def loss_of() -> Any:
            y = t.tanh(x * scale + shift)
            z = t.sigmoid(y) * t.relu(x)
            return t.exp((y - z) / (1 + y * y)).mean()

        return _alone(x, loss_of)

    return build


def reductions(side: int) -> Callable[[Any], Step]:
    """Means, sums and maxima of a square, along both dimensions."""

    def build(t: Any) -> Step:
        t.manual_seed(0)
        x = t.randn(side, side, requires_grad=True)

        def loss_of() -> Any:
            y = x - x.mean(1, keepdim=True)
            y = y / (y * y).sum(0, keepdim=True).sqrt()
            return y.amax(1).sum() + y.logsumexp(0).mean() + y.norm() + y.var()

        return _alone(x, loss_of)

    return build


# ---- models ----


def lenet(t: Any) -> Step:
    """LeNet-5 with ReLU and max-pooling, batch 32."""
    nn = t.nn
    t.manual_seed(0)
    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, 10),
    )
    images, labels = t.randn(32, 1, 28, 28), t.arange(32) % 10
    criterion = nn.CrossEntropyLoss()
    return _training(t, model.parameters(), lambda: criterion(model(images), labels))


def transformer_block(t: Any) -> Step:
    """d 256, 4 heads, GELU, 64 tokens, batch 8."""
    t.manual_seed(0)
    how = {"activation": "gelu", "batch_first": True, "norm_first": True}
    model = t.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, **how)
    x = t.randn(8, 64, 256)
    return _training(t, model.parameters(), lambda: (model(x) ** 2).mean())


def lstm_layer(t: Any) -> Step:
    """200 steps, 64 inputs, 128 units, batch 32."""
    t.manual_seed(0)
    model, x = t.nn.LSTM(64, 128), t.randn(200, 32, 64)
    return _training(t, model.parameters(), lambda: model(x)[0].mean())


def lstm_by_hand(t: Any) -> Step:
    """The same from products, chunks and functions: 13 recorded ops a step."""
    t.manual_seed(0)
    x = t.randn(200, 32, 64)
    by_input = (t.randn(64, 512) * 0.1).requires_grad_()
    by_state = (t.randn(128, 512) * 0.1).requires_grad_()
    bias = t.zeros(512, requires_grad=True)

    def loss_of() -> Any:
        hidden, cell = t.zeros(32, 128), t.zeros(32, 128)
        for step in range(200):
            gates = x[step] @ by_input + hidden @ by_state + bias
            enter, forget, fresh, leave = gates.chunk(4, 1)
            cell = t.sigmoid(forget) * cell + t.sigmoid(enter) * t.tanh(fresh)
            hidden = t.sigmoid(leave) * t.tanh(cell)
        return hidden.mean()

    return _training(t, [by_input, by_state, bias], loss_of)


WORKLOADS = (
    Workload("products and sums, 1e6", sums_and_products(10**6), 60),
    Workload("products and sums, 1e7", sums_and_products(10**7), 6),
    Workload("functions, 1e6", functions(10**6), 40),
    Workload("functions, 1e7", functions(10**7), 5),
    Workload("reductions, 1e6", reductions(1_000), 40),
    Workload("reductions, 1e7", reductions(3_162), 5),
    Workload("LeNet, batch 32", lenet, 200),
    Workload("transformer block", transformer_block, 40),
    Workload("LSTM layer, 200 steps", lstm_layer, 20),
    Workload("LSTM by hand, 200 steps", lstm_by_hand, 10),
)


if __name__ == "__main__":
    main(WORKLOADS, __doc__, __spec__.name)
