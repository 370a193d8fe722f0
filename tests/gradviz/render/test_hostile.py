"""Labels, shapes and numbers that break viewers, through every way out."""

from __future__ import annotations

import json
import math
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given

from gradviz import export, ir
from gradviz._capture.statistics.summary import statistics
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.render.dot import to_dot
from gradviz.render.html import to_html
from gradviz.render.svg import to_svg
from gradviz.render.text import to_text
from tests.gradviz import samples
from tests.gradviz.ir import strategies
from tests.gradviz.render.test_html import Page

pytestmark = pytest.mark.usefixtures("bundle")

VIEWS = {"text": to_text, "html": to_html, "svg": to_svg, "dot": to_dot}
REORDERING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200f\u200e")
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


@pytest.mark.parametrize("form", export.FORMS)
@pytest.mark.parametrize("name", ["hostile", "empty"])
def test_every_exporter_takes_it(tmp_path: Path, form: str, name: str):
    if form in ("png", "pdf") and shutil.which("dot") is None:
        pytest.skip("Graphviz has no program here")
    snapshot = samples.SAMPLES[name]()
    path = export.write_as(form, snapshot, tmp_path / f"x.{form}")
    assert path.stat().st_size > 20
    if form not in ("gvc", "png", "pdf"):
        path.read_text(encoding="utf-8")


@views
def test_no_view_shows_reordering_or_control_characters(view):
    shown = view(samples.hostile())
    assert not set(shown) & REORDERING
    assert not set(shown) & set("\0\x1b\r\ud800")


@views
def test_the_reordering_is_shown_as_what_it_is(view):
    assert "202eevil" in view(samples.hostile())


@views
def test_real_right_to_left_text_is_kept(view):
    assert "\u0627\u0644\u0639" in view(samples.hostile())


def with_label(label: str) -> ir.Snapshot:
    """Put the label wherever a user's text can stand."""
    snapshot = samples.cnn()
    return replace(
        snapshot,
        title=label,
        producer=label,
        notes=(label,),
        nodes=tuple(
            replace(node, name=label, call=label, arguments=(label,), flags=(label,))
            for node in snapshot.nodes
        ),
        tensors=tuple(replace(tensor, name=label) for tensor in snapshot.tensors),
        scopes=tuple(replace(s, path=label, name=label) for s in snapshot.scopes),
        sites=tuple(replace(site, file=label, text=label) for site in snapshot.sites),
    )


@given(strategies.labels)
def test_any_label_stays_text(label: str):
    snapshot = with_label(label)
    root = ElementTree.fromstring(to_svg(snapshot))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}script"))) == 0
    assert ir_json.loads(ir_json.dumps(snapshot)) == snapshot
    assert ir_columns.unpack(ir_columns.pack(snapshot)) == snapshot
    # In DOT every line is still one statement with balanced quotes.
    for line in to_dot(snapshot).splitlines():
        assert line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 0


@pytest.mark.usefixtures("bundle")
def test_markup_in_labels_adds_no_element():
    labels = [
        "</script>",
        "<img src=x onerror=alert(1)>",
        "</pre></noscript><b>",
        "-->",
    ]
    plain = Page(to_html(with_label("x"))).tags()
    for label in labels:
        assert Page(to_html(with_label(label))).tags() == plain


def test_a_9d_tensor_is_written_out():
    assert "(1, 2, 3, 1, 2, 1, 2, 1, 2)" in to_text(
        with_shape((1, 2, 3, 1, 2, 1, 2, 1, 2))
    )
    assert "()" in to_text(with_shape(()))
    assert "(0, 3)" in to_text(with_shape((0, 3)))


def with_shape(shape: tuple[int, ...]) -> ir.Snapshot:
    tensor = ir.TensorMeta(shape, shape, 0, "float32", "cpu")
    node = ir.OpNode("AddBackward0", "op", "add", outputs=(0,))
    return ir.Snapshot("p", nodes=(node,), tensors=(tensor,))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_gradients_of_nothing_but_nan_and_inf_are_named(value: float):
    stats = statistics(np.full((2, 3), value))
    snapshot = replace(samples.mlp(), statistics=(stats,) * 6)
    word = "NaN×6" if math.isnan(value) else "Inf×6"
    for view in VIEWS.values():
        assert word in view(snapshot)
    assert json.loads(ir_json.dumps(snapshot))["statistics"][0]["count"] == 6
    assert ir_json.loads(ir_json.dumps(snapshot)) == snapshot


def test_nan_in_every_number_of_the_statistics_is_kept():
    numbers = ("minimum", "maximum", "mean", "std", "norm")
    stats = ir.Statistics(1, **dict.fromkeys(numbers, math.nan))
    snapshot = ir.Snapshot("p", statistics=(stats,))
    for back in (
        ir_json.loads(ir_json.dumps(snapshot)),
        ir_columns.decode(ir_columns.encode(snapshot)),
    ):
        assert all(math.isnan(getattr(back.statistics[0], name)) for name in numbers)


def nested(depth: int, nodes: int) -> ir.Snapshot:
    """Return nodes in scopes that lie inside each other, as deep as is said."""
    scopes = [ir.Scope("s", "s", "M", i - 1 if i else None) for i in range(depth)]
    node = replace(samples.chain(0).nodes[0], outputs=())
    rows = (replace(node, scope=row % depth) for row in range(nodes))
    return ir.Snapshot("p", nodes=tuple(rows), scopes=tuple(scopes))


def test_a_deep_scope_needs_no_recursion():
    for view in VIEWS.values():
        assert view(nested(5_000, 3))


@pytest.mark.parametrize("view", [to_dot, to_svg], ids=["dot", "svg"])
def test_a_picture_of_nested_scopes_grows_with_their_number(view):
    def cost(depth: int) -> tuple[int, int]:
        snapshot = nested(depth, 2_000)
        tracemalloc.start()
        try:
            return len(view(snapshot)), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    (short, little), (long, much) = cost(500), cost(2_000)
    assert long < 5 * short
    assert much < 5 * little
