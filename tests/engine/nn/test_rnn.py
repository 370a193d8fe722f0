"""Recurrent layers, cells and packed sequences give PyTorch's numbers and graphs."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same

KINDS = ("RNN", "LSTM", "GRU")


def parts(value: Any) -> list[Any]:
    """List the tensors of nested outputs and states."""
    if isinstance(value, tuple):
        return [part for each in value for part in parts(each)]
    return [value]


def graph(root: Any) -> list[Any]:
    """List nodes by name with the places of the nodes they lead to, each node once."""
    order, places, found = [root], {root: 0}, []
    for node in order:
        ahead: list[int | None] = []
        for following, _ in node.next_functions:
            if following is not None and following not in places:
                places[following] = len(order)
                order.append(following)
            ahead.append(None if following is None else places[following])
        found.append([node.name().rpartition("::")[2], *ahead])
    return found


def trained(t: Any, layer: Any, *inputs: Any) -> list[Any]:
    """Run a layer and return outputs, the whole graph, and every gradient."""
    found = [p for p in parts(layer(*inputs)) if p.dtype.is_floating_point]
    loss: Any = sum((p * p).sum() for p in found)
    loss.backward()
    wanted = [x for x in parts(tuple(inputs)) if x.requires_grad and x.is_leaf]
    return [
        found,
        [graph(p.grad_fn) for p in found],
        [x.grad for x in wanted],
        {name: p.grad for name, p in layer.named_parameters()},
        str(layer),
    ]


# ---- padded input ----


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 2},
        {"bidirectional": True},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"bias": False},
        {"num_layers": 3, "dropout": 0.5},
    ],
    ids=str,
)
def test_layers(kind: str, options: dict[str, Any]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        layer = getattr(t.nn, kind)(3, 4, dtype=t.float64, **options)
        x = t.randn(2, 2, 3, dtype=t.float64, requires_grad=True)
        return trained(t, layer, x)

    assert_same(program)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_in_single_precision_and_without_a_batch(kind: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        layer = getattr(t.nn, kind)(3, 4, num_layers=2)
        found = parts(layer(t.randn(5, 2, 3)))
        alone = parts(layer(t.randn(5, 3)))
        return [p.detach() for p in (*found, *alone)]

    assert_same(program, rtol=2e-5)


@pytest.mark.parametrize(
    "options",
    [{}, {"bias": False, "num_layers": 2}, {"bidirectional": True, "num_layers": 2}],
    ids=str,
)
def test_projections(options: dict[str, Any]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = t.nn.LSTM(3, 4, proj_size=2, dtype=t.float64, **options)
        ways = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        x = t.randn(3, 2, 3, dtype=t.float64, requires_grad=True)
        h = t.randn(ways, 2, 2, dtype=t.float64, requires_grad=True)
        c = t.randn(ways, 2, 4, dtype=t.float64, requires_grad=True)
        return trained(t, layer, x, (h, c))

    assert_same(program)


@pytest.mark.parametrize("kind", KINDS)
def test_initial_states(kind: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = getattr(t.nn, kind)(3, 4, num_layers=2, dtype=t.float64)
        state = t.randn(2, 2, 4, dtype=t.float64, requires_grad=True)
        states = (state, state * 2) if kind == "LSTM" else state
        x = t.randn(2, 2, 3, dtype=t.float64)
        return trained(t, layer, x, states)

    assert_same(program)


def test_relu_network() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = t.nn.RNN(3, 4, 1, "relu", dtype=t.float64)
        other = t.nn.RNN(3, 4, nonlinearity="relu")
        return [trained(t, layer, t.randn(3, 2, 3, dtype=t.float64)), str(other)]

    assert_same(program)


def test_second_derivatives() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = t.nn.GRU(2, 2, dtype=t.float64)
        x = t.randn(3, 1, 2, dtype=t.float64, requires_grad=True)
        (first,) = t.autograd.grad(layer(x)[0].pow(2).sum(), x, create_graph=True)
        found = t.autograd.grad(first.pow(2).sum(), [x, *layer.parameters()])
        return [each.clone() for each in found]

    assert_same(program)


@pytest.mark.parametrize(
    "action",
    [
        lambda t: t.nn.LSTM(3, 4)(t.ones(2)),
        lambda t: t.nn.RNN(3, 4)(t.ones(2)),
        lambda t: t.nn.GRU(3, 4)(t.ones(2)),
        lambda t: t.nn.GRU(3, 4)(t.ones(2, 2, 2)),
        lambda t: t.nn.GRU(3, 4)(t.ones(2, 2, 3, dtype=t.float64)),
        lambda t: t.nn.GRU(3, 4)(t.ones(0, 2, 3)),
        lambda t: t.nn.GRU(3, 4)(t.ones(2, 2, 3), t.ones(1, 2, 3)),
        lambda t: t.nn.GRU(3, 4)(t.ones(2, 2, 3), t.ones(1, 2)),
        lambda t: t.nn.RNN(3, 4)(t.ones(2, 3), t.ones(1, 1, 4)),
        lambda t: t.nn.LSTM(3, 4)(t.ones(2, 2, 3), (t.ones(1, 2, 3), t.ones(1, 2, 4))),
        lambda t: t.nn.LSTM(3, 4)(t.ones(2, 2, 3), (t.ones(1, 2, 4), t.ones(1, 2, 3))),
        lambda t: t.nn.LSTM(3, 4)(t.ones(2, 2, 3), (t.ones(1, 4), t.ones(1, 4))),
        lambda t: t.nn.LSTM(3, 4)(t.ones(2, 3), (t.ones(1, 1, 4), t.ones(1, 1, 4))),
        lambda t: t.nn.LSTM(3, 4, proj_size=4),
        lambda t: t.nn.LSTM(3, 4, proj_size=-1),
        lambda t: t.nn.GRU(3, 4, proj_size=1),
        lambda t: t.nn.RNN(3, 4, nonlinearity="selu"),
        lambda t: t.nn.RNNBase("X", 3, 4),
        lambda t: t.nn.GRU(0, 4),
        lambda t: t.nn.GRU(3, 4.0),
        lambda t: t.nn.GRU(3, 4, 0),
        lambda t: t.nn.GRU(3, 4, bias=1),
        lambda t: t.nn.GRU(3, 4, dropout=2),
        lambda t: str(t.nn.GRU(3, 4, dropout=0.5)),
        lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 2, 3)),
        lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 2)),
        lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(2, 3)),
        lambda t: t.nn.RNNCell(3, 4)(t.ones(2, 3), t.ones(1, 4)),
        lambda t: t.nn.RNNCell(3, 4, nonlinearity="x")(t.ones(2, 3)),
        lambda t: t.nn.LSTMCell(3, 4)(t.ones(2, 3), (t.ones(2, 4), t.ones(2, 3))),
        lambda t: t.nn.LSTMCell(3, 4)(t.ones(3), (t.ones(1, 1, 4), t.ones(4))),
        lambda t: t.lstm(
            t.ones(1, 1, 2), [t.ones(1, 1, 3)], [], True, 1, 0.0, True, False, False
        ),
        lambda t: t.lstm_cell(
            t.ones(1, 2), [t.ones(1, 3)], t.ones(12, 2), t.ones(12, 3)
        ),
    ],
)
def test_refusals_are_pytorchs(action: Any) -> None:
    assert_same(action)


# ---- cells ----


@pytest.mark.parametrize("kind", [f"{kind}Cell" for kind in KINDS])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(2,), ()], ids=("batch", "alone"))
def test_cells(kind: str, bias: bool, batch: tuple[int, ...]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        cell = getattr(t.nn, kind)(3, 4, bias=bias, dtype=t.float64)
        x = t.randn(*batch, 3, dtype=t.float64, requires_grad=True)
        state = cell(x)
        again = cell(x, state)
        return [parts(state), trained(t, cell, x), parts(again)]

    assert_same(program)


def test_relu_cell() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        return trained(t, t.nn.RNNCell(3, 4, nonlinearity="relu"), t.randn(2, 3))

    assert_same(program)


# ---- packed sequences ----


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
@pytest.mark.parametrize("lengths", [[4, 2, 1], [3, 3, 1], [2, 4, 4]], ids=str)
def test_packed_layers(kind: str, options: dict[str, Any], lengths: list[int]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        rnn = t.nn.utils.rnn
        layer = getattr(t.nn, kind)(3, 2, dtype=t.float64, **options)
        x = t.randn(4, 3, 3, dtype=t.float64, requires_grad=True)
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, states = layer(packed)
        padded, ends = rnn.pad_packed_sequence(output, padding_value=-1.0)
        (padded.pow(2).sum() + sum(s.sum() for s in parts(states))).backward()
        grads = [p.grad for p in layer.parameters()]
        recorded = graph(output.data.grad_fn)
        return [*output, recorded, padded, ends, parts(states), x.grad, grads]

    assert_same(program)


def test_packed_layers_take_states_in_the_callers_order() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(1)
        layer = t.nn.LSTM(3, 2, dtype=t.float64, proj_size=1)
        packed = t.nn.utils.rnn.pack_sequence(
            [t.randn(n, 3, dtype=t.float64) for n in (1, 3, 2)], enforce_sorted=False
        )
        h = t.randn(1, 3, 1, dtype=t.float64)
        c = t.randn(1, 3, 2, dtype=t.float64)
        output, states = layer(packed, (h, c))
        return [output.data, *states]

    assert_same(program)


# ---- as modules ----


def test_parameters_and_their_lists() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.LSTM(2, 3, num_layers=2, bidirectional=True, proj_size=1)
        before = [list(p.shape) for p in layer._flat_weights]
        layer.weight_ih_l0 = t.nn.Parameter(t.zeros(12, 2))
        layer.flatten_parameters()
        replaced = layer._flat_weights[0] is layer.weight_ih_l0
        layer.double()
        return [
            [name for name, _ in layer.named_parameters()],
            layer._flat_weights_names,
            before,
            replaced,
            [p.dtype for p in layer._flat_weights],
            [[list(p.shape) for p in group] for group in layer.all_weights],
            str(layer),
            str(t.nn.GRU(1, 2, 2, False, True, 0.5, True)),
        ]

    assert_same(program)


def test_copies_and_pickles_run_alike() -> None:
    layer = gt.nn.GRU(2, 3)
    buffer = io.BytesIO(pickle.dumps(layer))
    x = gt.ones(2, 1, 2)
    wanted = layer(x)[0].tolist()
    for other in (copy.deepcopy(layer), pickle.load(buffer)):
        assert other(x)[0].tolist() == wanted
        first = next(other.parameters())
        assert other._flat_weights[0] is first
        assert first is not layer.weight_ih_l0


def test_functional_call_uses_the_given_weights() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.RNN(2, 3, dtype=t.float64)
        given = {name: p.detach() * 2 for name, p in layer.named_parameters()}
        x = t.ones(2, 1, 2, dtype=t.float64)
        return [t.func.functional_call(layer, given, (x,))[0], layer(x)[0]]

    assert_same(program)


def test_every_time_step_shows_in_the_graph() -> None:
    layer = gt.nn.GRU(2, 3)
    for steps in (1, 4):
        output, _ = layer(gt.ones(steps, 1, 2))
        seen, ahead = set(), [output.grad_fn]
        while ahead:
            node = ahead.pop()
            if node is not None and node not in seen:
                seen.add(node)
                ahead.extend(following for following, _ in node.next_functions)
        names = [node.name() for node in seen]
        assert names.count("TanhBackward0") == steps


def test_an_lstm_learns_to_remember_as_in_pytorch() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, head = t.nn.LSTM(1, 8, batch_first=True), t.nn.Linear(8, 1)
        parameters = list(itertools.chain(layer.parameters(), head.parameters()))
        optimizer = t.optim.Adam(parameters, lr=0.05)
        data = t.rand(16, 5, 1)
        losses: list[float] = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = (head(layer(data)[0][:, -1]) - data[:, 0]).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 2
        return losses

    assert_same(program, rtol=1e-3)
