"""How much each step changes each parameter, beside the share that trains well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradviz.errors import GradvizError
from gradviz.flow.table import Flow
from gradviz.plot._source import flow_behind, heading, labels
from gradviz.plot.theme import DASHES, Look, plotly, resolve

REFERENCE = 1e-3
"""A common share: training much above is unstable, much below stands still."""

NO_UPDATES = (
    "No updates were recorded: a ratio needs the optimizer's steps. Use "
    "`gradviz.watch(model, optimizer)` while training."
)

_LINES = 12  # lines that can be told apart
_EXTREMES = 3  # named at each end where there are more


def update_ratio(
    x: Any,
    *,
    template: Any = "light",
    rank: int | None = None,
    width: int | None = None,
) -> Any:
    """Return a figure of the update-to-weight ratio of each parameter over the steps.

    The ratio is the norm of what the optimizer changed over the norm of the parameter.
    The dashed line is at 1e-3, a common value in training that goes well. Of many
    parameters the middle half is a band, and only the highest and lowest are named.
    Raises GradvizError where plotly is missing or no optimizer step was seen.

    >>> gradviz.plot.update_ratio(watch).write_html("ratio.html")  # doctest: +SKIP
    """
    go, _ = plotly()
    chosen, look = resolve(template)
    flow, title = flow_behind(x, rank)
    ratios = np.where(flow.ratios > 0, flow.ratios, np.nan)
    kept = [row for row in range(len(ratios)) if np.isfinite(ratios[row]).any()]
    if not kept:
        raise GradvizError(NO_UPDATES)
    names = labels(flow)
    figure = go.Figure()
    shown = kept
    if len(kept) > _LINES:
        for trace in _band(go, flow, ratios[kept], look):
            figure.add_trace(trace)
        middles = {row: float(np.nanmedian(ratios[row])) for row in kept}
        order = sorted(kept, key=middles.__getitem__)
        shown = sorted({*order[:_EXTREMES], *order[-_EXTREMES:]})
    for place, row in enumerate(shown):
        figure.add_trace(_line(go, flow, names[row], ratios[row], place, look))
    _reference(figure, look)
    figure.update_layout(
        template=chosen,
        title=heading("Update-to-weight ratio", title),
        height=440,
        width=width,
        margin={"l": 8, "r": 8, "t": 60, "b": 52},
        hovermode="closest",
    )
    figure.update_xaxes(title={"text": "step"}, tickformat=",d")
    figure.update_yaxes(
        type="log",
        dtick=1,
        exponentformat="e",
        title={"text": "‖update‖ / ‖weight‖"},
        automargin=True,
    )
    return figure


def _line(go: Any, flow: Flow, name: str, ratios: Any, place: int, look: Look) -> Any:
    known = np.isfinite(ratios)  # a line goes on past steps that were not measured
    return go.Scatter(
        x=np.array(flow.numbers)[known].tolist(),
        y=ratios[known].tolist(),
        mode="lines+markers" if known.sum() < 30 else "lines",
        name=name,
        line={
            "color": look.lines[place % len(look.lines)],
            "dash": DASHES[place // len(look.lines) % len(DASHES)],
            "width": 1.6,
        },
        hovertemplate="%{fullData.name}<br>step %{x:,}: %{y:.2e}<extra></extra>",
    )


def _band(go: Any, flow: Flow, ratios: Any, look: Look) -> list[Any]:
    """Return the middle half of all parameters and their median."""
    known = np.isfinite(ratios).any(axis=0)
    low, middle, high = np.nanpercentile(ratios[:, known], [25, 50, 75], axis=0)
    xs = np.array(flow.numbers)[known].tolist()
    return [
        go.Scatter(
            x=[*xs, *reversed(xs)],
            y=[*high.tolist(), *reversed(low.tolist())],
            fill="toself",
            fillcolor=look.soft,
            line={"width": 0},
            name="middle half",
            hoverinfo="skip",
        ),
        go.Scatter(
            x=xs,
            y=middle.tolist(),
            mode="lines",
            name=f"median of {len(ratios)}",
            line={"color": look.ink, "width": 2.4},
            hovertemplate="median<br>step %{x:,}: %{y:.2e}<extra></extra>",
        ),
    ]


def _reference(figure: Any, look: Look) -> None:
    figure.add_hline(
        y=REFERENCE,
        line={"color": look.muted, "dash": "dash", "width": 1.2},
        annotation={
            "text": "1e-3, a common ratio",
            "font": {"size": 11, "color": look.muted},
            "xanchor": "left",
            "x": 0,
            "y": math.log10(
                REFERENCE
            ),  # where the axis is logarithmic, so is the place
            "yanchor": "bottom",
        },
    )
