"""How the figures look: plotly, imported late, and a light and a dark template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradviz.errors import GradvizError
from gradviz.flow.judge import Verdict

MISSING = (
    "The figures of gradviz.plot are drawn by plotly, which is not installed; "
    "`pip install plotly` installs it."
)

# Okabe and Ito's colours, which people with any colour vision tell apart. The symbols
# and words say the same again.
MARKS: dict[Verdict, tuple[str, str]] = {
    "not finite": ("#d55e00", "x"),
    "exploding": ("#e69f00", "triangle-up"),
    "vanishing": ("#56b4e9", "triangle-down"),
    "zero": ("#cc79a7", "circle-open"),
}
_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LINES_ON_DARK = ("#56b4e9", "#f58a4b", "#3fcf9e", "#e6a6c8", "#f0e442", "#9bb8ff")
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of a template that our own marks need."""

    ink: str
    muted: str
    soft: str  # a band behind a line
    line: str
    lines: tuple[str, ...] = _LINES
    scale: str = "Cividis"


_LIGHT = Look("#1b212b", "#5a6574", "rgba(0, 114, 178, 0.15)", "#0072b2")
_DARK = Look(
    "#e8ebf0", "#9aa5b5", "rgba(86, 180, 233, 0.18)", "#56b4e9", _LINES_ON_DARK
)


def plotly() -> tuple[Any, Any]:
    """Return plotly's graph objects and its subplots; say how to install it if not."""
    try:
        import plotly.graph_objects as go
        from plotly import subplots
    except ImportError:
        raise GradvizError(MISSING) from None
    return go, subplots


def resolve(template: Any) -> tuple[Any, Look]:
    """Return what plotly takes as a template, and the colours that suit it.

    ``"light"``, ``"dark"``, the name of one of plotly's own, or a template object.
    """
    go, _ = plotly()
    if template in ("light", "dark"):
        return _own(
            go, dark=template == "dark"
        ), _DARK if template == "dark" else _LIGHT
    import plotly.io as pio

    if isinstance(template, str):
        known = [name for part in template.split("+") for name in [part.strip()]]
        if not all(name in pio.templates for name in known):
            names = ", ".join(sorted(["light", "dark", *pio.templates]))
            raise ValueError(f"there is no template {template!r}; known are {names}")
    full = go.Figure(layout={"template": template}).layout.template
    return template, _DARK if _is_dark(full.layout.paper_bgcolor) else _LIGHT


def _own(go: Any, *, dark: bool) -> Any:
    look = _DARK if dark else _LIGHT
    grid = "#313945" if dark else "#e7eaee"
    axis = {
        "gridcolor": grid,
        "linecolor": look.muted,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": look.muted,
        "ticklen": 4,
        "title": {"font": {"size": 12, "color": look.muted}},
    }
    paper = "#161a21" if dark else "#ffffff"
    return go.layout.Template(
        layout={
            "paper_bgcolor": paper,
            "plot_bgcolor": paper,
            "colorway": look.lines,
            "font": {
                "family": "system-ui, -apple-system, Segoe UI, Roboto, sans-serif",
                "size": 12,
                "color": look.ink,
            },
            "title": {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 15}},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"font": {"size": 12}},
            "legend": {"font": {"size": 11}},
        }
    )


def _is_dark(colour: Any) -> bool:
    """Tell whether a background is dark: of ``#rrggbb`` and ``rgb(…)`` at least."""
    text = str(colour or "#ffffff")
    if text.startswith("#") and len(text) in (4, 7):
        width = (len(text) - 1) // 3
        parts = [text[1 + k * width : 1 + (k + 1) * width] for k in range(3)]
        levels = [int(part * (3 - width), 16) for part in parts]
    elif text.startswith("rgb"):
        inside = text.partition("(")[2].rstrip(")").split(",")
        levels = [int(float(part)) for part in inside[:3]]
    else:
        return text == "black"
    return sum(levels) < 3 * 128
