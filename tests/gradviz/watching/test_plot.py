"""The figures of gradviz.plot: what they draw, say and refuse, on both engines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gradviz
from gradviz.errors import GradvizError
from tests.gradviz.watching import flows
from tools.imports import ROOT


def named(figure: Any, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def test_the_flow_marks_each_kind_of_trouble_in_words():
    figure = gradviz.plot.gradient_flow(flows.troubled())
    for word, layer in [
        ("vanishing", "tiny.weight"),
        ("exploding", "huge.weight"),
        ("zero", "dead.weight"),
        ("not finite", "nan.weight"),
    ]:
        mark = named(figure, word)[0]
        assert list(mark.y) == [layer]
        assert list(mark.text) == [word]
        assert np.isfinite(list(mark.x)).all(), (
            "in the picture, also where the norm is 0"
        )
    (heat,) = (trace for trace in figure.data if trace.type == "heatmap")
    assert np.shape(heat.z) == (5, 12)
    assert heat.text[1][11] == "step 110: norm 1e-08 — vanishing"
    assert heat.text[4][11] == "step 110: norm 1, 3 NaN, 0 Inf — not finite"


def test_a_healthy_history_has_no_marks():
    figure = gradviz.plot.gradient_flow(flows.history())
    assert {trace.name for trace in figure.data} == {"all steps", "last step", None}


def test_the_ratio_stands_beside_its_reference():
    figure = gradviz.plot.update_ratio(flows.history())
    assert [trace.name for trace in figure.data] == [
        "in.weight",
        "in.bias",
        "out.weight",
    ]
    assert list(figure.data[0].y) == pytest.approx([1e-3] * 12)
    assert figure.layout.shapes[0].y0 == 1e-3
    assert figure.layout.yaxis.type == "log"


def test_many_parameters_become_a_band_with_its_extremes_named():
    names = tuple(f"{row}.weight" for row in range(40))
    figure = gradviz.plot.update_ratio(flows.history(names))
    shown = [trace.name for trace in figure.data]
    assert shown[:2] == ["middle half", "median of 40"]
    assert shown[2:] == [f"{row}.weight" for row in (0, 1, 2, 37, 38, 39)]


def test_histograms_count_what_they_leave_out():
    figure = gradviz.plot.histograms(flows.history())
    assert [list(bars.customdata) for bars in figure.data] == [[1, 2] * 16] * 3
    titles = [note.text for note in figure.layout.annotations]
    assert titles[0] == "<b>in.weight</b><br>norm 4, 9% zeros"
    assert "Gradients at step 110 · a net" in figure.layout.title.text


def test_histograms_can_be_chosen_by_name_and_step():
    assert len(gradviz.plot.histograms(flows.history(), "in.").data) == 2
    with pytest.raises(GradvizError, match="named like nowhere"):
        gradviz.plot.histograms(flows.history(), "nowhere")
    with pytest.raises(
        GradvizError, match=r"step 3 has no histograms; these have: 110"
    ):
        gradviz.plot.histograms(flows.history(), step=3)
    names = tuple(f"{row}.weight" for row in range(40))
    figure = gradviz.plot.histograms(flows.history(names))
    assert len(figure.data) == 24
    assert "24 of 40 parameters" in figure.layout.title.text


def test_a_recording_of_either_engine_is_drawn(lib: Any, tmp_path: Path):
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Linear(4, 1))
    with gradviz.record() as rec:
        net(lib.ones(2, 3)).sum().backward()
    figure = gradviz.plot.gradient_flow(rec)
    (line,) = (trace for trace in figure.data if trace.type == "scatter")
    want = [float(each.grad.norm()) for each in net.parameters()]
    assert sorted(line.x) == pytest.approx(sorted(want), rel=1e-6)
    assert gradviz.plot.histograms(rec).data
    figure.write_html(tmp_path / "flow.html")
    assert (tmp_path / "flow.html").stat().st_size > 1_000
    gradviz.export_json(rec, tmp_path / "a.json")
    from_file = gradviz.plot.gradient_flow(tmp_path / "a.json")
    assert from_file.data[0].x == figure.data[0].x


@pytest.mark.parametrize("template", ["light", "dark", "plotly_white", "ggplot2"])
def test_templates_are_taken(template: str):
    for draw in (
        gradviz.plot.gradient_flow,
        gradviz.plot.update_ratio,
        gradviz.plot.histograms,
    ):
        assert draw(flows.troubled(), template=template, width=700).layout.width == 700


def test_an_unknown_template_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"no template 'neon'; known are .*dark, .*light"
    ):
        gradviz.plot.gradient_flow(flows.history(), template="neon")


def test_names_are_harmless_and_different():
    names = ("<b>x</b>\u202e", "a" * 90, "a" * 90)
    figure = gradviz.plot.gradient_flow(flows.history(names))
    shown = list(figure.layout.yaxis.categoryarray)
    assert shown[0] == "&lt;b&gt;x&lt;/b&gt;\\u202e"
    assert len(set(shown)) == 3
    assert len(shown[1]) <= 40


def test_a_rank_is_chosen_or_refused():
    snapshot = flows.history(ranks=(0, 1))
    figure = gradviz.plot.gradient_flow(snapshot, rank=1)
    assert figure.layout.title.text == "Gradient flow · a net, rank 1"
    with pytest.raises(GradvizError, match="no rank 7; recorded are 0, 1"):
        gradviz.plot.gradient_flow(snapshot, rank=7)


def test_nothing_to_draw_is_said_in_one_sentence():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(GradvizError, match="There are no gradients to draw"):
        gradviz.plot.gradient_flow(x.sum())
    with pytest.raises(GradvizError, match="No updates were recorded"):
        gradviz.plot.update_ratio(flows.history(updates=False))
    with pytest.raises(AttributeError, match="draws gradient_flow, histograms"):
        _ = gradviz.plot.pie  # type: ignore[attr-defined]


def test_without_plotly_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(GradvizError, match=r"`pip install plotly`"):
        gradviz.plot.gradient_flow(flows.history())


def test_importing_the_figures_does_not_import_plotly():
    code = "import sys, gradviz; gradviz.plot; print('plotly' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'engine'}"},
        check=True,
    )
    assert done.stdout == "False\n"
