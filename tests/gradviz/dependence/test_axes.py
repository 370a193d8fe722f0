"""Axes: what is said of a dimension is true of the elements along it."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradviz
from gradviz._capture.open_log import Engine
from gradviz.dependence import axis_walk
from gradviz.dependence.axes import Axis, Dims, axes_in, fits, new, only
from gradviz.dependence.axis_facts import Axes
from gradviz.dependence.axis_views import Mix, reshaped
from gradviz.dependence.axis_walk import axes_of
from gradviz.program import Call, History
from gradviz.running.engine_alias import alias
from tests.rules.harness import ENGINES, case, executed, nullcontext

SHAPE = (4, 6, 5)
VIEW = Call(index=0, op="view")

KEEPING = [
    "x.permute(2, 0, 1)",
    "x.transpose(0, -1)",
    "x.mT",
    "x.movedim(0, 2)",
    "x.reshape(24, 5)",
    "x.reshape(4, 2, 3, 5)",
    "x.reshape(2, 2, 30)",
    "x.flatten().view(4, 30).unflatten(1, (6, 5))",
    "x.unsqueeze(1).squeeze(1)",
    "x[1]",
    "x[..., 2]",
    "x[:, None, 3]",
    "x.select(1, 2)",
    "x.unbind(1)[3]",
    "x.clone().contiguous()",
    "x.abs() * 1 + 0",
    "torch.stack([x, x], 1)[:, 1]",
    "x.amax(dim=1)",
    "x.amax(dim=(0, 2), keepdim=True)",
    "x.expand(3, 4, 6, 5)",
    "torch.cat([x, x], dim=2)",
]
"""What leaves some axes of ``x`` whole; what it computes of a coordinate is that."""


def coordinates(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    return list(np.indices(shape))


@given(st.data())
def test_a_view_says_only_what_memory_holds(data: st.DataObject) -> None:
    sizes = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)
    old = tuple(data.draw(sizes))
    divisors = [n for n in range(1, prod(old) + 1) if prod(old) % n == 0]
    wanted: list[int] = []
    left = prod(old)
    while left > 1 and len(wanted) < 4:
        size = data.draw(st.sampled_from([n for n in divisors if left % n == 0]))
        wanted.append(size)
        left //= size
    shape = (*wanted, left)
    dims = new(old, "given", None, None)
    mixes: list[Mix] = []
    after = reshaped(dims, shape, VIEW, mixes)
    assert fits(after, shape)
    known = {only(dim)[0]: place for place, dim in enumerate(dims) if dim}
    moved = [each.reshape(shape) for each in coordinates(old)]
    for place, dim in enumerate(after):
        for axis in only(dim):
            if axis in known:
                assert (moved[known[axis]] == coordinates(shape)[place]).all()
    again = reshaped(after, old, VIEW, mixes)
    assert [axes_in(dim) for dim in again] == [axes_in(dim) for dim in dims]


def axes_in_run(source: str, engine: Engine) -> tuple[History, Axes]:
    program = case("axes", source)
    session = gradviz.record(engine=engine, detail="full")
    instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
    with instead, executed(program, session):
        pass
    (part,) = session._parts  # pyright: ignore[reportPrivateUsage]
    assert part.log is not None
    history = History(part.log.program)
    return history, axes_of(history)


def last(history: History, axes: Axes) -> tuple[Dims, tuple[int, ...]]:
    value = [call for call in history.calls if call.outputs][-1].outputs[0]
    return axes.of(value), value.shape


def computed(expression: str, engine: Engine) -> list[np.ndarray[Any, Any]]:
    """Return what an expression makes of the coordinates of ``x``."""
    instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
    with instead:
        import torch

        return [
            np.asarray(eval(expression, {"torch": torch, "x": torch.tensor(each)}))
            for each in coordinates(SHAPE)
        ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("expression", KEEPING)
def test_an_axis_that_is_kept_holds_its_coordinate(
    expression: str, engine: Engine
) -> None:
    history, axes = axes_in_run(
        f"import torch\nx = torch.randn{SHAPE}\ny = {expression}", engine
    )
    dims, shape = last(history, axes)
    found = [
        (place, axis)
        for place, dim in enumerate(dims)
        for axis in only(dim)
        if _is_of_x(axis) and not axis.moves and axis.how == "given"
    ]
    assert found or "reshape(2, 2, 30)" in expression or "keepdim" in expression
    values = computed(expression, engine)
    for place, axis in found:
        assert (values[axis.dim] == coordinates(shape)[place]).all(), (place, axis.dim)


def _is_of_x(axis: Axis) -> bool:
    call = axis.root.call
    return call is not None and call.op == "randn" and call.arguments == SHAPE


@pytest.mark.parametrize("engine", ENGINES)
def test_one_index_is_one_order_and_another_is_not(engine: Engine) -> None:
    source = """
    import torch
    x, y = torch.randn(6, 2), torch.randn(6)
    p = torch.randperm(6)
    a, b = x[p[1:4]], y[p[1:4]]
    c = y[torch.randperm(6)[1:4]]
    """
    history, axes = axes_in_run(source, engine)
    picked = [
        only(axes.of(call.outputs[0])[0])[0]
        for call in history.calls
        if call.op == "__getitem__" and "float" in call.outputs[0].dtype
    ]
    tokens = [[move.token for move in axis.moves] for axis in picked]
    assert tokens[0] == tokens[1] != tokens[2]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_flips_are_followed(engine: Engine) -> None:
    source = """
    import torch
    x = torch.randn(3, 5)
    y = x.flip(-1).roll(2, 1)
    """
    history, axes = axes_in_run(source, engine)
    dims, _ = last(history, axes)
    assert [move.what for move in only(dims[1])[0].moves] == ["flip", "roll"]
    assert only(dims[0])[0].moves == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recurrent_layer_tells_time_from_batch(engine: Engine) -> None:
    for first, layer in product((False, True), ("GRU", "LSTM", "RNN")):
        source = f"""
        import torch
        x = torch.randn(4, 7, 3)
        y, h = torch.nn.{layer}(3, 5, batch_first={first})(x)
        z = y * 1
        """
        history, axes = axes_in_run(source, engine)
        dims, _ = last(history, axes)
        hows = [only(dim)[0].how for dim in dims[:2]]
        assert hows == (["beside", "scanned"] if first else ["scanned", "beside"])


def test_later_steps_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axis_walk, "MOST_LATER", 5)
    source = """
    import torch
    w = torch.randn(3, requires_grad=True)
    w.sum().backward()
    for _ in range(7):
        a = w * 2
    """
    history, axes = axes_in_run(source, "gradtape")
    known = [call.outputs[0].tensor in axes.dims for call in history.calls[-7:]]
    assert known == [True] * 5 + [False] * 2
