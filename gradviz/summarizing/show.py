"""A summary as text and as HTML: the tree of layers, with a column for each cost."""

from __future__ import annotations

import html
from dataclasses import dataclass

from gradviz.summarizing.layers import Layer
from gradviz.text.table import Column, html_table, table
from gradviz.text.words import counted, duration, scaled, size


@dataclass(frozen=True, slots=True)
class Summary:
    """What :func:`gradviz.summary` returns; its text is a tree with aligned columns."""

    title: str
    layers: tuple[Layer, ...]  # the model first, then each before what is inside it
    notes: tuple[str, ...] = ()  # sentences: what could not be seen, and why

    @property
    def total(self) -> Layer:
        """The model itself: the numbers of all layers together."""
        return self.layers[0]

    def __getitem__(self, path: str) -> Layer:
        """Return the layer at a path; raise KeyError where there is none."""
        for layer in self.layers:
            if layer.path == path:
                return layer
        raise KeyError(path)

    def to_text(
        self, *, depth: int | None = None, limit: int | None = None, width: int = 120
    ) -> str:
        """Return the tree as text, down to a depth, at most ``limit`` rows of it."""
        return summary_text(self, depth=depth, limit=limit, width=width)

    def __repr__(self) -> str:
        return self.to_text(limit=200)

    def _repr_html_(self) -> str:
        return summary_html(self, limit=1_000)


_COLUMNS = (
    Column("layer", 44),
    Column("output", 32),
    Column("parameters", right=True),
    Column("frozen", right=True),
    Column("kept", right=True),
    Column("FLOPs", right=True),
    Column("time", right=True),
    Column("", 60),
)
_MOST_OUTPUTS = 2
_UNBROKEN = "\N{NO-BREAK SPACE}"  # HTML keeps no other space at the beginning


def summary_text(
    summary: Summary, *, depth: int | None, limit: int | None, width: int
) -> str:
    """Return the tree, and below it the totals and what could not be seen."""
    rows = [_cells(each, summary.title) for each in _down_to(summary, depth)]
    lines = table(_COLUMNS, rows, limit=limit, width=width)
    return "\n".join([*lines, "", *_sentences(summary)])


def summary_html(summary: Summary, *, limit: int) -> str:
    """Return the same for a notebook."""
    rows = [_cells(each, summary.title, _UNBROKEN) for each in summary.layers]
    told = "".join(f"<p>{html.escape(each)}</p>" for each in _sentences(summary))
    return html_table(_COLUMNS, rows, limit=limit) + told


def _down_to(summary: Summary, depth: int | None) -> list[Layer]:
    return [each for each in summary.layers if depth is None or each.depth <= depth]


def _cells(layer: Layer, title: str, space: str = " ") -> tuple[str, ...]:
    name = layer.path.rpartition(".")[2]
    what = f"{name} {layer.kind}" if name else title
    return (
        2 * layer.depth * space + what,
        _outputs(layer),
        f"{layer.parameters:,}" if layer.parameters else "",
        f"{layer.frozen:,}" if layer.frozen else "",
        "" if layer.kept_bytes is None else size(layer.kept_bytes),
        _operations(layer),
        "" if layer.elapsed_ns is None else duration(layer.elapsed_ns),
        layer.note,
    )


def _outputs(layer: Layer) -> str:
    shown = ", ".join(str(shape) for shape in layer.outputs[:_MOST_OUTPUTS])
    more = len(layer.outputs) - _MOST_OUTPUTS
    return f"{shown} and {more} more" if more > 0 else shown


def _operations(layer: Layer) -> str:
    if layer.flops is None:
        return "" if layer.elapsed_ns is None else "?"
    return scaled(layer.flops)


def _sentences(summary: Summary) -> list[str]:
    total = summary.total
    told = (
        f"{counted(total.parameters, 'parameter')}: {total.trainable:,} trainable, "
        f"{total.frozen:,} frozen."
    )
    return [told, *summary.notes]
