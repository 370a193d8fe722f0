"""The files of many ranks: who differs, where first, who is missing, folded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gradviz
from gradviz import cli, ir
from gradviz.analysis.merge import SHOWN
from gradviz.flow.rank_text import ranks_text, verdict_text
from gradviz.ir.validate import validate
from tests.gradviz.analysis import planted_ranks as planted

SIZE = 24
NAMES = ("in.weight", "in.bias", "layers.0.weight", "layers.0.bias")


def whole() -> ir.Snapshot:
    """Return the history of one rank: twenty steps of four layers."""
    return ir.Snapshot(
        "torch watched by gradviz",
        "Net",
        flow_layers=tuple(ir.FlowLayer(name, count=8) for name in NAMES),
        flow_steps=tuple(ir.FlowStep(n, n, step_ns=9, stepped=True) for n in range(20)),
        flow=tuple(
            ir.FlowPoint(step, layer, norm=1.0 / (1 + step), weight_norm=2.0)
            for step in range(20)
            for layer in range(len(NAMES))
        ),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("ranks")
    changes: dict[int, planted.Change | None] = {
        3: planted.other_weights,
        17: planted.other_weights,
        5: planted.other_loss,
        6: planted.no_gradient,
        7: planted.not_finite,
        8: planted.other_shape,
        10: planted.stopped(3, "ValueError: bad batch 7"),
        11: planted.stopped(15),
        9: None,
    }
    written = planted.write_ranks(folder, whole(), SIZE, changes)
    cut = written[-1]
    cut.write_bytes(cut.read_bytes()[:500])
    return written


@pytest.fixture(scope="module")
def merged(files: list[Path]) -> ir.Snapshot:
    found = gradviz.merge(files)
    validate(found)
    return found


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("weights-differ", "Ranks 3 and 17 differ from the other "),
        ("weights-differ", "first at step 12 in the weights of `layers.0.weight` and "),
        ("uneven-ranks", "At step 12 the gradients of `layers.0.weight` and "),
        ("uneven-ranks", "on rank 5 differ more than 100 times"),
        ("unused-submodule", "`layers.0.weight` got no gradient on rank 6 although "),
        ("bad-rank", "At step 12 only rank 7 computed NaN or Inf, in the gradient of"),
        ("shapes-differ", "on rank 8 than on the other 21: 16 elements, not 8"),
        ("rank-stopped", "Rank 10 stopped after 3 of 20 steps: ValueError: bad batch"),
        ("rank-stopped", "Rank 11 stopped after 15 of 20 steps."),
        ("rank-missing", "There is no file of rank 9, of 24 ranks."),
        ("rank-missing", "The file of rank 23 cannot be merged: "),
    ],
)
def test_each_planted_difference_is_named(merged: ir.Snapshot, slug: str, words: str):
    told = [f.message for f in merged.findings if f.slug == slug]
    assert any(words in each for each in told), told


def test_nothing_else_is_found(merged: ir.Snapshot):
    assert len(merged.findings) == 9
    odd = {process.rank for process in merged.processes if process.state}
    assert odd == {3, 17, 5, 6, 7, 8, 9, 10, 11, 23}


def test_equal_ranks_share_a_row_and_one_of_them_stands_for_the_rest(
    merged: ir.Snapshot, files: list[Path]
):
    shown = {step.rank for step in merged.flow_steps}
    assert len(shown) <= SHOWN
    assert {3, 17, 5, 6, 7, 8, 10, 11} < shown
    known = {process.rank: process for process in merged.processes}
    assert (known[20].like, known[0].like, known[17].like) == (0, None, None)
    text = ranks_text(merged)
    assert "the other 14" in text
    assert len(text.splitlines()) < 20
    assert verdict_text(merged).endswith("nothing sets the other 14 apart.")


def test_the_verdict_comes_first_and_errors_are_the_exit_status(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    page = tmp_path / "all.json"
    assert cli.main(["merge", *map(str, files), "-o", str(page)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("24 ranks: ranks 3 and 17: differs from step 12 in ")
    assert gradviz.load(page) == gradviz.merge(files)


def test_ranks_that_agree_are_said_to_with_what_was_compared(tmp_path: Path):
    files = planted.write_ranks(tmp_path, whole(), SIZE, {})
    merged = gradviz.merge(files)
    assert merged.findings == ()
    assert verdict_text(merged) == "The 24 ranks agree: 20 steps, 4 parameters."


def test_a_rank_that_stopped_does_not_hide_what_others_do_later(tmp_path: Path):
    changes = {1: planted.stopped(3), 2: planted.other_weights}
    merged = gradviz.merge(planted.write_ranks(tmp_path, whole(), 5, changes))
    slugs = [finding.slug for finding in merged.findings]
    assert slugs == ["rank-stopped", "weights-differ"]


def test_sampled_steps_tell_a_rank_that_stopped_from_one_looked_at_earlier():
    def seen(rank: int, numbers: list[int]) -> ir.Snapshot:
        rows = whole()
        steps = tuple(ir.FlowStep(n, rank=rank) for n in numbers)
        points = tuple(p for p in rows.flow if p.step < len(numbers))
        return replace(rows, flow_steps=steps, flow=points)

    long = seen(0, [0, 1, 2, 10, 20, 28])
    assert gradviz.merge([long, seen(1, [0, 1, 2, 9, 19])]).findings == ()
    (finding,) = gradviz.merge([long, seen(1, [0, 1, 2])]).findings
    assert "stopped after 3 of 29 steps (looked at: 3 of 6)" in finding.message


def test_a_lost_connection_is_told_after_the_error_that_led_to_it(tmp_path: Path):
    lost = planted.stopped(3, "RuntimeError: Connection closed by peer [::1]:90")
    changes = {0: lost, 1: planted.stopped(4, "ValueError: bad"), 2: lost}
    merged = gradviz.merge(planted.write_ranks(tmp_path, whole(), 3, changes))
    first, second = merged.findings
    assert first.message == "Rank 1 raised ValueError: bad."
    assert second.message.startswith("Ranks 0 and 2 stopped after 3 of 4 steps: Runt")


def test_findings_of_many_ranks_are_said_once():
    finding = ir.Finding("GV503", "dead-relu", "warning", "Since step 4 `a` is 0.")
    parts = [
        replace(
            whole(),
            flow_steps=tuple(replace(s, rank=rank) for s in whole().flow_steps),
            findings=(replace(finding, message=f"Since step {rank} `a` is 0."),)
            if rank
            else (),
        )
        for rank in range(4)
    ]
    (told,) = gradviz.merge(parts).findings
    assert told.message == "Ranks 1–3: Since step 1 `a` is 0."


def test_another_operation_on_one_rank_is_named_with_its_line():
    def recorded(rank: int, op: str) -> ir.Snapshot:
        site = ir.Site("train.py", 14, 14, text=f"loss = F.{op}(y, t)")
        nodes = ir.OpNode("TBackward0", "op", "t"), ir.OpNode("L", "op", op, site=0)
        process = ir.Process(rank, 3, 20)
        return replace(whole(), sites=(site,), nodes=nodes, processes=(process,))

    parts = [
        recorded(rank, "l1_loss" if rank == 1 else "mse_loss") for rank in (0, 1, 2)
    ]
    merged = gradviz.merge(parts)
    (finding,) = merged.findings
    assert finding.slug == "paths-differ"
    assert finding.message == (
        "Rank 1 computes something else than the other 2: first `l1_loss` in "
        "train.py:14, where the others have `mse_loss` in train.py:14."
    )
    assert finding.culprit is not None
    assert merged.sites[finding.culprit].line == 14


@pytest.mark.parametrize(("count", "differs"), [(8, False), (16, True)])
def test_a_rank_that_knows_a_shape_agrees_with_those_that_know_its_size(
    tmp_path: Path, count: int, differs: bool
) -> None:
    def shaped(snapshot: ir.Snapshot) -> ir.Snapshot:
        """Keep the graph that the first layer belongs to."""
        known = ir.TensorMeta((2, count // 2), (count // 2, 1), 0, "float32", "cpu")
        first = replace(snapshot.flow_layers[0], count=count, tensor=0)
        layers = (first, *snapshot.flow_layers[1:])
        return replace(snapshot, tensors=(known,), flow_layers=layers)

    files = planted.write_ranks(tmp_path, whole(), 3, {1: shaped})
    found = [each.slug for each in gradviz.merge(files).findings]
    assert ("shapes-differ" in found) == differs
