"""Which tests `make test-changed` chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import changed
from tools.changed import Graph, nearest


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph()


def chosen(graph: Graph, file: str, budget: float) -> list[str]:
    """The test files that are run after a change in one file."""
    names = [name for name in [graph.module(Path(file))] if name is not None]
    assert names, f"{file} is no module"
    reached = {
        graph.files[name].relative_to(changed.ROOT): distance
        for name, distance in graph.distances(names).items()
        if graph.files[name].name.startswith("test_")
    }
    return [str(test) for test in nearest(reached, [Path(file)], {}, budget).chosen]


def test_after_a_change_in_a_rule_its_programs_run(graph: Graph):
    found = chosen(graph, "gradviz/diagnosis/rules/gv301_loss_from_argmax.py", 30)
    assert "tests/rules/test_programs.py" in found


def test_after_a_change_in_an_op_the_tests_of_ops_run(graph: Graph):
    found = chosen(graph, "engine/gradtape/ops/reduction/reduce_ops.py", 120)
    assert "tests/engine/ops/test_ops.py" in found
    assert "tests/engine/ops/test_opinfo.py" in found


def test_after_a_change_in_the_engine_its_own_tests_come_first(graph: Graph):
    found = chosen(graph, "engine/gradtape/distributions/studentT.py", 30)
    assert found
    assert all(test.startswith("tests/engine/") for test in found)


def test_only_what_reaches_a_module_is_run(graph: Graph):
    found = chosen(graph, "tools/bootstrap.py", 1000)
    assert found == ["tests/tools/test_bootstrap.py"]


def test_the_nearest_come_first_and_the_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    sources = {
        "pkg/_room/thing.py": "def frobnicate(): pass",
        "tests/far/test_a.py": "",
        "tests/far/test_b.py": "frobnicate()",
        "tests/room/test_c.py": "",
        "tests/far/test_d.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    thing, *tests = map(Path, sources)
    edited = tests[3]
    distances = dict.fromkeys(tests, 2)
    found = nearest(distances, [thing, edited], {"tests/room/test_c.py::x": 5.0}, 11)
    assert [test.stem for test in found.chosen] == ["test_d", "test_c", "test_b"]
    assert found.said("test file") == (
        "3 test files; 1 more reach it from further away."
    )
    slow = {"tests/room/test_c.py::x": 20.0}  # leaves its time to those behind it
    found = nearest(distances, [thing, edited], slow, 11)
    assert [test.stem for test in found.chosen] == ["test_d", "test_b", "test_a"]


def test_the_view_is_known_by_the_names_that_pages_give_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    (tmp_path / "panel.tsx").write_text('<p data-testid="node-count" />')
    assert changed.words_of(Path("panel.tsx")) == {"panel", "node-count"}


def test_a_commit_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="no-such-branch"):
        changed.changed_files("no-such-branch")
