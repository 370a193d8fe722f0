"""``pytest --gradviz``, in runs of pytest of its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.forked import PATHS

pytest_plugins = ["pytester"]

# Blocked by its installed name: an environment may hold another copy of it.
PLUGIN = ("-p", "no:gradviz", "-p", "gradviz.testing.plugin", "-p", "no:cacheprovider")

MODELS = """\
import pytest
import gradtape as torch
from gradtape import nn

def trained(cut):
    torch.manual_seed(0)
    encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    inputs, targets = torch.randn(16, 8), torch.randn(16, 1)
    for _ in range(3):
        features = torch.tanh(encoder(inputs))
        if cut:
            features = features.detach()
        loss = ((head(features) - targets) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def test_fine():
    trained(cut=False)

def test_cut():
    trained(cut=True)
"""


@pytest.fixture(autouse=True)
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what the outer run was given away from the inner ones."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("CI", raising=False)


def run(
    pytester: pytest.Pytester, text: str, *options: str
) -> tuple[dict[str, int], str]:
    """Run a module of tests; return how many had which outcome, and what was said."""
    pytester.makepyfile(text)
    result = pytester.runpytest_inprocess(*PLUGIN, *options)
    return result.parseoutcomes(), result.stdout.str()


def run_afresh(
    pytester: pytest.Pytester, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the tests that lie there in a process that has imported nothing."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, *options],
        cwd=pytester.path,
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_found_is_told_and_fails_nothing(pytester: pytest.Pytester):
    outcomes, said = run(pytester, MODELS, "--gradviz", "-rP")
    assert outcomes == {"passed": 2}
    _, _, section = said.partition("Captured gradviz call")
    assert "found 1 cause in 3 backward passes" in section
    assert "warning GV306 detach-in-forward\n  test_what_is_found" in section
    _, _, summary = said.rpartition("= gradviz =")
    lines = summary.splitlines()
    assert lines[1].endswith(".py::test_cut")
    assert lines[2].startswith("  warning GV306 detach-in-forward test_what_is_found")
    assert lines[3] == "1 finding in 1 test"


def test_without_findings_it_says_so(pytester: pytest.Pytester):
    outcomes, said = run(pytester, MODELS, "--gradviz", "-k", "fine")
    assert outcomes == {"passed": 1, "deselected": 1}
    assert said.partition("= gradviz =")[2].splitlines()[1] == "no findings"


@pytest.mark.parametrize(
    ("fail_on", "failed"), [("warning", 1), ("error", 0), ("never", 0)]
)
def test_findings_fail_where_they_are_to(
    pytester: pytest.Pytester, fail_on: str, failed: int
):
    outcomes, said = run(pytester, MODELS, "--gradviz-fail-on", fail_on)
    assert outcomes.get("failed", 0) == failed
    assert ("gradviz: warning GV306 detach-in-forward" in said) == bool(failed)


def marked(*markers: str) -> str:
    lines = "".join(f"@pytest.mark.{marker}\n" for marker in markers)
    return MODELS.replace("def test_cut", f"{lines}def test_cut")


@pytest.mark.parametrize(
    ("markers", "failed"),
    [
        (["gradviz(fail_on='never')"], 0),
        (["gradviz(fail_on='error')"], 0),
        (["gradviz(ignore=['GV306'])"], 0),
        (["gradviz(ignore=['detach-in-forward'])"], 0),
        (["gradviz(ignore=['GV101'])"], 1),
    ],
    ids=str,
)
def test_a_marker_decides_for_its_test(
    pytester: pytest.Pytester, markers: list[str], failed: int
):
    options = ("--strict-markers", "--gradviz-fail-on", "warning")
    outcomes, _ = run(pytester, marked(*markers), *options)
    assert outcomes.get("failed", 0) == failed


def test_the_nearest_marker_decides_and_what_is_ignored_adds_up(
    pytester: pytest.Pytester,
):
    module = "\npytestmark = pytest.mark.gradviz(fail_on='{}', ignore=['{}'])\n"
    strict = marked("gradviz(fail_on='warning', ignore=['GV101'])")
    whole = strict + module.format("never", "GV102")
    assert run(pytester, whole, "--gradviz")[0] == {"passed": 1, "failed": 1}
    assert run(pytester, whole.replace("GV102", "GV306"), "--gradviz")[0] == {
        "passed": 2
    }


def test_a_marker_fails_a_test_where_the_option_would_not(pytester: pytest.Pytester):
    text = marked("gradviz(fail_on='warning')")
    assert run(pytester, text, "--gradviz")[0] == {"passed": 1, "failed": 1}
    assert run(pytester, text)[0] == {"passed": 2}


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("gradviz('error')", "the marker gradviz takes fail_on"),
        ("gradviz(fail='error')", "the marker gradviz takes fail_on"),
        ("gradviz(fail_on='info')", "fail_on is one of error, warning, never"),
        ("gradviz(ignore='GV306')", "ignore is a list of codes"),
        ("gradviz(ignore=['GV999'])", "there is no rule 'GV999'"),
    ],
)
def test_a_marker_that_asks_for_something_else_fails(
    pytester: pytest.Pytester, marker: str, sentence: str
):
    outcomes, said = run(pytester, marked(marker), "--gradviz")
    assert outcomes == {"passed": 1, "failed": 1}
    assert sentence in said


def test_an_expected_failure_may_be_a_finding(pytester: pytest.Pytester):
    text = marked("xfail(strict=True)")
    outcomes, _ = run(pytester, text, "--gradviz-fail-on", "warning")
    assert outcomes == {"passed": 1, "xfailed": 1}


def test_a_test_that_fails_keeps_its_error_and_gets_the_cause(
    pytester: pytest.Pytester,
):
    text = """\
        import gradtape as torch

        def test_write():
            w = torch.ones(3, requires_grad=True)
            y = w.exp()
            y += 1
            y.sum().backward()
        """
    outcomes, said = run(pytester, text, "--gradviz-fail-on", "error")
    assert outcomes == {"failed": 1}
    assert "has been modified by an inplace operation" in said
    assert "error GV101 inplace-saved-output" in said
    assert "gradviz: error" not in said


def test_what_is_found_comes_through_workers_and_into_junit(
    pytester: pytest.Pytester,
):
    options = ("--gradviz", "-p", "xdist", "-n", "1", "--junit-xml", "out.xml")
    outcomes, said = run(pytester, MODELS, *options)
    assert outcomes == {"passed": 2}
    assert "1 finding in 1 test" in said
    xml = (pytester.path / "out.xml").read_text()
    assert '<property name="gradviz" value="warning GV306 detach-in-forward' in xml


def test_an_engine_imported_by_the_test_is_told(pytester: pytest.Pytester):
    pytester.makepyfile("def test_late():\n    import gradtape\n")
    done = run_afresh(pytester, "--gradviz", "-rP")
    assert "The test imported gradtape first" in done.stdout, done.stdout + done.stderr


def test_where_nothing_can_be_found_no_test_passes_for_clean(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: object) -> None:
        raise RuntimeError("no reason")

    monkeypatch.setattr("gradviz._capture.session.Session.diagnose", fail)
    assert run(pytester, MODELS, "--gradviz")[0] == {"passed": 2}
    outcomes, said = run(pytester, MODELS, "--gradviz-fail-on", "error")
    assert outcomes == {"failed": 2}
    assert "what was found is missing: RuntimeError: no reason" in said


def test_without_its_options_it_costs_nothing(pytester: pytest.Pytester):
    pytester.makepyfile("""\
        import sys

        def test_off(pytestconfig):
            own = {n for n in sys.modules if n.partition(".")[0] == "gradviz"}
            assert own == {
                "gradviz", "gradviz._providers", "gradviz.errors",
                "gradviz.testing", "gradviz.testing.plugin",
            }
            plugin = sys.modules["gradviz.testing.plugin"]
            callers = pytestconfig.pluginmanager.get_hookcallers(plugin)
            names = {each.name for each in callers}
            assert names == {"pytest_addoption", "pytest_configure"}
            assert not pytestconfig.pluginmanager.has_plugin("gradviz-recorded-tests")
        """)
    done = run_afresh(pytester)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pytest_finds_the_plugin_by_its_entry_point(root: Path):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    name = project["entry-points"]["pytest11"]["gradviz"]
    assert callable(importlib.import_module(name).pytest_configure)


SNAPSHOT = """\
import gradtape as torch
import gradviz

def test_graph():
    x = torch.ones(3, requires_grad=True)
    gradviz.assert_same_graph(x.exp().sum(), "graphs.gradviz.json")
"""


def test_a_graph_lies_beside_its_test_and_is_updated_by_an_option(
    pytester: pytest.Pytester,
):
    folder = pytester.mkdir("unit")
    test = folder / "test_graph.py"

    def outcome(text: str, *options: str) -> dict[str, int]:
        test.write_text(text)
        result = pytester.runpytest_inprocess(*PLUGIN, *options, str(test))
        return result.parseoutcomes()

    assert outcome(SNAPSHOT) == {"passed": 1}
    assert (folder / "graphs.gradviz.json").exists()
    assert outcome("\n\n" + SNAPSHOT) == {"passed": 1}
    changed = SNAPSHOT.replace("exp", "tanh")
    assert outcome(changed) == {"failed": 1}
    assert outcome(changed, "--gradviz-update") == {"passed": 1}
    assert outcome(changed) == {"passed": 1}
