"""An LSTM in float32 is one node per layer and direction, as PyTorch's on the CPU."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same
from ..processor import skip_without_low_lstm
from .test_rnn import graph, parts

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"num_layers": 2},
    {"bidirectional": True, "bias": False},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
)


def gradients(t: Any, layer: Any, found: list[Any], *inputs: Any) -> list[Any]:
    """Return the gradients of a loss that every part has another weight in."""
    loss = sum((p * p).sum() * (k + 1) for k, p in enumerate(found))
    wanted = [x for x in inputs if x.requires_grad]
    found = t.autograd.grad(loss, [*wanted, *layer.parameters()])
    return [grad.clone() for grad in found]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("steps", [1, 7])
def test_outputs_graphs_and_gradients(options: dict[str, Any], steps: int) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        layer = t.nn.LSTM(3, 4, **options)
        sizes = (5, steps, 3) if layer.batch_first else (steps, 5, 3)
        x = t.randn(sizes, requires_grad=True)
        rows = layer.num_layers * (2 if layer.bidirectional else 1)
        h = t.randn(rows, 5, 4, requires_grad=True)
        c = t.randn(rows, 5, 4, requires_grad=True)
        found = parts(layer(x, (h, c)))
        shown = [graph(p.grad_fn) for p in found]
        return [found, shown, gradients(t, layer, found, x, h, c)]

    assert_same(program, rtol=5e-3)


@pytest.mark.parametrize("part", [0, 1, 2], ids=("output", "h", "c"))
def test_one_part_alone_sends_its_gradient(part: int) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(4)
        layer, x = t.nn.LSTM(2, 3), t.randn(6, 2, 2)
        found = parts(layer(x))
        return gradients(t, layer, found[part : part + 1], x)

    assert_same(program, rtol=5e-3)


def test_long_runs_are_computed_in_pieces() -> None:
    from gradtape.ops._kernels import lstm as _lstm_kernels

    def program(t: Any) -> Any:
        t.manual_seed(5)
        layer, x = t.nn.LSTM(3, 32), t.randn(140, 16, 3, requires_grad=True)
        assert _lstm_kernels.CHUNK < 140 * 4 * 32 * 16
        return gradients(t, layer, [layer(x)[0].sin()], x)

    assert_same(program, rtol=5e-3)


def test_the_gradient_can_be_differentiated() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(6)
        layer = t.nn.LSTM(2, 3, bidirectional=True)
        x = t.randn(4, 2, 2, requires_grad=True)
        (first,) = t.autograd.grad(layer(x)[0].sin().sum(), x, create_graph=True)
        return list(t.autograd.grad(first.pow(2).sum(), [x, *layer.parameters()]))

    assert_same(program, rtol=5e-3)


def test_what_the_node_saved() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(7)
        layer = t.nn.LSTM(2, 3, num_layers=2, bidirectional=True, dropout=0.25)
        node = layer.eval()(t.randn(4, 2, 2))[0].grad_fn.next_functions[0][0]
        names = [name for name in dir(node) if name.startswith("_saved")]
        block = "_saved_result3"  # of another size in PyTorch
        return [names, [getattr(node, name) for name in names if name != block]]

    assert_same(program, rtol=5e-3)


def test_writing_into_the_output_spoils_the_backward() -> None:
    def program(t: Any) -> Any:
        output, _ = t.nn.LSTM(2, 3)(t.ones(2, 2, 2))
        output.add_(1).sum().backward()

    assert_same(program)


def test_weights_of_another_shape_are_left_to_the_steps() -> None:
    def program(t: Any) -> Any:
        states = (t.ones(1, 1, 3), t.ones(1, 1, 3))
        weights = [t.ones(12, 2), t.ones(12, 4), t.ones(12), t.ones(12)]
        how = (True, 1, 0.0, True, False, False)
        return t.lstm(t.ones(1, 1, 2), states, weights, *how)

    with pytest.raises(RuntimeError):
        program(gt)


def test_without_onednn_every_step_has_nodes() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(8)
        layer, x = t.nn.LSTM(2, 3), t.randn(3, 2, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's block warns of other flags
            with t.backends.mkldnn.flags(enabled=False):
                found = parts(layer(x))
        shown = [graph(p.grad_fn) for p in found]
        return [found, shown, gradients(t, layer, found)]

    assert_same(program, rtol=5e-3)


def test_half_precision() -> None:
    skip_without_low_lstm()

    def program(t: Any) -> Any:
        t.manual_seed(9)
        layer, x = t.nn.LSTM(2, 3), t.randn(3, 2, 2)
        with t.autocast("cpu"):
            output, _ = layer(x)
        output.float().sum().backward()
        near = (output.float() - layer(x)[0]).abs().max().item() < 0.01
        shown = [near, *(p.grad.dtype for p in layer.parameters())]
        return [output.dtype, graph(output.grad_fn), shown]

    assert_same(program)
