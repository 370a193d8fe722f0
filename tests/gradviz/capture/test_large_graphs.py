"""Graphs too large to draw are folded, and steps too large to note are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz._capture.recorder import fold
from gradviz.ir.validate import validate
from gradviz.program import step_size
from tests import forked

MOST = 40
LENGTH = 200


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "MOST_DRAWN", MOST)
    monkeypatch.setattr(step_size, "MOST_NOTED", MOST)


def chain(x: Any, length: int = LENGTH) -> Any:
    """Multiply and take the tangent, again and again."""
    y = x
    for _ in range(length // 2):
        y = y * 0.5
        y = y.tanh()
    return y


def test_a_finished_graph_keeps_its_ends_and_counts_the_rest(lib: Any) -> None:
    snapshot = gradviz.capture(chain(lib.ones(2, requires_grad=True)).sum())
    validate(snapshot)
    assert len(snapshot.nodes) <= MOST
    assert sum(node.count for node in snapshot.nodes) == LENGTH + 2
    assert snapshot.nodes[0].name == "AccumulateGrad"
    assert snapshot.nodes[-1].name == "SumBackward0"
    folded = {node.name: node.count for node in snapshot.nodes if node.count > 1}
    assert set(folded) == {"MulBackward0", "TanhBackward0"}
    assert any("202 nodes" in note for note in snapshot.notes)


def test_what_is_drawn_of_a_folded_graph_hangs_together(lib: Any) -> None:
    snapshot = gradviz.capture(chain(lib.ones(2, requires_grad=True)).sum())
    reached = set(snapshot.roots)
    for edge in reversed(snapshot.edges):
        if edge.target in reached:
            reached.add(edge.source)
    assert reached == set(range(len(snapshot.nodes)))


def test_a_recorded_step_keeps_lines_ends_and_gradients_of_leaves(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    with gradviz.record() as recorder:
        chain(x).sum().backward()
    snapshot = recorder.snapshot()
    validate(snapshot)
    assert sum(node.count for node in snapshot.nodes) == LENGTH + 2
    folded = [node for node in snapshot.nodes if node.count > 1]
    lines = {
        snapshot.sites[node.site].text.strip()
        for node in folded
        if node.site is not None
    }
    assert {"y * 0.5", "y.tanh()"} <= {line.split("= ")[-1] for line in lines}
    leaf = next(at for at, node in enumerate(snapshot.nodes) if node.call == "x")
    assert any(
        edge.gradient is not None for edge in snapshot.edges if edge.source == leaf
    )
    assert any("only counted" in note for note in recorder.diagnose().notes)


def test_a_large_step_without_a_pass_is_drawn_all_the_same(lib: Any) -> None:
    with gradviz.record() as recorder:
        y = chain(lib.ones(2, requires_grad=True))
    snapshot = recorder.snapshot()
    assert sum(node.count for node in snapshot.nodes) == LENGTH + 1
    assert y.requires_grad


def test_after_a_large_step_the_next_is_noted_in_full(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    with gradviz.record(steps=1) as recorder:
        chain(x).sum().backward()
        (x * float("nan")).sum().backward()
    names = [node.name for node in recorder.snapshot().nodes]
    assert names == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert [finding.code for finding in recorder.diagnose().findings] == ["GV414"]


def test_a_second_pass_through_a_large_graph_is_explained(lib: Any) -> None:
    recorder = gradviz.record()
    x = lib.ones(2, requires_grad=True)

    def twice() -> None:
        loss = chain(x).sum()
        loss.backward()
        loss.backward()

    with pytest.raises(RuntimeError, match="second time"), recorder:
        twice()
    assert recorder.diagnose().findings[0].code == "GV201"


_FREED = """
import torch, gradviz
x = torch.ones(2, requires_grad=True)
y = x
for _ in range(70_000): y = y * 1.0
assert gradviz.capture(y).nodes
del y
print("freed")
"""


def test_a_walked_graph_of_pytorch_can_be_freed_however_deep(tmp_path: Path) -> None:
    ran = forked.run("-c", _FREED, cwd=tmp_path, engine="torch")
    assert (ran.returncode, ran.stdout) == (0, "freed\n"), ran.stderr
