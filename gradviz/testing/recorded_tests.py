"""Records each test, and tells what was found in it: in its report and at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gradviz._capture import record
from gradviz._capture.open_log import imported_engines
from gradviz.errors import CaptureError
from gradviz.reporting.failing import FailOn
from gradviz.testing.wishes import Wishes, wishes_of
from gradviz.text.findings import findings_text, place_of
from gradviz.text.words import clean, counted

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from gradviz._capture.session import Session
    from gradviz.diagnosis.diagnose import Diagnosis

_PROPERTY = "gradviz"
_MOST_TESTS = 50  # in the summary
_LATE = (
    "The test imported {} first, so it was not recorded: import it at the top of the "
    "module."
)


class RecordedTests:
    """Hooks of a session in which every test is recorded."""

    def __init__(self, fail_on: FailOn) -> None:
        self.fail_on: FailOn = fail_on

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record the call of a test, not its fixtures, which others may share."""
        wishes = wishes_of(item, self.fail_on)
        recorder = _begun(item) if imported_engines() else None
        error: BaseException | None = None
        try:
            return (yield)
        except BaseException as raised:
            error = raised
            raise
        finally:
            if recorder is not None:
                recorder.end(error)
                _tell(item, recorder, wishes, failed=error is not None)
            elif late := imported_engines():
                names = " and ".join(late)
                item.add_report_section("call", "gradviz", _LATE.format(names))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """List the tests in which something was found, remarks apart."""
        lines = list(_summary(terminalreporter))
        terminalreporter.section("gradviz")
        for line in lines:
            terminalreporter.line(line)


def _begun(item: pytest.Item) -> Session | None:
    recorder = record(title=item.nodeid, graph=False)
    recorder.annotates = False  # the report has a section for what was found
    try:
        recorder.begin(None)
    except CaptureError as error:  # a version of PyTorch that hides what it saved
        item.add_report_section("call", "gradviz", str(error))
        return None
    return recorder


def _tell(
    item: pytest.Item, recorder: Session, wishes: Wishes, *, failed: bool
) -> None:
    """Put what was found into the report; fail a test that has not failed, if so asked.

    Where looking for it fails, a test that is to have no findings has not passed.
    """
    __tracebackhide__ = True
    try:
        whole = recorder.diagnose()
        diagnosis = whole.only(wishes.told(whole.findings))
    except Exception as failure:
        text = f"what was found is missing: {type(failure).__name__}: {failure}"
        item.add_report_section("call", "gradviz", text)
        if not failed and wishes.fail_on != "never":
            pytest.fail(f"gradviz: {text}", pytrace=False)
        return
    if not diagnosis.findings:
        return
    names = list(_names(diagnosis))
    item.user_properties += [(_PROPERTY, name) for name in names]
    text = f"{diagnosis.verdict}\n\n{findings_text(diagnosis)}"
    item.add_report_section("call", "gradviz", text)
    grave = wishes.failing(diagnosis.findings)
    if grave and not failed:
        rows = [diagnosis.findings.index(each) for each in grave]
        told = "; ".join(names[row] for row in rows)
        pytest.fail(f"gradviz: {told}", pytrace=False)


def _names(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield "warning GV306 detach-in-forward train.py:10" for each finding."""
    for each in diagnosis.findings:
        name = f"{each.severity} {each.code} {each.slug}"
        if each.culprit is not None:
            place = place_of(diagnosis.sites[each.culprit], diagnosis.sources)
            name = f"{name} {place}"
        yield clean(name, 200)


def _summary(reporter: TerminalReporter) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    reports = (each for stats in reporter.stats.values() for each in stats)
    for report in reports:
        if getattr(report, "when", None) != "call":
            continue
        told = [str(v) for name, v in report.user_properties if name == _PROPERTY]
        grave = [each for each in told if not each.startswith("info ")]
        if grave:
            found[report.nodeid] = grave
    if not found:
        yield "no findings"
        return
    for test, names in list(found.items())[:_MOST_TESTS]:
        yield test
        yield from (f"  {name}" for name in names)
    if len(found) > _MOST_TESTS:
        yield f"… {counted(len(found) - _MOST_TESTS, 'more test')}"
    total = sum(map(len, found.values()))
    yield f"{counted(total, 'finding')} in {counted(len(found), 'test')}"
