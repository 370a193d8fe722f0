"""The picture: well-formed, inside its frame, no overlaps, nothing executable."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz import ir
from gradviz.render._boxes import collapse
from gradviz.render._layers import place
from gradviz.render.svg import MOST_BOXES, to_svg
from tests.gradviz import samples
from tests.gradviz.ir import strategies

SVG = "{http://www.w3.org/2000/svg}"


def parse(snapshot: ir.Snapshot) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(snapshot))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_box_shows_call_shape_and_gradient():
    shown = texts(parse(samples.cnn()))
    assert {"conv2d", "(1, 4, 4, 4)", "grad 0.25", "net.conv.weight"} <= set(shown)


def test_boxes_and_links_are_drawn_once():
    root = parse(samples.cnn())
    boxes = [e for e in root.iter(f"{SVG}rect") if "box" in e.attrib["class"]]
    links = [e for e in root.iter(f"{SVG}path") if "link" in e.attrib["class"]]
    assert (len(boxes), len(links)) == (13, 12)
    assert sum("link-cut" in link.attrib["class"] for link in links) == 1


def test_bad_gradients_are_marked():
    root = parse(samples.hostile())
    boxes = [e for e in root.iter(f"{SVG}rect") if "bad" in e.attrib["class"].split()]
    assert len(boxes) == 3
    assert "grad NaN×6" in texts(root)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_nothing_in_the_picture_runs_or_loads(name: str):
    root = parse(samples.SAMPLES[name]())
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "path", "text"} | {
        "defs",
        "marker",
        "tspan",
    }
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            assert "href" not in attribute
            assert "url(" not in value or value == "url(#head)"


def test_it_follows_the_readers_colour_scheme():
    assert "@media (prefers-color-scheme: dark)" in to_svg(samples.mlp())


def test_an_empty_recording_says_so():
    assert texts(parse(samples.empty())) == ["graph", "Nothing was recorded."]


def test_a_graph_that_is_too_large_says_so():
    shown = texts(parse(samples.chain(MOST_BOXES)))
    assert shown[1].startswith("201 nodes, 200 edges, 201 tensors: too large")
    assert len(texts(parse(samples.chain(MOST_BOXES - 1)))) > MOST_BOXES


def deep(calls: int, layers: int) -> ir.Snapshot:
    """A chain in which every ``layers`` operations belong to one call of a module."""
    scopes = [ir.Scope("net", "net", "Net")]
    scopes += [ir.Scope(f"net.{i}", f"{i}", "Layer", 0) for i in range(calls)]
    snapshot = samples.chain(calls * layers)
    nodes = [
        replace(node, scope=1 + (row - 1) // layers) if row else node
        for row, node in enumerate(snapshot.nodes)
    ]
    return replace(snapshot, nodes=tuple(nodes), scopes=tuple(scopes))


def test_a_large_graph_shows_its_modules():
    shown = texts(parse(deep(20, 50)))
    assert "net.7" in shown
    assert "Layer, 50 nodes" in shown
    assert "mul" not in shown


def test_modules_fold_only_as_far_as_needed():
    assert collapse(deep(20, 50), 200) is not None
    found = collapse(deep(20, 50), 21)
    assert found is not None
    assert len(found.boxes) == 21  # x and 20 layers
    assert len(found.links) == 20
    assert found.links[3].edges == (150,)
    outer = collapse(deep(20, 50), 20)
    assert outer is not None
    assert [box.scope for box in outer.boxes] == [None, 0]
    assert collapse(deep(20, 50), 1) is None


@given(strategies.snapshots())
def test_any_snapshot_is_well_formed(snapshot: ir.Snapshot):
    root = parse(snapshot)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        if "box" in box.attrib["class"]:
            x, y, w, h = (float(box.attrib[k]) for k in ("x", "y", "width", "height"))
            assert x >= -0.1
            assert y >= -0.1
            assert x + w + 16 <= width
            assert y + h + 40 <= height


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    """Draw box sizes and links between them, cycles and loops included."""
    count = draw(st.integers(1, 14))
    side = st.floats(10, 200)
    sizes = draw(st.lists(st.tuples(side, side), min_size=count, max_size=count))
    box = st.integers(0, count - 1)
    return sizes, draw(st.lists(st.tuples(box, box), max_size=25))


@given(graphs())
def test_boxes_never_overlap(graph):
    sizes, links = graph
    links = [link for link in links if link[0] != link[1]]
    placed = place(sizes, links)
    rects = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (x, y), (w, h) in zip(placed.centres, sizes, strict=True)
    ]
    for one, other in combinations(rects, 2):
        apart = (
            one[2] < other[0]
            or other[2] < one[0]
            or one[3] < other[1]
            or other[3] < one[1]
        )
        assert apart, f"{one} overlaps {other}"
    for left, top, right, bottom in rects:
        assert left >= -1e-6
        assert top >= -1e-6
        assert right <= placed.width + 1e-6
        assert bottom <= placed.height + 1e-6


@given(graphs())
def test_links_of_a_graph_without_cycles_point_down(graph):
    sizes, links = graph
    links = [(min(link), max(link)) for link in links if link[0] != link[1]]
    placed = place(sizes, links)
    for (source, target), route in zip(links, placed.routes, strict=True):
        assert placed.centres[source][1] < placed.centres[target][1]
        assert route[0] == placed.centres[source]
        assert route[-1] == placed.centres[target]
        heights = [y for _, y in route]
        assert heights == sorted(heights)


def test_a_diamond_is_drawn_without_crossing_and_centred():
    placed = place([(10, 10)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)], gap=10)
    top, left, right, bottom = (x for x, _ in placed.centres)
    assert top == bottom == (left + right) / 2
    assert abs(left - right) == 20


def test_crossed_pairs_are_uncrossed():
    #  0   1        0   1
    #    x     ->   |   |
    #  2   3        3   2
    placed = place([(10, 10)] * 4, [(0, 3), (1, 2)])
    xs = [x for x, _ in placed.centres]
    assert (xs[0] - xs[1]) * (xs[3] - xs[2]) > 0


def test_the_longest_path_runs_straight_and_weights_stand_beside_it():
    #  0 ─> 2 ─> 4 ─> 6      1, 3 and 5 are weights
    #  1 ───┘    │    │
    #  3 ────────┘    │
    #  5 ─────────────┘
    links = [(0, 2), (1, 2), (2, 4), (3, 4), (4, 6), (5, 6)]
    placed = place([(60, 20)] * 7, links, gap=10)
    xs = [x for x, _ in placed.centres]
    assert max(xs[box] for box in (2, 4, 6)) - min(xs[box] for box in (2, 4, 6)) < 1
    for weight, use in ((3, 4), (5, 6)):
        assert abs(xs[weight] - xs[use]) == pytest.approx(70, abs=1)
        below = placed.centres[use][1] - placed.centres[weight][1]
        assert below == placed.centres[6][1] - placed.centres[4][1]


def test_a_transposed_weight_stands_just_above_its_use():
    #  0 ─> 1 ─> 2 ─> 3 ─> 6
    #  4 (weight) ─> 5 ────┘
    placed = place([(10, 10)] * 7, [(0, 1), (1, 2), (2, 3), (3, 6), (4, 5), (5, 6)])
    ys = [y for _, y in placed.centres]
    assert ys[5] == ys[3]
    assert ys[4] == ys[2]


def step(number: int) -> list[ir.OpNode]:
    """A weight, what uses it, and its sum; the weight lies in the first call."""
    scope = 2 * number
    return [
        ir.OpNode("TBackward0", "op", "t", scope=scope + 1, sequence=3 * number),
        ir.OpNode("MmBackward0", "op", "mm", scope=scope + 1, sequence=3 * number + 1),
        ir.OpNode("SumBackward0", "op", "sum", sequence=3 * number + 2),
    ]


def training(**more: object) -> ir.Snapshot:
    weight = ir.OpNode("AccumulateGrad", "accumulate", "net.fc.weight", scope=1)
    nodes = [weight, *step(0), *step(1)]
    ends = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6)]
    scopes = [
        ir.Scope("net", "net", "Net"),
        ir.Scope("net.fc", "fc", "Linear", 0),
        ir.Scope("net#2", "net#2", "Net"),
        ir.Scope("net#2.fc", "fc", "Linear", 2),
    ]
    began = [ir.Event("backward_begin", row, node=row) for row in (3, 6)]
    ended = [ir.Event("backward_end", row) for row in (3, 6)]
    events = [each for pair in zip(began, ended, strict=True) for each in pair]
    made = ir.Snapshot(
        "test",
        "train.py",
        nodes=tuple(nodes),
        edges=tuple(ir.Edge(source, 0, target, 0) for source, target in ends),
        scopes=tuple(scopes),
        events=tuple(events),
        roots=(6,),
    )
    return replace(made, **more)  # pyright: ignore[reportArgumentType]


def test_of_several_steps_the_last_is_drawn_and_named():
    shown = texts(parse(training()))
    assert shown.count("mm") == 1
    root = parse(training())
    assert [each.text for each in root.iter(f"{SVG}tspan")] == ["pass 2 of 2"]


def test_the_step_of_the_first_finding_is_drawn_and_its_box_marked():
    finding = ir.Finding("GV101", "slug", "error", "m", culprit=0, nodes=(2,))
    site = ir.Site("a.py", 7, 7)
    root = parse(training(findings=(finding,), sites=(site,)))
    told = [each.text for each in root.iter(f"{SVG}tspan")]
    assert told == ["pass 1 of 2, error GV101 slug, line 7"]
    boxes = [e for e in root.iter(f"{SVG}rect") if "found" in e.attrib["class"]]
    assert len(boxes) == 1
