"""Pooling and convolution at their edges: 16 bits, channels innermost, no channels."""

from __future__ import annotations

from typing import Any

import pytest

from .._compare import graph_text
from ..oracle import assert_same


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("avg_pool2d", (3, 2)),
        ("avg_pool2d", (3, 2, 1)),
        ("avg_pool2d", (2, 1, 0, True, False)),
        ("adaptive_avg_pool2d", (4,)),
        ("adaptive_avg_pool2d", ((2, 5),)),
    ],
)
def test_means_of_16_bits_are_rounded_once(name: str, args: Any, dtype: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 3, 9, 9).to(getattr(t, dtype)).requires_grad_()
        found = getattr(t.nn.functional, name)(x, *args)
        return [found, t.autograd.grad(found, x, found.detach()) if args[0] == 3 else 0]

    assert_same(program, rtol=0)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("batch", [1, 2])
def test_one_cell_keeps_channels_innermost(dims: int, batch: int) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        order = t.channels_last if dims == 2 else t.channels_last_3d
        x = t.randn(batch, 3, *(4,) * dims).to(memory_format=order).requires_grad_()
        pool = getattr(t.nn.functional, f"adaptive_avg_pool{dims}d")
        found = pool(x, 1)
        found.pow(2).sum().backward()
        return [found, graph_text(found.grad_fn), pool(x[0], 1), x.grad]

    assert_same(program)


def test_a_volume_without_batch_keeps_channels_innermost() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 3, 4, 6, 4).to(memory_format=t.channels_last_3d)
        pool = t.nn.MaxPool3d(2, return_indices=True)
        return [pool(x), pool(x[0]), pool(x[0].contiguous()), pool(x[1].detach())]

    assert_same(program)


@pytest.mark.parametrize("name", ["avg", "max"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_cells_beyond_all_memory_are_refused(name: str, dims: int) -> None:
    def program(t: Any) -> Any:
        pool = getattr(t.nn.functional, f"adaptive_{name}_pool{dims}d")
        return pool(t.ones((3,) * (dims + 1)), 2**62 - 1)

    assert_same(program)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda nn: nn.Conv1d(0, 8, 2, stride=2), (2, 0, 15)),
        (lambda nn: nn.Conv2d(0, 33, 3, stride=2), (2, 0, 8, 9)),
        (lambda nn: nn.Conv2d(4, 8, 3, groups=2), (0, 4, 10, 10)),
        (lambda nn: nn.Conv2d(4, 8, 3), (4, 10, 0)),
    ],
)
def test_convolution_of_nothing(layer: Any, shape: Any) -> None:
    def program(t: Any) -> Any:
        module, x = layer(t.nn), t.zeros(shape, requires_grad=True)
        found = module(x)
        found.sum().backward()
        return [found, x.grad, [p.grad for p in module.parameters()]]

    assert_same(program)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_convolution_pushes_tangents_through_its_gradient(padding: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(1, 1, 1, 6, 7, dtype=t.float64, requires_grad=True)
        y = t.randn(1, 1, 1, 2, 3, dtype=t.float64, requires_grad=True)
        return t.autograd.gradgradcheck(
            lambda x, y: t.nn.functional.conv3d(x, y, padding=padding, dilation=2),
            (x, y),
            check_fwd_over_rev=True,
            fast_mode=True,
        )

    assert_same(program)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 2), (2,), (2, 0)),
        ((2, 2, 2), (2,), (2,)),
        ((2, 2), (2, 0, 3), (2,)),
        ((2, 2), (2,), ()),
        ((2, 2), (), (2,)),
        ((2,), (2,), (2,)),
    ],
)
def test_embedding_bag_says_which_rank_is_wrong(shapes: Any) -> None:
    def program(t: Any) -> Any:
        weight, indices, offsets = shapes
        return t.embedding_bag(
            t.zeros(weight), t.zeros(indices, dtype=t.long), t.zeros(offsets).long()
        )

    assert_same(program)


@pytest.mark.parametrize(
    "name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"]
)
def test_shuffles_are_one_node_and_keep_channels_innermost(name: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 8, 4, 6).to(memory_format=t.channels_last).requires_grad_()
        found = getattr(t, name)(x, 2)
        found.pow(2).sum().backward()
        return [found, graph_text(found.grad_fn), x.grad]

    assert_same(program)


def test_batch_norm_of_no_samples_keeps_its_statistics() -> None:
    def program(t: Any) -> Any:
        layer, x = t.nn.BatchNorm2d(3), t.zeros(0, 3, 2, 2, requires_grad=True)
        found = layer(x)
        found.sum().backward()
        grads = [p.grad for p in layer.parameters()]
        return [found, x.grad, grads, list(layer.buffers())]

    assert_same(program)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_circular_layers_say_which_ranks_they_take(dims: int) -> None:
    for rank in range(1, 7):

        def program(t: Any, rank: int = rank) -> Any:
            return getattr(t.nn, f"CircularPad{dims}d")(1)(t.ones((3,) * rank))

        assert_same(program)


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_cells_have_no_gradient(kind: str, dims: int) -> None:
    def program(t: Any) -> Any:
        pool = getattr(t.nn.functional, f"adaptive_{kind}_pool{dims}d")
        x = t.ones(1, 2, *[4] * dims, requires_grad=True)
        pool(x, 0).sum().backward()

    assert_same(program)
