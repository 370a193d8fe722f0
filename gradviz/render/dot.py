"""A snapshot in the DOT language, and pictures that Graphviz draws of it."""

from __future__ import annotations

import importlib

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.text import words
from gradviz.text.words import counted

_SHAPES = {"accumulate": "ellipse", "leaf": "ellipse", "cut": "octagon"}
_DEEPEST = 16  # levels of indentation: of 1,000 it would be most of the text
_CLOSE = -1  # in the place of a scope: its children are written, end its cluster


def to_dot(snapshot: ir.Snapshot) -> str:
    """Return the graph in DOT, from leaves to roots, with one cluster per module call.

    >>> from gradviz import ir
    >>> nodes = (ir.OpNode("AddBackward0", "op", "add"),)
    >>> print(to_dot(ir.Snapshot("demo 1.0", nodes=nodes)))
    digraph gradviz {
      graph [label="graph", rankdir=TB];
      node [shape=box, fontname="monospace"];
      n0 [label="add"];
    }
    """
    title = words.clean(snapshot.title, 200) or "graph"
    stats = words.gradients(snapshot)
    lines = [
        "digraph gradviz {",
        f"  graph [label={_quote(title)}, rankdir=TB];",
        '  node [shape=box, fontname="monospace"];',
    ]
    members: dict[int | None, list[int]] = {}
    for number, node in enumerate(snapshot.nodes):
        members.setdefault(node.scope, []).append(number)
    children: dict[int | None, list[int]] = {}
    for number, scope in enumerate(snapshot.scopes):
        children.setdefault(scope.parent, []).append(number)
    # An explicit stack, because scopes may nest deeper than Python recurses.
    waiting: list[tuple[int | None, int]] = [(None, 1)]
    while waiting:
        scope, depth = waiting.pop()
        indent = "  " * min(depth, _DEEPEST)
        if scope == _CLOSE:
            lines.append(f"{indent[2:]}}}")
            continue
        if scope is not None:
            lines.append(f"{indent[2:]}subgraph cluster_{scope} {{")
            path = words.clean(snapshot.scopes[scope].path, 200)
            lines.append(f"{indent}graph [label={_quote(path)}];")
        for number in members.get(scope, []):
            lines.append(indent + _node(snapshot, number, stats[number]))
        if scope is not None:
            waiting.append((_CLOSE, depth))
        inner = reversed(children.get(scope, []))
        waiting += [(child, depth + 1) for child in inner]
    lines += [_edge(snapshot, edge) for edge in snapshot.edges]
    return "\n".join([*lines, "}"])


def _node(snapshot: ir.Snapshot, number: int, stats: list[ir.Statistics]) -> str:
    node = snapshot.nodes[number]
    label = words.clean(words.label(node), 60)
    extras = (
        words.output_shape(snapshot, node),
        words.place(snapshot, node),
        words.gradient(stats) and f"gradient {words.gradient(stats)}",
    )
    parts = [label, *(words.clean(extra, 60) for extra in extras if extra)]
    attributes = [f"label={_quote(*parts)}"]
    if node.kind in _SHAPES:
        attributes.append(f"shape={_SHAPES[node.kind]}")
    if words.is_bad(stats):
        attributes.append('color="red"')
    return f"n{number} [{', '.join(attributes)}];"


def _edge(snapshot: ir.Snapshot, edge: ir.Edge) -> str:
    attributes: list[str] = []
    if edge.tensor is not None:
        shape = words.shape(snapshot.tensors[edge.tensor])
        attributes.append(f"label={_quote(shape)}")
    if edge.kind == "cut":
        attributes.append("style=dashed")
    suffix = f" [{', '.join(attributes)}]" if attributes else ""
    return f"  n{edge.source} -> n{edge.target}{suffix};"


def _quote(*lines: str) -> str:
    """Return a DOT string; in DOT a backslash escapes, so it is doubled first."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


# Graphviz takes 0.2 s for 900 nodes and more than three minutes for 1,500 whose edges
# are long.
MOST_NODES = 1_000


def draw(snapshot: ir.Snapshot, form: str) -> bytes:
    """Return the picture in a format of Graphviz: ``"png"``, ``"pdf"``, ``"svg"``.

    Raises ExportError without Graphviz, and for graphs of more than
    :data:`MOST_NODES` nodes, on which it would hang.
    """
    nodes = len(snapshot.nodes)
    if nodes > MOST_NODES:
        raise ExportError(
            f"Graphviz hangs on graphs like this one of {counted(nodes, 'node')}; "
            "export it as HTML, and save a picture from the page's export menu."
        )
    try:
        graphviz = importlib.import_module("graphviz")
    except ImportError:
        raise ExportError(
            f"A {form.upper()} is drawn by Graphviz, and its Python package is not "
            "installed (`pip install graphviz`); export SVG, DOT or HTML instead."
        ) from None
    try:
        return graphviz.Source(to_dot(snapshot)).pipe(format=form)
    except graphviz.ExecutableNotFound:
        raise ExportError(
            f"A {form.upper()} is drawn by Graphviz, and its program `dot` is not "
            "installed; export SVG, DOT or HTML instead."
        ) from None
    except graphviz.CalledProcessError as error:
        said = (error.stderr or b"").decode("utf-8", "replace").strip().split("\n")[0]
        raise ExportError(f"Graphviz could not draw the graph: {said}.") from None
