"""Results that nothing takes."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

import gradtape as torch
from gradviz._capture.open_log import open_log
from gradviz.dependence.dropped import unbound
from gradviz.program import History, places

SOURCE = """\
h = torch.ones(3, requires_grad=True) * 2
torch.relu(h)
h.neg_()
total = h.sum()
h.exp()
"""


def lost_lines(file: Path) -> list[int]:
    file.write_text(SOURCE)
    linecache.checkcache(str(file))
    with open_log("gradtape") as log:
        exec(compile(SOURCE, str(file), "exec"), {"torch": torch})
    history = History(log.program)
    calls = unbound(history)
    return [history.places.line(each.site) for each in calls if each.site is not None]


def test_statements_whose_results_are_gone(tmp_path: Path):
    assert lost_lines(tmp_path / "script.py") == [2, 5]


def test_a_notebook_shows_the_last_expression_of_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(places, "cell_of", lambda _file: ("Cell In[1]", None))
    assert lost_lines(tmp_path / "cell.py") == [2]
