"""Norm per layer, and layers by steps as a heat map, with trouble marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.flow.judge import Verdict, judge_all
from gradviz.flow.table import Flow, Matrix
from gradviz.plot._source import flow_behind, heading, labels
from gradviz.plot.theme import MARKS, Look, plotly, resolve

_ROW = 17  # px of one layer
_MOST_MARKS = 4_000
_LABELLED = 60  # layers beyond this are named only when pointed at


def gradient_flow(
    x: Any,
    *,
    template: Any = "light",
    rank: int | None = None,
    width: int | None = None,
) -> Any:
    """Return a figure of how large the gradient of each parameter is, step by step.

    The left part has the L2 norm per parameter at the last step on a logarithmic axis,
    over the range of all steps; the right part all parameters by all steps. Vanishing,
    exploding, zero and non-finite gradients are marked by colour, symbol and word.
    ``template`` is ``"light"``, ``"dark"``, or one of plotly's. Raises GradvizError
    where plotly is not installed or no gradient was recorded.

    >>> fig = gradviz.plot.gradient_flow(rec)  # doctest: +SKIP
    >>> fig.write_html("flow.html")  # doctest: +SKIP
    """
    go, subplots = plotly()
    chosen, look = resolve(template)
    flow, title = flow_behind(x, rank)
    names = labels(flow)
    verdicts = judge_all(flow.layers, flow.points)
    several = len(flow.steps) > 1
    figure = subplots.make_subplots(
        rows=1,
        cols=2 if several else 1,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        column_widths=[0.42, 0.58] if several else None,
    )
    for trace in _norms(go, flow, names, verdicts, look):
        figure.add_trace(trace, row=1, col=1)
    if several:
        figure.add_trace(_heat(go, flow, names, verdicts, look), row=1, col=2)
        for trace in _heat_marks(go, flow, names, verdicts):
            figure.add_trace(trace, row=1, col=2)
    _arrange(figure, flow, names, several, chosen, heading("Gradient flow", title))
    if width is not None:
        figure.update_layout(width=width)
    return figure


def _norms(
    go: Any, flow: Flow, names: list[str], verdicts: list[list[Verdict]], look: Look
) -> list[Any]:
    """Return the last norm of each layer, its range before, and the marks."""
    norms = np.where(flow.norms > 0, flow.norms, np.nan)
    found: list[Any] = []
    if len(flow.steps) > 1:
        found.append(_range(go, norms, names, look))
    last = _last(norms)
    words = [_word(row) for row in verdicts]
    found.append(
        go.Scatter(
            x=last,
            y=names,
            mode="lines+markers",
            name="last step",
            line={"color": look.line, "width": 1.5},
            marker={"size": 6},
            customdata=[f" — {word}" if word else "" for word in words],
            hovertemplate="%{y}: norm %{x:.3g}%{customdata}<extra></extra>",
            showlegend=len(flow.steps) > 1,
        )
    )
    seen = norms[np.isfinite(norms)]
    lowest = float(seen.min()) if len(seen) else 1.0
    middle = float(np.sqrt(lowest * seen.max())) if len(seen) else 1.0
    for verdict in MARKS:
        rows = [row for row, word in enumerate(words) if word == verdict]
        if rows:
            # What has no place on a logarithmic axis stands at its edge.
            places = [last[row] if np.isfinite(last[row]) else lowest for row in rows]
            ys = [names[row] for row in rows]
            found.append(_marks(go, places, ys, verdict, look, middle))
    return found


def _range(go: Any, norms: Matrix, names: list[str], look: Look) -> Any:
    """Return one line from the least to the largest norm of each layer."""
    xs: list[float | None] = []
    ys: list[str | None] = []
    for name, row in zip(names, norms, strict=True):
        seen = row[np.isfinite(row)]
        if len(seen):
            xs += [float(seen.min()), float(seen.max()), None]
            ys += [name, name, None]
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        name="all steps",
        line={"color": look.soft, "width": 9},
        hoverinfo="skip",
    )


def _marks(
    go: Any,
    xs: list[float],
    ys: list[str],
    verdict: Verdict,
    look: Look,
    middle: float,
) -> Any:
    colour, symbol = MARKS[verdict]
    few = len(ys) <= 12
    return go.Scatter(
        x=xs,
        y=ys,
        mode="markers+text" if few else "markers",
        name=verdict,
        text=[verdict] * len(ys),
        textposition=["middle left" if x > middle else "middle right" for x in xs],
        textfont={"size": 11, "color": look.ink},
        marker={
            "symbol": symbol,
            "color": colour,
            "size": 12,
            "line": {"color": look.ink, "width": 1},
        },
        hovertemplate=f"%{{y}}: {verdict}<extra></extra>",
        cliponaxis=False,
        legendgroup=verdict,
    )


def _heat(
    go: Any, flow: Flow, names: list[str], verdicts: list[list[Verdict]], look: Look
) -> Any:
    norms = np.where(flow.norms > 0, flow.norms, np.nan)
    with np.errstate(invalid="ignore"):
        exponents = np.log10(norms)
    seen = exponents[np.isfinite(exponents)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
    ticks = _decades(low, high)
    return go.Heatmap(
        x=list(range(len(flow.steps))),
        y=names,
        z=exponents,
        zmin=low,
        zmax=high if high > low else low + 1,
        colorscale=look.scale,
        text=[
            [_told(flow, verdicts, layer, step) for step in range(len(flow.steps))]
            for layer in range(len(flow.layers))
        ],
        hovertemplate="%{y}<br>%{text}<extra></extra>",
        colorbar={
            "title": {"text": "norm", "side": "right"},
            "tickvals": ticks,
            "ticktext": [f"1e{tick}" for tick in ticks],
            "thickness": 12,
            "x": 1.01,
            "outlinewidth": 0,
        },
        hoverongaps=True,
    )


def _heat_marks(
    go: Any, flow: Flow, names: list[str], verdicts: list[list[Verdict]]
) -> list[Any]:
    """Return the symbols over the heat map, one trace for each kind of trouble."""
    found: list[Any] = []
    for verdict, (colour, symbol) in MARKS.items():
        cells = [
            (step, names[layer])
            for layer, row in enumerate(verdicts)
            for step, each in enumerate(row)
            if each == verdict
        ][:_MOST_MARKS]
        if cells:
            found.append(
                go.Scatter(
                    x=[step for step, _ in cells],
                    y=[name for _, name in cells],
                    mode="markers",
                    name=verdict,
                    legendgroup=verdict,
                    showlegend=not any(row[-1] == verdict for row in verdicts),
                    marker={
                        "symbol": symbol,
                        "color": colour,
                        "size": 7,
                        "line": {"color": "#1b212b", "width": 0.8},
                    },
                    hoverinfo="skip",
                )
            )
    return found


def _told(flow: Flow, verdicts: list[list[Verdict]], layer: int, step: int) -> str:
    point = flow.points[layer][step]
    words = f"step {flow.numbers[step]:,}: "
    if point is None or (point.norm is None and not point.nans + point.infs):
        return words + "no gradient"
    if point.norm is not None:
        words += f"norm {point.norm:.3g}"
    if point.nans or point.infs:
        words += f", {point.nans:,} NaN, {point.infs:,} Inf"
    if point.zeros and flow.layers[layer].count:
        words += f", {point.zeros / flow.layers[layer].count:.0%} zeros"
    verdict = verdicts[layer][step]
    return f"{words} — {verdict}" if verdict else words


def _arrange(
    figure: Any, flow: Flow, names: list[str], several: bool, template: Any, title: str
) -> None:
    height = 150 + max(len(names), 6) * (_ROW if len(names) <= _LABELLED else 6)
    figure.update_layout(
        template=template,
        title=title,
        height=min(height, 1_400),
        margin={"l": 8, "r": 8, "t": 84, "b": 52},
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
    )
    norm = {"type": "log", "title": {"text": "L2 norm of the gradient"}}
    figure.update_xaxes(**norm, exponentformat="e", row=1, col=1)
    figure.update_yaxes(
        categoryorder="array",
        categoryarray=names,
        autorange="reversed",  # the input's layer on top, as models are read
        automargin=True,
        showticklabels=len(names) <= _LABELLED,
        showgrid=len(names) <= _LABELLED,
        row=1,
        col=1,
    )
    if several:
        ticks = sorted({*np.linspace(0, len(flow.steps) - 1, 7).astype(int).tolist()})
        figure.update_xaxes(
            title={"text": "step"},
            tickvals=ticks,
            ticktext=[f"{flow.numbers[tick]:,}" for tick in ticks],
            showgrid=False,
            row=1,
            col=2,
        )
        figure.update_yaxes(showgrid=False, row=1, col=2)


def _last(norms: Matrix) -> list[float]:
    """Return the last norm of each layer that is known; NaN where none is."""
    found: list[float] = []
    for row in norms:
        seen = row[np.isfinite(row)]
        found.append(float(row[-1]) if len(row) and np.isfinite(row[-1]) else np.nan)
        if np.isnan(found[-1]) and len(seen):
            found[-1] = float(seen[-1])
    return found


def _word(row: list[Verdict]) -> Verdict:
    """Return the verdict on a layer now, or that it was not finite at any time."""
    return "not finite" if "not finite" in row else row[-1]


def _decades(low: float, high: float) -> list[int]:
    first, last = int(np.ceil(low)), int(np.floor(high))
    step = max(1, (last - first) // 6)
    return list(range(first, last + 1, step)) or [round(low)]
