"""Lazy modules wait for their first input as PyTorch's do, and then become plain."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same

LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("LazyLinear", (3,), {}, (2, 5)),
    ("LazyLinear", (3,), {"bias": False}, (5,)),
    ("LazyConv1d", (4, 2), {}, (2, 3, 5)),
    ("LazyConv2d", (4, 2), {"groups": 2, "padding": 1}, (1, 2, 4, 4)),
    ("LazyConv3d", (2, 1), {"bias": False}, (1, 2, 2, 2, 2)),
    ("LazyConv2d", (4, 2), {}, (3, 4, 4)),
    ("LazyConvTranspose1d", (4, 2), {}, (2, 3, 5)),
    ("LazyConvTranspose2d", (4, 2, 2), {"output_padding": 1}, (1, 2, 3, 3)),
    ("LazyConvTranspose3d", (2, 1), {"bias": False}, (1, 2, 2, 2, 2)),
    ("LazyBatchNorm1d", (), {}, (4, 3)),
    ("LazyBatchNorm2d", (), {"affine": False}, (2, 3, 2, 2)),
    ("LazyBatchNorm3d", (1e-3, 0.2), {}, (2, 3, 2, 2, 2)),
    ("LazyBatchNorm1d", (), {"track_running_stats": False}, (4, 3)),
    ("LazyBatchNorm1d", (), {"bias": False}, (4, 3)),
    ("LazyInstanceNorm1d", (), {}, (2, 3, 4)),
    ("LazyInstanceNorm2d", (), {"affine": False}, (2, 3, 2, 2)),
    ("LazyInstanceNorm3d", (), {}, (2, 3, 2, 2, 2)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS)
def test_layers_take_their_sizes_from_the_first_input(
    name: str, args: Any, options: dict[str, Any], shape: tuple[int, ...]
) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = getattr(t.nn, name)(*args, **options)
        before = [str(layer), [str(p) for p in layer.parameters()]]
        before += [layer.has_uninitialized_params(), list(layer.state_dict())]
        found = layer(t.randn(*shape))
        named = {n: p.detach() for n, p in layer.state_dict().items()}
        return [before, found.detach().clone(), named, type(layer).__name__, str(layer)]

    assert_same(program, rtol=2e-4)


def test_gradients_reach_materialized_parameters() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.LazyLinear(4), t.nn.ReLU(), t.nn.LazyLinear(1))
        model(t.ones(2, 3))
        optimizer = t.optim.SGD(model.parameters(), lr=0.1)
        loss = model(t.ones(2, 3)).pow(2).sum()
        loss.backward()
        optimizer.step()
        grads = [p.grad.tolist() for p in model.parameters()]
        return [loss, list(model.parameters()), grads]

    assert_same(program)


def test_conversions_before_the_first_input() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.LazyLinear(2).double()
        kinds = [str(layer.weight.dtype), type(layer.weight).__name__]
        layer.zero_grad()
        return [kinds, layer(t.ones(1, 3, dtype=t.float64)).dtype]

    assert_same(program)


def test_loading_materializes() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        lazy, plain = t.nn.LazyLinear(3), t.nn.Linear(2, 3)
        lazy.load_state_dict(plain.state_dict())
        loaded = [str(lazy), lazy.weight.detach(), lazy.has_uninitialized_params()]
        other = t.nn.LazyLinear(3)
        other.load_state_dict(t.nn.LazyLinear(3).state_dict())
        norm = t.nn.LazyBatchNorm1d()
        norm.load_state_dict(t.nn.BatchNorm1d(4).state_dict())
        return [
            loaded,
            lazy(t.ones(1, 2)),
            str(lazy),
            other.has_uninitialized_params(),
            norm.running_var,
            str(norm),
        ]

    assert_same(program)


def test_hooks_go_with_the_first_input() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.LazyLinear(2)
        tables = (layer._forward_pre_hooks, layer._load_state_dict_pre_hooks)
        before = [len(table) for table in tables]
        names = [hasattr(layer, n) for n in ("_initialize_hook", "_load_hook")]
        layer(t.ones(1, 3))
        after = [len(table) for table in tables]
        names += [hasattr(layer, n) for n in ("_initialize_hook", "_load_hook")]
        return [before, after, names, type(layer) is t.nn.Linear]

    assert_same(program)


def test_copies_and_pickles_wait_too() -> None:
    layer = gt.nn.LazyLinear(2)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other.has_uninitialized_params()
        assert other(gt.ones(1, 3)).shape == (1, 2)
    assert layer.has_uninitialized_params()


def test_uninitialized_tensors() -> None:
    def program(t: Any) -> Any:
        weight = t.nn.UninitializedParameter(dtype=t.float64)
        buffer = t.nn.UninitializedBuffer()
        seen = [
            str(weight),
            str(buffer),
            isinstance(weight, t.nn.Parameter),
            isinstance(buffer, t.nn.Buffer),
            weight.requires_grad,
            str(weight.dtype),
            weight.size(),
            weight.grad,
            t.nn.parameter.is_lazy(weight),
        ]
        weight.materialize((2, 3))
        buffer.materialize((2,), dtype=t.int64)
        seen += [type(weight).__name__, list(weight.shape), str(weight.dtype)]
        seen += [type(buffer).__name__, str(buffer.dtype), weight.is_leaf]
        return [*seen, t.nn.parameter.is_lazy(weight), weight.requires_grad]

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, m: m.weight.shape,
        lambda t, m: m.weight + 1,
        lambda t, m: m.weight.sum(),
        lambda t, m: m.weight.dim(),
        lambda t, m: m.weight.numel(),
        lambda t, m: m.weight.share_memory_(),
        lambda t, m: m.requires_grad_(False),
        lambda t, m: t.nn.UninitializedBuffer().add(1),
        lambda t, m: t.nn.Linear(2, 3).load_state_dict(m.state_dict()),
        lambda t, m: t.nn.LazyConv2d(3, 2)(t.ones(2, 2)),
        lambda t, m: t.nn.LazyConv2d(4, 2, groups=2)(t.ones(1, 3, 4, 4)),
        lambda t, m: t.nn.LazyBatchNorm2d()(t.ones(2, 3)),
        lambda t, m: type(
            "Own", (t.nn.modules.lazy.LazyModuleMixin, t.nn.Module), {}
        )()(1),
        lambda t, m: (m.load_state_dict(t.nn.Linear(2, 3).state_dict()), m(t.ones(4))),
    ],
)
def test_refusals_are_pytorchs(call: Any) -> None:
    assert_same(lambda t: call(t, t.nn.LazyLinear(3)))


@pytest.mark.parametrize(
    "function", ["empty_like", "zeros_like", "ones_like", "rand_like"]
)
def test_nothing_is_made_like_what_has_no_shape(function: str) -> None:
    parameter = gt.nn.UninitializedParameter()
    with pytest.raises(ValueError, match="uninitialized parameter in .*" + function):
        getattr(gt, function)(parameter)


def test_adagrad_needs_shapes() -> None:
    with pytest.raises(ValueError, match="uninitialized parameter"):
        gt.optim.Adagrad([gt.nn.UninitializedParameter()])


@pytest.mark.parametrize("name", ["LazyLinear", "LazyConv2d", "LazyBatchNorm2d"])
def test_lazy_modules_change_dtype_before_their_first_input(name: str) -> None:
    def program(t: Any) -> Any:
        args = {"LazyLinear": (4,), "LazyConv2d": (4, 3)}.get(name, ())
        layer = getattr(t.nn, name)(*args).to("cpu", t.float64)
        found = layer.to(t.float64)(t.ones(2, 3, 5, 5, dtype=t.float64))
        return [found.shape, found.dtype, layer]

    assert_same(program)
