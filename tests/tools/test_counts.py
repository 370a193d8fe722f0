"""What runners did, read from their reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import counts
from tools.counts import Counts

ROOT = Path(__file__).resolve().parents[2]

TESTS = """
import pytest
tries = []
def test_right(): pass
def test_wrong(): assert 1 == 2
@pytest.mark.skip(reason="elsewhere")
def test_left_out(): pass
@pytest.fixture
def broken():
    raise OSError("no ground")
def test_without_ground(broken): pass
@pytest.fixture
def untidy():
    yield
    raise OSError("cannot tidy up")
def test_untidy(untidy): pass
@pytest.mark.flaky(reruns=1)
def test_right_at_last():
    tries.append(1)
    assert len(tries) == 2
"""


@pytest.mark.parametrize("workers", [[], ["--numprocesses", "2"]])
def test_reports_of_pytest_are_counted(tmp_path: Path, workers: list[str]):
    (tmp_path / "test_sample.py").write_text(TESTS)
    (tmp_path / "test_unreadable.py").write_text("import nobody")
    path = tmp_path / "report"
    plugins = ["xdist", "rerunfailures", "no:cacheprovider", "tools.pytest_report"]
    options = ["--rootdir=.", *(word for name in plugins for word in ("-p", name))]
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", *options, *workers),
            *(f"--lines-report={path}", "--continue-on-collection-errors", "."),
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
    )
    report = counts.from_pytest(path)
    assert report.counts == Counts(passed=2, failed=4, skipped=1)
    assert report.total == 6
    said = {each.test.rpartition("::")[2]: each.text for each in report.failures}
    assert "cannot tidy up" in said["test_untidy"]
    assert "no ground" in said["test_without_ground"]
    assert "assert 1 == 2" in said["test_wrong"]


def test_a_report_that_is_still_written_is_read_as_far_as_it_goes(tmp_path: Path):
    path = tmp_path / "report"
    test = {"test": "a", "outcome": "passed", "seconds": 0.5}
    path.write_text(f'{{"total": 9}}\n{json.dumps(test)}\n{{"test": "b", "outc')
    report = counts.from_pytest(path)
    assert (report.counts, report.total) == (Counts(passed=1), 9)


def test_vitest_files_that_do_not_load_are_failures(tmp_path: Path):
    report = tmp_path / "report.json"
    test = {"fullName": "a b", "duration": 250, "failureMessages": ["wrong"]}
    data = {
        "numPassedTests": 3,
        "numFailedTests": 1,
        "numPendingTests": 2,
        "numTodoTests": 0,
        "numTotalTests": 6,
        "testResults": [
            {"name": "f", "status": "failed", "assertionResults": [each]}
            for each in [{**test, "status": "failed"}, {**test, "status": "passed"}]
        ],
    }
    unread = {"name": "g", "status": "failed", "assertionResults": [], "message": "no"}
    data["testResults"].append(unread)
    report.write_text(json.dumps(data))
    found = counts.from_vitest(report)
    assert found.counts == Counts(passed=3, failed=2, skipped=2)
    assert [(each.test, each.text) for each in found.failures] == [
        ("a b", "wrong"),
        ("g", "no"),
    ]


@pytest.mark.parametrize("text", ["", "[1]\n", '{"test": 1}\n', "{}\n", "no\n"])
def test_broken_reports_are_refused(tmp_path: Path, text: str):
    report = tmp_path / "report"
    report.write_text(text)
    for read in (counts.from_pytest, counts.from_vitest):
        with pytest.raises(ValueError):  # noqa: PT011  (any of its kinds will do)
            read(report)


def test_a_vitest_failure_is_told_without_the_runners_frames(tmp_path: Path):
    frames = ["Error: STACK_TRACE_ERROR", "    at /src/a.test.ts:74:1"]
    foreign = "    at task (file:///x/node_modules/@vitest/runner/chunk.js:1:2)"
    failed = {
        "fullName": "a",
        "status": "failed",
        "failureMessages": ["\n".join([*frames, foreign])],
    }
    data = {
        "numTotalTests": 1,
        "numPassedTests": 0,
        "numPendingTests": 0,
        "numTodoTests": 0,
        "testResults": [
            {"name": "a.ts", "status": "failed", "assertionResults": [failed]}
        ],
    }
    report = tmp_path / "report"
    report.write_text(json.dumps(data), encoding="utf-8")
    (found,) = counts.from_vitest(report).failures
    assert found.text == "Error: timed out\n    at /src/a.test.ts:74:1"
