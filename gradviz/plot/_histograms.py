"""The distribution of each parameter's gradient, as small multiples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz import ir
from gradviz.errors import GradvizError
from gradviz.flow.table import Flow
from gradviz.plot._source import flow_behind, heading, labels
from gradviz.plot.theme import MARKS, Look, plotly, resolve

NO_HISTOGRAMS = (
    "No histograms were recorded: they are taken by `gradviz.record()` and at some "
    "steps of `gradviz.watch(model, optimizer)`."
)

_MOST = 24  # small figures that can be taken in together
_COLUMNS = 4
_HEIGHTS = (
    "each on its own axis; heights are square roots of counts, so that tails show"
)


def histograms(
    x: Any,
    layers: Sequence[str] | str | None = None,
    *,
    step: int | None = None,
    template: Any = "light",
    rank: int | None = None,
    width: int | None = None,
) -> Any:
    """Return a figure of how the elements of each gradient are distributed.

    One small histogram per parameter, each on its own axis, with its zeros, NaN and Inf
    counted in words. ``step`` is the number of a step; without it, the last one that
    has histograms. ``layers`` chooses parameters by (a part of) their names; without it
    at most 24 are shown, evenly chosen. Raises GradvizError where plotly is missing or
    nothing fits.

    >>> gradviz.plot.histograms(rec, "encoder")  # doctest: +SKIP
    """
    go, subplots = plotly()
    chosen, look = resolve(template)
    flow, title = flow_behind(x, rank)
    names = labels(flow)
    column = _column(flow, step)
    found = {
        row: statistics
        for row in range(len(flow.layers))
        if (statistics := flow.histogram(row, column)) is not None
    }
    rows = _chosen(flow, list(found), layers)
    grid = math.ceil(len(rows) / _COLUMNS)
    height = 175 * grid + 104
    across = min(len(rows), _COLUMNS)
    figure = subplots.make_subplots(
        rows=grid,
        cols=across,
        subplot_titles=[f"<b>{names[row]}</b><br>{_facts(found[row])}" for row in rows],
        vertical_spacing=min(0.5 / max(grid, 1), 100 / height),
        horizontal_spacing=0.05,
    )
    for place, row in enumerate(rows):
        figure.add_trace(
            _bars(go, found[row], look),
            row=place // _COLUMNS + 1,
            col=place % _COLUMNS + 1,
        )
    what = f"Gradients at step {flow.numbers[column]:,}"
    if len(rows) < len(found):
        what += f", {len(rows)} of {len(found)} parameters"
    figure.update_layout(template=chosen, height=height, width=width)
    _label(figure, f"{heading(what, title)}<br><sup>{_HEIGHTS}</sup>", look)
    return figure


def _label(figure: Any, title: str, look: Look) -> None:
    """Put the title above the small figures, and few numbers at their axes."""
    top = 1 - 14 / figure.layout.height
    figure.update_layout(
        title={"text": title, "y": top, "yanchor": "top"},
        margin={"l": 8, "r": 8, "t": 104, "b": 30},
        showlegend=False,
        bargap=0,
    )
    figure.update_annotations(font={"size": 11, "color": look.ink})
    figure.update_xaxes(nticks=3, exponentformat="e", tickfont={"size": 10})
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="")


def _column(flow: Flow, step: int | None) -> int:
    """Return the column of a step that has histograms, or say which have."""
    known = [
        column
        for column in range(len(flow.steps))
        if any(flow.histogram(row, column) for row in range(len(flow.layers)))
    ]
    if not known:
        raise GradvizError(NO_HISTOGRAMS)
    if step is None:
        return known[-1]
    column = next((each for each in known if flow.numbers[each] == step), None)
    if column is None:
        numbers = ", ".join(str(flow.numbers[each]) for each in known)
        raise GradvizError(f"step {step} has no histograms; these have: {numbers}")
    return column


def _chosen(
    flow: Flow, rows: list[int], layers: Sequence[str] | str | None
) -> list[int]:
    if layers is not None:
        wanted = [layers] if isinstance(layers, str) else list(layers)
        fitting = [
            row for row in rows if any(word in flow.layers[row].name for word in wanted)
        ]
        if not fitting:
            raise GradvizError(
                f"no parameter with a histogram is named like {', '.join(wanted)}"
            )
        return fitting[: 2 * _MOST]
    if len(rows) <= _MOST:
        return rows
    places = np.linspace(0, len(rows) - 1, _MOST).round().astype(int)
    return [rows[place] for place in places]


def _bars(go: Any, found: ir.Statistics, look: Look) -> Any:
    low, high = found.histogram_low or 0.0, found.histogram_high or 0.0
    edges = np.linspace(low, high, len(found.histogram) + 1)
    return go.Bar(
        x=((edges[1:] + edges[:-1]) / 2).tolist(),
        y=[math.sqrt(count) for count in found.histogram],  # tails stay visible
        width=float(edges[1] - edges[0]),
        customdata=list(found.histogram),
        marker={"color": look.line, "line": {"width": 0}},
        hovertemplate="about %{x:.3g}: %{customdata:,} elements<extra></extra>",
    )


def _facts(found: ir.Statistics) -> str:
    parts = [f"norm {found.norm:.2g}"] if found.norm is not None else []
    if found.zeros:
        parts.append(f"{found.zeros / max(found.count, 1):.0%} zeros")
    bad = [f"{found.nans:,} NaN"] * bool(found.nans)
    bad += [f"{found.infs:,} Inf"] * bool(found.infs)
    if bad:
        colour = MARKS["not finite"][0]
        parts.append(f'<span style="color:{colour}">{", ".join(bad)}</span>')
    return ", ".join(parts)
