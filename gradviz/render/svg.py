"""A snapshot of a small graph as an SVG picture, for places that run no scripts.

GitHub, a saved notebook and an e-mail show it; it follows the reader's light or dark
mode by itself. Larger graphs are shown with their modules collapsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from gradviz import ir
from gradviz.render._boxes import Box, Boxes, Link, collapse
from gradviz.render._layers import Placement, place
from gradviz.render._one_step import one_step
from gradviz.text import words

FEW_BOXES = 40  # modules are closed for as long as there are more
MOST_BOXES = 200

_CALL = re.compile(r"#\d+")  # the number of a call in a path: one step has its own
_LETTER = 7.25  # px: the advance of a 12 px monospace letter, rounded up
_LINE = 16.0
_PADDING = 8.0
_MARGIN = 16.0
_HEAD = 40.0  # room for the title
_WIDEST = 30  # letters in a box

_STYLE = """\
svg { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.page { fill: #ffffff; } .ink { fill: #1c2530; } .faint { fill: #5a6675; }
.title { font-weight: 600; font-size: 13px; fill: #1c2530; } .name { font-weight: 600; }
.box { fill: #f3f6fa; stroke: #8a97a8; }
.leaf { fill: #e7f4ea; stroke: #4f8f63; } .module { fill: #ece9fb; stroke: #7a6cc4; }
.write { fill: #fdf1de; stroke: #b98430; }
.cut { fill: #f5f5f5; stroke-dasharray: 4 3; }
.bad { fill: #fde8e8; stroke: #c62828; stroke-width: 2; } .alarm { fill: #b71c1c; }
.found { stroke: #b26a00; stroke-width: 3; }
.link { fill: none; stroke: #8a97a8; } .link-cut { stroke-dasharray: 4 3; }
.link-bad { stroke: #c62828; stroke-width: 1.6; } .head { fill: #8a97a8; }
@media (prefers-color-scheme: dark) {
.page { fill: #0f141a; } .ink, .title { fill: #e6ebf2; } .faint { fill: #9aa7b6; }
.box { fill: #1b232d; stroke: #66758a; } .leaf { fill: #16291d; stroke: #5fa777; }
.module { fill: #231f3d; stroke: #9184e0; } .write { fill: #2f2413; stroke: #d09a45; }
.cut { fill: #1a1a1a; } .bad { fill: #3a1717; stroke: #ef6b6b; }
.alarm { fill: #ff8a80; } .found { stroke: #f0b23c; }
.link { stroke: #66758a; } .link-bad { stroke: #ef6b6b; }
.head { fill: #66758a; }
}"""


_ARROW = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="6" '
    'markerHeight="6" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker>'
    "</defs>"
)


def to_svg(snapshot: ir.Snapshot) -> str:
    """Return the picture; of a graph that is too large, a picture that says so.

    >>> from gradviz import ir
    >>> to_svg(ir.Snapshot("demo"))[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    whole = snapshot
    snapshot, which = one_step(snapshot)
    found = collapse(snapshot, FEW_BOXES) or collapse(snapshot, MOST_BOXES)
    if found is None:
        return _sentence(
            whole,
            f"{words.summary(snapshot)}: too large for a picture; "
            "open it in gradviz or export it as HTML.",
        )
    if not found.boxes:
        return _sentence(whole, "Nothing was recorded.")
    stats = words.gradients(snapshot)
    texts = [_lines(snapshot, box, stats) for box in found.boxes]
    sizes = [_size(lines) for lines in texts]
    placement = place(sizes, [(link.source, link.target) for link in found.links])
    parts = _links(snapshot, found, placement, sizes)
    for box, lines, size, centre in zip(
        found.boxes, texts, sizes, placement.centres, strict=True
    ):
        parts.append(_box(snapshot, box, lines, size, centre, stats))
    told = ", ".join(part for part in (which, _verdict(whole)) if part)
    return _frame(whole, parts, placement.width, placement.height, told)


def _verdict(snapshot: ir.Snapshot) -> str:
    """Return what was found first, and in which line."""
    if not snapshot.findings:
        return ""
    first = snapshot.findings[0]
    line = (
        "" if first.culprit is None else f", line {snapshot.sites[first.culprit].line}"
    )
    return f"{first.severity} {first.code} {first.slug}{line}"


def _lines(
    snapshot: ir.Snapshot, box: Box, stats: list[list[ir.Statistics]]
) -> list[tuple[str, str]]:
    """Return the (class, text) of the lines inside a box."""
    if box.scope is not None:
        scope = snapshot.scopes[box.scope]
        lines = [
            ("ink name", _CALL.sub("", scope.path or scope.name) or "module"),
            ("faint", f"{scope.kind}, {words.counted(len(box.nodes), 'node')}"),
        ]
    else:
        node = snapshot.nodes[box.nodes[0]]
        lines = [
            ("ink name", words.label(node)),
            ("faint", words.output_shape(snapshot, node)),
        ]
    bad = [node for node in box.nodes if words.is_bad(stats[node])]
    if bad and box.scope is not None:
        lines.append(("alarm", f"NaN or Inf in {words.counted(len(bad), 'node')}"))
    elif box.scope is None and stats[box.nodes[0]]:
        text = f"grad {words.gradient(stats[box.nodes[0]])}"
        lines.append(("alarm" if bad else "faint", text))
    return [(style, words.clean(text, _WIDEST)) for style, text in lines if text]


def _size(lines: list[tuple[str, str]]) -> tuple[float, float]:
    letters = max(words.columns(text) for _, text in lines)
    return letters * _LETTER + 2 * _PADDING, len(lines) * _LINE + _PADDING


def _box(
    snapshot: ir.Snapshot,
    box: Box,
    lines: list[tuple[str, str]],
    size: tuple[float, float],
    centre: tuple[float, float],
    stats: list[list[ir.Statistics]],
) -> str:
    x, y = centre[0] - size[0] / 2, centre[1] - size[1] / 2
    style = _box_style(snapshot, box, stats)
    radius = 14 if style == "leaf" else 4
    rows = "".join(
        f'<text class="{kind}" x="{_px(centre[0])}" text-anchor="middle" '
        f'y="{_px(y + 0.9 * _LINE + row * _LINE)}">{escape(text)}</text>'
        for row, (kind, text) in enumerate(lines)
    )
    blamed = {row for finding in snapshot.findings[:1] for row in finding.nodes}
    if blamed.intersection(box.nodes) and snapshot.findings[0].severity != "info":
        style += " found"
    return (
        f"<g><title>{escape(_tooltip(snapshot, box))}</title>"
        f'<rect class="box {style}" x="{_px(x)}" y="{_px(y)}" '
        f'width="{_px(size[0])}" height="{_px(size[1])}" rx="{radius}"/>{rows}</g>'
    )


def _box_style(
    snapshot: ir.Snapshot, box: Box, stats: list[list[ir.Statistics]]
) -> str:
    if any(words.is_bad(stats[node]) for node in box.nodes):
        return "bad"
    if box.scope is not None:
        return "module"
    kind = snapshot.nodes[box.nodes[0]].kind
    names = {"accumulate": "leaf", "leaf": "leaf", "inplace": "write", "cut": "cut"}
    return names.get(kind, "op")


def _tooltip(snapshot: ir.Snapshot, box: Box) -> str:
    if box.scope is not None:
        return words.clean(snapshot.scopes[box.scope].path, 300)
    node = snapshot.nodes[box.nodes[0]]
    place_ = words.place(snapshot, node)
    parts = (node.name, words.scope_path(snapshot, node), place_)
    line = words.source_line(snapshot, node)
    return words.clean(" · ".join(part for part in (*parts, line) if part), 300)


def _links(
    snapshot: ir.Snapshot,
    found: Boxes,
    placement: Placement,
    sizes: Sequence[tuple[float, float]],
) -> list[str]:
    return [
        _link(snapshot, link, route, sizes)
        for link, route in zip(found.links, placement.routes, strict=True)
    ]


def _link(
    snapshot: ir.Snapshot,
    link: Link,
    route: tuple[tuple[float, float], ...],
    sizes: Sequence[tuple[float, float]],
) -> str:
    """Draw from the lower edge of one box to the upper edge of the next."""
    edges = [snapshot.edges[row] for row in link.edges]
    style = "link"
    if all(edge.kind == "cut" for edge in edges):
        style += " link-cut"
    rows = [edge.gradient for edge in edges if edge.gradient is not None]
    if words.is_bad([snapshot.statistics[row] for row in rows]):
        style += " link-bad"
    (x, y), *between, (last_x, last_y) = route
    y += sizes[link.source][1] / 2
    last_y -= sizes[link.target][1] / 2 + 5  # room for the arrow head
    points = [(x, y), *between, (last_x, last_y)]
    path = f"M{_px(x)} {_px(y)}"
    for (from_x, from_y), (to_x, to_y) in pairwise(points):
        middle = (from_y + to_y) / 2
        path += f"C{_px(from_x)} {_px(middle)} {_px(to_x)} {_px(middle)} "
        path += f"{_px(to_x)} {_px(to_y)}"
    return f'<path class="{style}" d="{path}" marker-end="url(#head)"/>'


def _sentence(snapshot: ir.Snapshot, sentence: str) -> str:
    text = escape(words.clean(sentence))
    return _frame(
        snapshot, [f'<text class="ink" y="12">{text}</text>'], len(text) * _LETTER, 20
    )


def _frame(
    snapshot: ir.Snapshot, parts: list[str], width: float, height: float, told: str = ""
) -> str:
    title = words.clean(snapshot.title, 80) or "graph"
    told = words.clean(told, 120)
    said = f'<tspan class="faint" dx="10">{escape(told)}</tspan>' if told else ""
    letters = words.columns(title) + words.columns(told) + 2
    width = max(width, letters * 8.0) + 2 * _MARGIN
    height += _HEAD + _MARGIN
    size = f'width="{_px(width)}" height="{_px(height)}"'
    view = f'viewBox="0 0 {_px(width)} {_px(height)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(words.summary(snapshot))}</desc>",
            f"<style>\n{_STYLE}\n</style>",
            _ARROW,
            '<rect class="page" width="100%" height="100%"/>',
            f'<text class="title" x="{_MARGIN:g}" y="24">{escape(title)}{said}</text>',
            f'<g transform="translate({_MARGIN:g} {_HEAD:g})">',
            *parts,
            "</g>",
            "</svg>",
        ]
    )


def _px(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
