"""``gradviz.assert_same_graph``: what may differ, and what may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.testing.graphs import UPDATES


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "loss.gradviz.json"


def plain(lib: Any) -> Any:
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 1))
    return (model(lib.ones(2, 3)) ** 2).mean()


def refactored(lib: Any) -> Any:
    """The same graph, of other lines, variables and calls."""

    def squared(x: Any) -> Any:
        return x**2

    lib.manual_seed(1)
    layers = [lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 1)]
    network = lib.nn.Sequential(*layers)
    return squared(network(lib.ones(2, 3))).mean()


def other_activation(lib: Any) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1))
    return (model(lib.ones(2, 3)) ** 2).mean()


def wider(lib: Any) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(3, 5), lib.nn.ReLU(), lib.nn.Linear(5, 1))
    return (model(lib.ones(2, 3)) ** 2).mean()


def cut(lib: Any) -> Any:
    first, second = lib.nn.Linear(3, 4), lib.nn.Linear(4, 1)
    return (second(first(lib.ones(2, 3)).relu().detach()) ** 2).mean()


def test_a_refactored_program_has_the_same_graph(lib: Any, file: Path):
    gradviz.assert_same_graph(plain(lib), file)
    written = file.read_bytes()
    gradviz.assert_same_graph(refactored(lib), file)
    assert file.read_bytes() == written


@pytest.mark.parametrize(
    ("changed", "row"),
    [
        (other_activation, r"\+ +tanh"),
        (wider, r"~ +relu +.*shape \(2, 4\) → \(2, 5\)"),
        (cut, r"- +relu"),
    ],
    ids=["activation", "shape", "cut"],
)
def test_another_graph_is_told_by_its_differences(
    lib: Any, file: Path, changed: Callable[[Any], Any], row: str
):
    gradviz.assert_same_graph(plain(lib), file)
    with pytest.raises(AssertionError, match="is not the one in loss") as caught:
        gradviz.assert_same_graph(changed(lib), file)
    assert re.search(row, str(caught.value)), str(caught.value)
    assert "pytest --gradviz-update" in str(caught.value)


def test_a_gradient_that_became_much_smaller_is_a_difference(lib: Any, file: Path):
    def recorded(scale: float) -> Any:
        with gradviz.record() as recorder:
            w = lib.ones(3, requires_grad=True)
            ((w * w).sum() * lib.tensor(scale)).backward()
        return recorder

    gradviz.assert_same_graph(recorded(1.0), file)
    gradviz.assert_same_graph(recorded(0.5), file)
    with pytest.raises(AssertionError, match="gradient norm"):
        gradviz.assert_same_graph(recorded(0.01), file)
    with pytest.raises(AssertionError, match="gradient norm"):
        gradviz.assert_same_graph(recorded(0.5), file, factor=1.5)


def test_two_runs_write_the_same_file(lib: Any, tmp_path: Path):
    texts: list[bytes] = []
    for name in ("one.gradviz.json", "two.gradviz.json"):
        gradviz.assert_same_graph(plain(lib), tmp_path / name)
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    assert str(Path(__file__).parent).encode() not in texts[0]


def test_an_address_in_an_argument_is_no_difference(lib: Any, file: Path):
    class Call(lib.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any, call: Any) -> Any:
            return call(x)

        @staticmethod
        def backward(_: Any, g: Any) -> Any:
            return g, None

    for _ in range(2):
        x = lib.ones(2, requires_grad=True)
        keep = lambda x: x * 1  # noqa: E731
        with gradviz.record() as recorder:
            Call.apply(x, keep).sum().backward()
        gradviz.assert_same_graph(recorder, file)
    assert not re.search(rb"0x[0-9a-f]", file.read_bytes())


def test_a_graph_is_written_anew_where_that_is_asked_for(lib: Any, file: Path):
    gradviz.assert_same_graph(plain(lib), file)
    token = UPDATES.set(True)
    try:
        gradviz.assert_same_graph(wider(lib), file)
    finally:
        UPDATES.reset(token)
    gradviz.assert_same_graph(wider(lib), file)


def test_a_missing_graph_fails_in_continuous_integration(
    lib: Any, file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="there is no graph loss"):
        gradviz.assert_same_graph(plain(lib), file)
    assert not file.exists()


def test_a_damaged_file_is_no_graph(lib: Any, file: Path):
    file.write_text("{")
    with pytest.raises(gradviz.SnapshotError):
        gradviz.assert_same_graph(plain(lib), file)
