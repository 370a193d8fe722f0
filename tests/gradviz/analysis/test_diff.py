"""Two graphs compared: by module, call and order, in shape, wiring and gradient."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradviz
from gradviz import cli, export, ir, snapshots
from gradviz.analysis.align import align
from gradviz.analysis.passes import passes
from gradviz.analysis.subgraph import joined, subgraph
from gradviz.errors import GradvizError
from gradviz.ir import json as ir_json
from gradviz.ir.validate import validate
from tests.gradviz import samples
from tests.gradviz.ir import strategies


def model(lib: Any, *, wide: int = 4, extra: bool = False) -> Any:
    """Two linear layers; an edit may widen the first or add a tanh."""
    lib.manual_seed(0)
    nn = lib.nn
    layers = [nn.Linear(3, wide), nn.ReLU(), *([nn.Tanh()] * extra)]
    return nn.Sequential(*layers, nn.Linear(wide, 1))


def recording(lib: Any, net: Any, *, steps: int = 1, rate: float = 0.1) -> Any:
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    optimizer = lib.optim.SGD(net.parameters(), lr=rate)
    x = lib.ones(2, 3)
    with gradviz.record(engine=engine) as rec:
        for _ in range(steps):
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()
    return rec


def labels(rows: tuple[Any, ...]) -> list[str]:
    return [row.label for row in rows]


def test_the_same_program_twice_does_not_differ(lib: Any):
    found = gradviz.diff(*(recording(lib, model(lib)) for _ in range(2)))
    assert not found
    assert {row.kind for row in found.rows} == {"same"}
    assert all(row.ratio == pytest.approx(1) for row in found.gradients)


def test_an_inserted_op_is_added_and_the_rest_stays(lib: Any):
    found = gradviz.diff(
        recording(lib, model(lib)), recording(lib, model(lib, extra=True))
    )
    # The last layer was "2" and is "3": still the same layer, with the same weights.
    assert (labels(found.added), labels(found.removed)) == (["tanh"], [])
    assert found.changed == ()


def test_a_wider_layer_changes_shapes(lib: Any):
    found = gradviz.diff(recording(lib, model(lib)), recording(lib, model(lib, wide=5)))
    assert (found.added, found.removed) == ((), ())
    (relu,) = [row for row in found.changed if row.label == "relu"]
    assert relu.changes[0] == "shape (2, 4) → (2, 5)"
    assert any(row.label == "0.weight" for row in found.changed)


def test_two_steps_of_one_recording(lib: Any):
    rec = recording(lib, model(lib), steps=3, rate=100.0)
    found = gradviz.diff(rec, factor=1.5)
    assert found.labels == ("pass 1", "pass 3")
    assert (found.added, found.removed) == ((), ())
    # The second layer's weights exploded, and with them the gradient of the first one.
    grown = {row.label: row.ratio for row in found.gradients}
    assert grown["2.bias"] == pytest.approx(1)
    assert found.gradients[0].ratio is not None
    assert max(ratio or 0 for ratio in grown.values()) > 10
    again = gradviz.diff(rec, passes=(1, 1))
    assert not again
    assert again.labels == ("pass 2", "pass 2")


def test_of_two_losses_a_step_each_is_compared_with_its_own(lib: Any):
    w = lib.ones(3, requires_grad=True)
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    with gradviz.record(engine=engine) as rec:
        for _ in range(2):
            w.exp().sum().backward()
            w.tanh().sum().backward()
    found = gradviz.diff(rec)
    assert found.labels == ("pass 2", "pass 4")
    assert not found
    assert "pass 2 → pass 4 of 4, both from test_diff.py:" in repr(found)
    across = gradviz.diff(rec, passes=(0, 1))
    assert [row.label for row in across.removed] == ["exp"]
    assert repr(across).startswith("pass 1 (test_diff.py:")


def test_a_gradient_that_vanished_is_a_change():
    mlp = samples.mlp()
    small = tuple(
        replace(each, norm=None if each.norm is None else each.norm / 1000)
        for each in mlp.statistics
    )
    found = gradviz.diff(mlp, replace(mlp, statistics=small))
    assert any("gradient norm" in text for row in found.changed for text in row.changes)
    assert not gradviz.diff(mlp, replace(mlp, statistics=small), factor=10_000)


def test_another_input_is_named(lib: Any):
    def graph(other: bool) -> Any:
        x = lib.ones(3, requires_grad=True)
        a, b = x.exp(), x.sin()
        return ((a * (a if other else b)) + b).sum()

    found = gradviz.diff(graph(False), graph(True))
    (row,) = [row for row in found.changed if row.label == "mul"]
    assert "input 1 from sin → exp" in row.changes


def test_text_lines_up_with_signs(lib: Any):
    x = lib.ones(3, requires_grad=True)
    text = repr(gradviz.diff(x.exp().sum(), x.tanh().sum()))
    assert (
        text.splitlines()[0] == "before → after: 1 added, 1 removed, 0 changed, 2 same"
    )
    assert [line.split()[:2] for line in text.splitlines()[1:3]] == [
        ["-", "exp"],
        ["+", "tanh"],
    ]


def test_both_graphs_fit_into_one_snapshot_that_every_view_reads(lib: Any):
    rec = recording(lib, model(lib), steps=2)
    both = gradviz.diff(rec).snapshot()
    validate(both)
    assert [part.label for part in both.parts] == ["pass 1", "pass 2"]
    assert ir_json.loads(ir_json.dumps(both).encode()) == both
    assert not gradviz.diff(both, passes=(0, 0))
    assert [len(each.nodes) for each in passes(both)] == [len(both.nodes) // 2] * 2
    assert {scope.path for scope in both.scopes if scope.parent is None} == {
        "pass 1",
        "pass 2",
    }


@given(strategies.snapshots(), st.data())
def test_any_part_of_any_snapshot_is_one(snapshot: ir.Snapshot, data: st.DataObject):
    nodes = data.draw(st.sets(st.sampled_from(range(len(snapshot.nodes) or 1))))
    part = subgraph(snapshot, {row for row in nodes if row < len(snapshot.nodes)})
    validate(part)
    whole = joined(part, snapshot)
    validate(whole)
    assert len(whole.nodes) == len(part.nodes) + len(snapshot.nodes)


@given(strategies.snapshots(), strategies.snapshots())
def test_any_two_snapshots_compare(a: ir.Snapshot, b: ir.Snapshot):
    found = gradviz.diff(a, b)
    validate(found.snapshot())
    assert found.to_text(limit=3)
    befores = [row.before for row in found.rows if row.before is not None]
    afters = [row.after for row in found.rows if row.after is not None]
    assert sorted(befores) == list(range(len(found.before.nodes)))
    assert sorted(afters) == list(range(len(found.after.nodes)))


@given(st.lists(st.sampled_from("abc"), max_size=12), st.data())
def test_pairs_rise_and_are_equal(left: list[str], data: st.DataObject):
    right = data.draw(st.lists(st.sampled_from("abcd"), max_size=12))
    pairs = align([[key] for key in left], [[key] for key in right])
    assert all(left[i] == right[j] for i, j in pairs)
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_ten_thousand_nodes_align():
    draw = random.Random(0)
    left = [[f"block{n // 12}.{n % 12}", "op"] for n in range(10_000)]
    right = [key for key in left if draw.random() > 0.01]
    begun = time.process_time()
    pairs = align(left, right)
    assert time.process_time() - begun < 10  # a table of all pairs takes a minute
    assert len(pairs) == len(right)


def test_the_command_answers_as_diff_does(tmp_path: Path, capsys: Any, bundle: Any):
    mlp, cnn = samples.mlp(), samples.cnn()
    a = str(export.export_json(mlp, tmp_path / "a.gradviz.json"))
    b = str(export.export_json(cnn, tmp_path / "b.gradviz.json"))
    assert cli.main(["diff", a, a]) == 0
    assert "0 added, 0 removed, 0 changed, 6 same" in capsys.readouterr().out
    page = tmp_path / "diff.html"
    assert cli.main(["diff", a, b, "--html", str(page)]) == 1
    assert "before → after: " in capsys.readouterr().out
    assert [part.label for part in snapshots.load(page).parts] == ["before", "after"]
    assert cli.main(["diff", a, "--passes", "0", "7"]) == 2
    assert "no pass 7" in capsys.readouterr().err


def test_a_pass_that_is_not_there_is_one_sentence():
    with pytest.raises(GradvizError, match="There is no pass 3: passes are counted"):
        gradviz.diff(samples.mlp(), passes=(0, 3))
    with pytest.raises(ValueError, match="above 1"):
        gradviz.diff(samples.mlp(), factor=0.5)
