"""gradviz merge: the ranks of one training side by side, of real processes too."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gradviz
from gradviz import cli, ir
from gradviz.errors import GradvizError
from gradviz.flow.rank_text import ranks_text, verdict_text
from gradviz.ir.validate import validate
from tests import forked
from tests.gradviz.watching import flows

PROGRAM = Path(__file__).with_name("ranks_program.py")
LIMIT_S = 120


def trained(mode: str, folder: Path) -> ir.Snapshot:
    """Train in two processes that find each other by a file; merge what they wrote."""
    pytest.importorskip("torch")
    processes = [
        forked.start(
            *(PROGRAM, mode, folder),
            cwd=folder,
            engine="torch",
            environment={"RANK": str(rank), "WORLD_SIZE": "2"},
        )
        for rank in range(2)
    ]
    ended = [process.wait() for process in processes]
    assert [each.returncode for each in ended] == [0, 0], ended
    return gradviz.merge(sorted(folder.glob("seen-rank*.json")))


@pytest.mark.slow
def test_ddp_with_a_slow_rank_that_leaves_a_part_unused_and_computes_nan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    merged = trained("unused-slow-nan", tmp_path)
    found = {finding.slug: finding for finding in merged.findings}
    assert found["unused-submodule"].message.startswith(
        "`other.weight` and `other.bias` got no gradient on rank 1 although"
    )
    assert "At step 5 only rank 1 computed NaN or Inf" in found["bad-rank"].message
    assert "rank 1 is the slowest" in found["waiting-rank"].message
    assert found["waiting-rank"].message.startswith("Rank 0 waits ")
    assert "weights-differ" not in found
    assert "gradients-differ" not in found
    validate(merged)
    flow = {step.rank: step for step in merged.flow_steps}
    assert flow.keys() == {0, 1}

    files = [str(file) for file in sorted(tmp_path.glob("seen-rank*.json"))]
    status = cli.main(["merge", *files, "-o", str(tmp_path / "all.json")])
    out = capsys.readouterr().out
    assert status == 1, "a NaN is an error"
    assert out.startswith("2 ranks: rank 1: no gradient from step 0 in `other.w")
    assert out.count("none") == 2
    assert gradviz.load(tmp_path / "all.json") == merged


@pytest.mark.slow
def test_ddp_that_is_gone_around_trains_two_models(tmp_path: Path):
    merged = trained("bypass", tmp_path)
    (finding,) = (f for f in merged.findings if f.severity == "error")
    assert finding.slug == "gradients-differ"
    assert finding.message.startswith(
        "Ranks 0 and 1 differ, first at step 0 in the averaged gradients of `body."
    )
    assert "model.module" in finding.fix


@pytest.mark.slow
def test_torchrun_records_each_rank_into_its_own_file(tmp_path: Path):
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text(
        "import os, torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "v = torch.ones(2, requires_grad=True)\n"
        "loss = w.sum() if os.environ['RANK'] == '1' else (w * v).sum()\n"
        "loss.backward()\n"
    )
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*run, "--nproc-per-node", "2", "-m", "gradviz", "run", script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": forked.PATHS, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("train-rank*.json"))
    assert [file.name for file in files] == ["train-rank0.json", "train-rank1.json"]
    merged = gradviz.merge(files)
    assert merged.nodes == gradviz.load(files[0]).nodes
    missing, path = merged.findings
    assert missing.message.startswith("`v` got no gradient on rank 1 although another")
    assert path.message.startswith("Rank 1 computes something else than rank 0: first")
    assert path.culprit is not None
    assert merged.sites[path.culprit].line == 4


# ---- histories made by hand ---------------------------------------------------------


def ranked(rank: int, **changes: object) -> ir.Snapshot:
    """Return the history of one rank; ``changes`` go into every point of it."""
    found = flows.history(ranks=(rank,))
    points = tuple(replace(each, local_norm=1.0, **changes) for each in found.flow)  # type: ignore[arg-type]
    return replace(found, flow=points)


def test_ranks_that_agree_have_no_findings():
    merged = gradviz.merge([ranked(1), ranked(0)])
    assert merged.findings == ()
    assert merged.title == "a net, 2 ranks"
    assert [step.rank for step in merged.flow_steps] == [0] * 12 + [1] * 12
    assert len(merged.statistics) == 1 + 3, "those of rank 1 come after rank 0's"
    validate(merged)
    assert verdict_text(merged) == "The 2 ranks agree: 111 steps, 3 parameters."
    assert "in.weight" in ranks_text(merged)


def test_different_weights_are_the_cause_of_different_gradients():
    merged = gradviz.merge([ranked(0), ranked(1, weight_norm=11.0, norm=3.0)])
    assert [each.slug for each in merged.findings] == ["weights-differ"]
    assert "(rank 0: 10; rank 1: 11)" in merged.findings[0].message


def test_parameters_spread_over_the_ranks_may_differ():
    from gradviz.flow.ranks import SPREAD

    parts = [ranked(0), ranked(1, weight_norm=11.0)]
    parts = [replace(part, notes=(SPREAD,)) for part in parts]
    assert gradviz.merge(parts).findings == ()


def test_uneven_data_is_noticed():
    far = ranked(1)
    far = replace(far, flow=tuple(replace(each, local_norm=500.0) for each in far.flow))
    (finding,) = gradviz.merge([ranked(0), far]).findings
    assert finding.slug == "uneven-ranks"
    assert "(rank 0: 1; rank 1: 500)" in finding.message


def test_findings_of_other_ranks_say_whose_they_are():
    site = ir.Site("train.py", 3, 3, text="x.add_(1)")
    finding = ir.Finding("GV101", "inplace-saved-output", "error", "Bad.", "", 0)
    one = replace(ranked(1), sites=(site,), findings=(finding,))
    (moved,) = gradviz.merge([ranked(0), one]).findings
    assert moved.message == "Rank 1: Bad."
    same = replace(ranked(0), sites=(site,), findings=(finding,))
    assert len(gradviz.merge([same, one]).findings) == 1


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([ranked(0)], "at least two ranks"),
        ("none.json", "none.json cannot be read"),
        ([ranked(0), ranked(0)], "two of the files are of rank 0"),
        ([flows.history(ranks=(0, 1)), ranked(2)], "is merged already"),
    ],
)
def test_files_that_cannot_be_merged(files: list[ir.Snapshot] | str, words: str):
    with pytest.raises(GradvizError, match=words):
        gradviz.merge(files)


def test_the_command_answers_bad_files_with_a_sentence(
    capsys: pytest.CaptureFixture[str],
):
    assert cli.main(["merge", "none.json", "nowhere.json"]) == 2
    assert capsys.readouterr().err.startswith("gradviz merge: none.json cannot be read")
    assert cli.main(["merge", "a.json", "-o", "a.xyz"]) == 2
    assert "must end in .html or .json" in capsys.readouterr().err
