"""The flow as a table for terminals and logs: one row per parameter."""

from __future__ import annotations

import math

import numpy as np

from gradviz import ir
from gradviz.flow.judge import Verdict, judge_all
from gradviz.flow.table import Flow, Matrix, flow_of
from gradviz.text.words import aligned, clean, counted

_BARS = "▁▂▃▄▅▆▇█"
_WIDE = 12  # columns of a curve
_HEADINGS = ("parameter", "norm", "over time", "update/weight", "")


def flow_text(snapshot: ir.Snapshot, limit: int = 40) -> str:
    """Return a table of the last norms, their course, update ratios and verdicts.

    At most ``limit`` parameters are shown, those in trouble first to stay; "" where the
    snapshot has no history.

    >>> layers, steps = (ir.FlowLayer("w", count=4),), (ir.FlowStep(0), ir.FlowStep(1))
    >>> points = (ir.FlowPoint(0, 0, norm=2.0), ir.FlowPoint(1, 0, norm=0.02))
    >>> print(flow_text(ir.Snapshot("demo", flow_layers=layers, flow_steps=steps,
    ...                             flow=points)))
    1 parameter at 2 of the steps 0 to 1
    parameter  norm  over time  update/weight
    w          0.02  █▁         –
    """
    if not snapshot.flow:
        return ""
    flow = flow_of(snapshot)
    verdicts = judge_all(flow.layers, flow.points)
    words: list[Verdict] = [_worst(row) for row in verdicts]
    kept = _kept(words, limit)
    norms, ratios = flow.norms, flow.ratios
    rows: list[tuple[str, ...]] = [_HEADINGS]
    for row in kept:
        rows.append(
            (
                clean(flow.layers[row].name, 48),
                _number(norms[row]),
                _curve(norms[row]),
                _number(ratios[row]),
                words[row] if words[row] != "none" else "no gradient",
            )
        )
    lines = [_title(flow), *aligned(rows)]
    if len(kept) < len(words):
        lines.append(f"… {counted(len(words) - len(kept), 'more parameter')}")
    return "\n".join(lines)


def _title(flow: Flow) -> str:
    first, last = flow.numbers[0], flow.numbers[-1]
    title = f"{counted(len(flow.layers), 'parameter')} at {len(flow.steps):,} of the "
    title += f"steps {first:,} to {last:,}"
    rank = flow.steps[0].rank
    return title if rank is None else f"{title}, rank {rank}"


def _worst(row: list[Verdict]) -> Verdict:
    return "not finite" if "not finite" in row else row[-1] if row else ""


def _kept(words: list[Verdict], limit: int) -> list[int]:
    """Return the rows to show: in trouble, then the first and the last ones."""
    if len(words) <= limit:
        return list(range(len(words)))
    bad = [row for row, word in enumerate(words) if word][: limit // 2]
    room = limit - len(bad)
    ends = [*range(room - room // 2), *range(len(words) - room // 2, len(words))]
    return sorted({*bad, *ends})


def _number(row: Matrix) -> str:
    known = row[np.isfinite(row)]
    return f"{known[-1]:.3g}" if len(known) else "–"


def _curve(row: Matrix) -> str:
    """Return the course of a norm on a logarithmic scale, in a few letters."""
    if len(row) < 2:
        return ""
    parts = np.array_split(row, min(_WIDE, len(row)))
    logs = [_middle(part) for part in parts]
    known = [each for each in logs if not math.isnan(each)]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    return "".join(
        " " if math.isnan(each) else _BARS[_level(each - low, span)] for each in logs
    )


def _level(above: float, span: float) -> int:
    if span < 0.05:  # a tenth up or down is no course
        return len(_BARS) // 2 - 1
    return min(int(above / span * len(_BARS)), len(_BARS) - 1)


def _middle(part: Matrix) -> float:
    known = part[np.isfinite(part) & (part > 0)]
    return float(np.log10(np.median(known))) if len(known) else math.nan
