"""A diff as text: what was removed, added and changed, then the gradients."""

from __future__ import annotations

import html
from collections.abc import Sequence

from gradviz.analysis.compare import DiffRow
from gradviz.analysis.diff import Diff
from gradviz.render import _words as words
from gradviz.render._table import Column, html_table, table

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "same": "="}
_COLUMNS = (
    Column("", 1),
    Column("op", 30),
    Column("what", 90),
    Column("module", 40),
    Column("line", 60),
)


def diff_text(diff: Diff, *, limit: int | None, width: int) -> str:
    """Return a summary and a row per difference, aligned."""
    lines = [summary(diff)]
    rows = [_cells(row) for row in diff.rows if row.kind != "same"]
    if rows:
        lines += table(_COLUMNS, rows, limit=limit, width=width)[1:]
    return "\n".join([*lines, *_largest(diff)])


def diff_html(diff: Diff, *, limit: int) -> str:
    """Return the same for a notebook."""
    rows = [_cells(row) for row in diff.rows if row.kind != "same"]
    body = html_table(_COLUMNS, rows, limit=limit) if rows else ""
    return f"<p>{html.escape(summary(diff))}</p>{body}"


def summary(diff: Diff) -> str:
    """Return the counts in one line."""
    same = len(diff.rows) - len(diff.added) - len(diff.removed) - len(diff.changed)
    before, after = (words.clean(label, 60) for label in diff.labels)
    counts = f"{len(diff.added):,} added, {len(diff.removed):,} removed"
    compared = words.clean(diff.compared, 200) or f"{before} → {after}"
    return f"{compared}: {counts}, {len(diff.changed):,} changed, {same:,} same"


def _largest(diff: Diff) -> list[str]:
    """Name the gradient that changed most, where any did."""
    first = next(iter(diff.gradients), None)
    if first is None or first.ratio is None or first.ratio == 1:
        return []
    name = words.clean(first.label, 60)
    pairs = words.counted(len(diff.gradients), "gradient")
    times = words.number(first.ratio)
    return [f"{pairs} compared; the largest change of a norm is ×{times} at {name}."]


def _cells(row: DiffRow) -> Sequence[str]:
    return (
        _SIGNS[row.kind],
        row.label,
        "; ".join(row.changes),
        row.scope,
        row.place,
    )
