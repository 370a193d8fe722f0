"""The stages of `make test`: run side by side, judged, summed up."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tools import check, counts, stages
from tools.counts import Counts, Failure, Report
from tools.stages import Board, Lane, Outcome, Stage

GOOD = [
    {"total": 2},
    {"test": "a", "outcome": "passed", "seconds": 1.0},
    {"test": "b", "outcome": "passed", "seconds": 2.0},
]


def stage(tmp_path: Path, code: str, *, reports: bool = False) -> Stage:
    return Stage(
        "sample",
        "test",
        [sys.executable, "-c", code],
        folder=tmp_path,
        report=tmp_path / "report",
        read=counts.from_pytest if reports else None,
    )


def ran(tmp_path: Path, code: str, *, reports: bool = False) -> Outcome:
    return stages.run(stage(tmp_path, code, reports=reports), tmp_path / "output")


def written(lines: Sequence[Mapping[str, object]], status: int) -> str:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return f"open('report', 'w').write({text!r}); exit({status})"


def test_a_stage_without_report_is_one_check(tmp_path: Path):
    assert ran(tmp_path, "pass").report.counts == Counts(passed=1)
    failed = ran(tmp_path, "print('why'); exit(3)").report
    assert failed.counts == Counts(failed=1)
    assert failed.failures == [Failure("sample", "why")]


def test_the_processor_time_counts_what_a_stage_started(tmp_path: Path):
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    assert ran(tmp_path, code).cpu > 0.4


def test_what_a_stage_starts_keeps_what_it_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = "import sys; exit(sys.dont_write_bytecode)"
    assert ran(tmp_path, code).report.counts == Counts(passed=1)


def test_a_runner_that_dies_before_its_report_is_a_failure(tmp_path: Path):
    assert ran(tmp_path, "exit(0)", reports=True).report.counts == Counts(failed=1)


def test_a_runner_that_fails_after_good_tests_is_a_failure(tmp_path: Path):
    outcome = ran(tmp_path, written(GOOD, 1), reports=True)
    assert outcome.report.counts == Counts(passed=2, failed=1)
    assert outcome.note == "exit status 1"


def test_a_runner_that_stops_half_way_is_a_failure(tmp_path: Path):
    outcome = ran(tmp_path, written(GOOD[:2], 0), reports=True)
    assert outcome.report.counts == Counts(passed=1, failed=1)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("deadline", "begun"), [(0.0, 1), (1000.0, 20)])
def test_tests_end_with_their_time_and_the_others_are_counted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    deadline: float,
    begun: int,
):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    sample = tmp_path / "test_sample.py"
    sample.write_text("".join(f"def test_{n}(): pass\n" for n in range(20)))
    plugins = ["-p", "xdist", "-p", "no:cacheprovider"]
    options = [*plugins, f"--numprocesses={workers}", str(sample)]
    hurried = check.pytest("sample", tmp_path, *options, deadline=deadline)
    outcome = stages.run(hurried, tmp_path / "output")
    done = min(begun * (workers or 1), 20)
    assert outcome.report.counts == Counts(passed=done)
    assert outcome.note == (f"{20 - done} left out" if done < 20 else "")


def test_the_times_of_what_was_left_out_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(check, "TIMES", tmp_path / "seconds.json")
    sample = stage(tmp_path, "", reports=True)
    every = Outcome(sample, Report(seconds={"f::a": 1.0, "f::b": 1.0}), 2.0)
    check.remember([every])
    some = replace(every, report=Report(seconds={"f::a": 3.0}))
    check.remember([replace(some, stage=replace(sample, hurried=True))])
    assert check.usual()["tests"] == {"f::a": 3.0, "f::b": 1.0}
    check.remember([some])
    assert check.usual()["tests"] == {"f::a": 3.0}


def test_a_missing_program_is_a_failure(tmp_path: Path):
    missing = Stage("sample", "test", [str(tmp_path / "nobody")])
    outcome = stages.run(missing, tmp_path / "output")
    assert outcome.report.counts == Counts(failed=1)
    assert "nobody" in outcome.report.failures[0].text


def test_lanes_run_side_by_side_and_a_failure_stops_nothing(tmp_path: Path):
    def named(name: str, code: str) -> Stage:
        return Stage(name, "test", [sys.executable, "-c", code], tmp_path)

    wait = (
        "import time, pathlib\nwhile not pathlib.Path('go').exists(): time.sleep(.01)"
    )
    waits, fails = named("waits", wait), named("fails", "exit(1)")
    goes = named("goes", "open('go', 'w')")
    board = Board([Lane([waits]), Lane([fails, goes])], tmp_path, {"waits": 100.0})
    ended: list[str] = []
    lines: list[str] = []
    board.run(
        lambda outcome: ended.append(outcome.stage.name),
        lambda: lines.append(board.status()),
    )
    assert ended[0] == "fails"
    assert sorted(ended[1:]) == ["goes", "waits"]
    assert lines[0].endswith(" left")


def test_how_far_a_stage_is_and_how_long_it_may_take(tmp_path: Path):
    slow = stage(tmp_path, "", reports=True)
    report = tmp_path / "report"
    report.write_text("".join(json.dumps(line) + "\n" for line in GOOD[:2]))
    lane = Lane([], slow, time.monotonic() - 60)
    board = Board([lane], tmp_path)
    assert board.status() == "sample 1 of 2; about 1:00 left"
    board.usual = {"sample": 90.5}
    assert board.status() == "sample 1 of 2; about 0:30 left"


def test_the_summary_ends_with_what_a_person_needs(tmp_path: Path):
    sample = stage(tmp_path, "", reports=True)
    seconds = {f"test_{n}": float(n) for n in range(12)}
    failed = [Failure("test_3", "assert 3 == 4")]
    outcomes = [
        Outcome(sample, Report(Counts(40, 1, 2), 43, failed, seconds), 10.0, 12.5),
        Outcome(sample, Report(Counts(2), 2), 0.5, 0.25),
    ]
    lines = check.summary(outcomes, 11.0).splitlines()
    assert lines[0] == "FAILED (sample) test_3"
    assert lines[1].strip() == "assert 3 == 4"
    assert "The 10 slowest tests take 98% of the tests' time:" in lines
    assert lines[-3].split() == ["together", "11.0", "12.8"]
    assert lines[-1] == "42 passed, 1 failed"


def test_times_are_kept_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(check, "TIMES", tmp_path / "cache" / "seconds.json")
    assert check.usual() == {"stages": {}, "tests": {}}
    good = stage(tmp_path, written(GOOD, 0), reports=True)
    assert check.run([[good]], tmp_path) == 0
    assert check.usual()["tests"] == {"a": 1.0, "b": 2.0}
    assert check.usual()["stages"]["sample"] > 0
    bad = stage(tmp_path, "exit(1)")
    assert check.run([[good], [bad]], tmp_path) == 1
