"""Pictures of a snapshot drawn by Graphviz, where its package and program are there."""

from __future__ import annotations

import importlib

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.render.dot import to_dot
from gradviz.text.words import counted

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
