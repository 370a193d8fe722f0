"""The counts behind the last line of `make test`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import check, counts
from tools.counts import Counts

TESTS = """
import pytest
def test_right(): pass
def test_wrong(): assert 1 == 2
@pytest.mark.skip(reason="elsewhere")
def test_left_out(): pass
@pytest.fixture
def broken(): raise OSError
def test_without_ground(broken): pass
"""


def test_pytest_reports_are_counted(tmp_path: Path):
    (tmp_path / "test_sample.py").write_text(TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(
        [*command, f"--junit-xml={report}", "--rootdir=.", "."],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert counts.from_junit(report) == Counts(passed=1, failed=2, skipped=1)


def test_vitest_files_that_do_not_load_are_failures(tmp_path: Path):
    report = tmp_path / "report.json"
    data = {
        "numPassedTests": 3,
        "numFailedTests": 1,
        "numPendingTests": 2,
        "numTodoTests": 0,
        "testResults": [
            {"status": "failed", "assertionResults": [{"status": "failed"}]},
            {"status": "failed", "assertionResults": []},
            {"status": "passed", "assertionResults": [{"status": "passed"}]},
        ],
    }
    report.write_text(json.dumps(data))
    assert counts.from_vitest(report) == Counts(passed=3, failed=2, skipped=2)


@pytest.mark.parametrize("text", ["", "<testsuites>", "{}", "[]", "no"])
def test_broken_reports_are_refused(tmp_path: Path, text: str):
    report = tmp_path / "report"
    report.write_text(text)
    for read in (counts.from_junit, counts.from_vitest):
        with pytest.raises(ValueError):  # noqa: PT011  (any of its kinds will do)
            read(report)


def stage(tmp_path: Path, code: str, *, reports: bool) -> check.Stage:
    return check.Stage(
        "sample",
        "test",
        [sys.executable, "-c", code],
        folder=tmp_path,
        report=tmp_path / "report.xml",
        read=counts.from_junit if reports else None,
    )


@pytest.mark.parametrize(
    ("code", "expected"), [("pass", Counts(passed=1)), ("exit(3)", Counts(failed=1))]
)
def test_a_stage_without_report_is_one_check(
    tmp_path: Path, code: str, expected: Counts
):
    assert check.run(stage(tmp_path, code, reports=False)).counts == expected


def test_a_runner_that_dies_before_its_report_is_a_failure(tmp_path: Path):
    outcome = check.run(stage(tmp_path, "exit(0)", reports=True))
    assert outcome.counts == Counts(failed=1)


def test_a_runner_that_fails_after_good_tests_is_a_failure(tmp_path: Path):
    xml = '<testsuite tests="2" failures="0" errors="0" skipped="0"/>'
    code = f"open('report.xml', 'w').write({xml!r}); exit(1)"
    outcome = check.run(stage(tmp_path, code, reports=True))
    assert outcome.counts == Counts(passed=2, failed=1)
    assert outcome.note == "exit status 1"


def test_a_missing_program_is_a_failure(tmp_path: Path):
    missing = check.Stage("sample", "test", [str(tmp_path / "nobody")])
    assert check.run(missing).counts == Counts(failed=1)


def test_the_last_line_counts_over_all_stages(tmp_path: Path):
    sample = stage(tmp_path, "pass", reports=False)
    outcomes = [
        check.Outcome(sample, Counts(40, 1, 2), 1.0),
        check.Outcome(sample, Counts(2, 0, 0), 0.5),
    ]
    assert check.summary(outcomes).splitlines()[-1] == "42 passed, 1 failed"
