"""What the rules on writes are made of: overlap, rewriting, following arrays."""

from __future__ import annotations

import ast
import linecache
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.diagnosis._array_writes import Tracker, export_names, writes_itself
from gradviz.diagnosis._memory import (
    cells,
    is_contiguous,
    landing,
    numel,
    overlap,
    repeats,
    span,
)
from gradviz.diagnosis._rewrites import out_of_place
from gradviz.program.history import History
from gradviz.program.records import Program
from gradviz.program.values import Value
from tests.rules import harness


@st.composite
def tensors(draw: st.DrawFn) -> Value:
    """A tensor of up to three dimensions somewhere in a storage."""
    ndim = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(0, 4)) for _ in range(ndim))
    strides = tuple(draw(st.integers(0, 5)) for _ in range(ndim))
    offset = draw(st.integers(0, 20))
    return Value(1, 1, 0, shape, strides, offset, "float32")


def _places(value: Value) -> list[int]:
    steps = np.zeros(value.shape, dtype=np.int64)
    for dim, stride in enumerate(value.strides):
        index = np.arange(value.shape[dim]) * stride
        steps = steps + index.reshape([-1] + [1] * (len(value.shape) - dim - 1))
    return [int(each) + value.offset for each in steps.ravel()]


@given(tensors())
def test_cells_are_the_places_of_the_elements(value: Value) -> None:
    places = _places(value)
    assert numel(value) == prod(value.shape) == len(places)
    if places:
        assert cells(value) == set(places)
        assert span(value) == (min(places), max(places) + 1)
    assert repeats(value) == (len(set(places)) < len(places))


@given(tensors(), tensors())
def test_overlap_is_a_common_place(one: Value, other: Value) -> None:
    assert overlap(one, other) == bool(set(_places(one)) & set(_places(other)))


@given(tensors(), st.sets(st.integers(0, 40)))
def test_landing_counts_elements(value: Value, places: set[int]) -> None:
    assert landing(value, places) == sum(each in places for each in _places(value))


@given(tensors())
def test_contiguous_elements_are_in_order(value: Value) -> None:
    places = _places(value)
    in_order = places == list(range(value.offset, value.offset + len(places)))
    assert is_contiguous(value) <= in_order


# ---- rewriting ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("y += 1", "y = y + 1"),
        ("y *= a + b", "y = y * (a + b)"),
        ("y.mul_(0.5)", "y = y.mul(0.5)"),
        ("z = y.add_(1, alpha=2)", "z = y.add(1, alpha=2)"),
        ("y.zero_()", "y = torch.zeros_like(y)"),
        ("y.fill_(3)", "y = torch.full_like(y, 3)"),
        ("y.copy_(z)", "y = z"),
        ("self.h.tanh_()", "self.h = self.h.tanh()"),
        ("nn.init.zeros_(y)", None),
        ("y[0].mul_(2)", None),
        ("y[0] = 1", None),
        ("y.requires_grad", None),
    ],
)
def test_a_write_is_rewritten_out_of_place(
    line: str, rewritten: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = harness.run(harness.case("line", "import torch"), "gradtape")
    history = History(program)
    code = compile(line, "rewritten.py", "exec")
    rows = (len(line), None, [line], "rewritten.py")
    monkeypatch.setitem(linecache.cache, "rewritten.py", rows)
    assert out_of_place(history, history.places.at_line(code, 1)) == rewritten


# ---- arrays -------------------------------------------------------------------------


def _written(source: str, *names: str) -> list[int]:
    tree = ast.parse(source)
    return [write.line for write in Tracker(tree, set(names)).writes(tree)]


@pytest.mark.parametrize(
    "line",
    [
        "a[0] = 1",
        "a[1:][0] += 1",
        "a += 1",
        "a.T[0] = 1",
        "a.fill(0)",
        "a.reshape(2)[:] = 3",
        "np.add(a, 1, out=a)",
        "np.multiply(b, 2, a)",
        "np.copyto(a, b)",
        "np.add.at(a, i, 1)",
        "rng.shuffle(a)",
        "x, a[0] = 1, 2",
        "if late:\n    a.sort()",
    ],
)
def test_writes_to_an_array_are_seen(line: str) -> None:
    assert len(_written(line, "a")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "b = a + 1",
        "a = b",
        "b[0] = a",
        "print(a.sum())",
        "np.sort(a)",
        "a.copy()[0] = 1",
    ],
)
def test_reads_of_an_array_are_no_writes(line: str) -> None:
    assert _written(line, "a") == []


def test_other_names_and_functions_are_followed() -> None:
    source = """
def scale(values, by):
    copied = values.copy()
    copied[:] = 0
    values *= by

view = a[1:]
for row in view:
    row[0] = 1
scale(view, 2)
scale(other, 2)
"""
    assert _written(source, "a") == [9, 5]


def test_the_names_of_an_export() -> None:
    def names(line: str) -> set[str]:
        return export_names(ast.parse(line).body[0])

    assert names("self.a = t.numpy()") == {"self.a"}
    assert names("x = torch.from_numpy(data[0])") == {"x", "data"}
    assert names("kept.append(t.numpy())") == {"kept"}
    assert writes_itself(ast.parse("t.detach().numpy()[:] = 0").body[0])
    assert not writes_itself(ast.parse("a[:] = t.detach().numpy()").body[0])


def test_a_history_without_events_has_no_writes() -> None:
    history = History(Program("torch"))
    assert history.writes(1) == []
    assert history.once(len_of_calls) == history.once(len_of_calls) == 0


def len_of_calls(history: History) -> int:
    return len(history.calls)
