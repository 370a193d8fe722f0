"""Rows of cells as aligned text, and as an HTML table; every cell made harmless."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from gradviz.text.words import clean, clip, columns, counted

_LEAST = 12  # columns that the last cell of a line keeps, however narrow the terminal


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, its widest cell, and on which side it lines up."""

    heading: str
    widest: int = 30
    right: bool = False


def table(
    layout: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    limit: int | None = None,
    width: int = 120,
) -> list[str]:
    """Return the lines: headings, at most ``limit`` rows, "… 3 more rows".

    >>> layout = (Column("op"), Column("n", right=True))
    >>> print("\\n".join(table(layout, [("add", "12")])))
    op    n
    add  12
    """
    kept = rows if limit is None else rows[:limit]
    cleaned = [
        [clean(cell, column.widest) for cell, column in zip(row, layout, strict=True)]
        for row in kept
    ]
    headings = [column.heading for column in layout]
    widths = [
        max(columns(row[at]) for row in [headings, *cleaned])
        for at in range(len(layout))
    ]
    last = max(width - sum(widths[:-1]) - 2 * (len(widths) - 1), _LEAST)
    widths[-1] = min(widths[-1], last)
    lines = [_line(row, layout, widths) for row in [headings, *cleaned]]
    if len(rows) > len(kept):
        lines.append(f"… {counted(len(rows) - len(kept), 'more row')}")
    return lines


def _line(row: list[str], layout: Sequence[Column], widths: list[int]) -> str:
    cells: list[str] = []
    for cell, column, width in zip(row, layout, widths, strict=True):
        kept = clip(cell, width)
        space = " " * (width - columns(kept))
        cells.append(space + kept if column.right else kept + space)
    return "  ".join(cells).rstrip()


def html_table(
    layout: Sequence[Column], rows: Sequence[Sequence[str]], *, limit: int
) -> str:
    """Return a ``<table>`` of at most ``limit`` rows; it says what it left out."""
    head = "".join(f"<th>{html.escape(column.heading)}</th>" for column in layout)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {"end" if column.right else "start"}">'
            f"<bdi>{html.escape(clean(cell))}</bdi></td>"
            for cell, column in zip(row, layout, strict=True)
        )
        + "</tr>"
        for row in rows[:limit]
    )
    left = len(rows) - limit
    more = f"<p>… {counted(left, 'more row')}</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
