"""Compare: measurements side by side, one table for each label."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ._timer import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BEST, _GOOD = "\033[92m\033[1m", "\033[34m\033[1m"
_BAD, _VERY_BAD = "\033[2m\033[91m", "\033[31m\033[1m"
_PLAIN = "\033[0m\033[0m"


class Colorize(enum.Enum):
    """What the colours of a table compare."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class _Style(NamedTuple):
    trim: bool
    colours: Colorize
    marks: bool


class _Row(NamedTuple):
    threads: int
    env: str | None
    name: str


def _row_of(measured: Measurement) -> _Row:
    return _Row(measured.num_threads, measured.env, measured.as_row_name)


class _Column:
    """How the times under one description are written."""

    def __init__(self, results: list[Measurement], scale: float, style: _Style) -> None:
        self._scale, self._trim = scale, style.trim
        self._marks = style.marks and any(each.has_warnings for each in results)
        digits = [
            int(np.ceil(np.log10(np.float32(each.median / scale)))) for each in results
        ]
        spare = [
            max(each.significant_figures - before, 0)
            for each, before in zip(results, digits, strict=True)
        ]
        self._decimals = min(spare) if style.trim else 1
        self._width = max(digits) + self._decimals + (self._decimals > 0)

    def text(self, measured: Measurement | None) -> str:
        """Write a time, and how far it spreads if that is much."""
        if measured is None:
            return " " * len(self._written(1.0, ""))
        value = measured.median / self._scale
        if self._trim:
            value = trim_sigfig(value, measured.significant_figures)
        noisy = self._marks and measured.has_warnings
        spread = f" (! {measured.iqr / measured.median * 100:.0f}%)" if noisy else ""
        return self._written(value, spread)

    def _written(self, value: float, mark: str) -> str:
        number = f"{value:>{self._width}.{self._decimals}f}"
        return number + mark.rjust(7 if self._marks else 0)


class _Table:
    """The measurements of one label."""

    def __init__(self, results: list[Measurement], style: _Style) -> None:
        self._results, self._style = results, style
        self._unit, scale = select_unit(min(each.median for each in results))
        # Statements keep their order.
        rows = ordered_unique(map(_row_of, results))
        self._rows = sorted(rows, key=lambda row: row[:2])
        self._heads = ordered_unique(each.description for each in results)
        self._cells = {(_row_of(each), each.description): each for each in results}
        self._columns = [
            _Column(self._under(head), scale, style) for head in self._heads
        ]

    def _under(self, head: str | None, threads: int | None = None) -> list[Measurement]:
        return [
            each
            for (row, name), each in self._cells.items()
            if name == head and threads in (None, row.threads)
        ]

    def _across(self, row: _Row) -> list[Measurement | None]:
        return [self._cells.get((row, head)) for head in self._heads]

    def render(self) -> str:
        """Write the table."""
        texts = [["", *self._heads]]
        for row, name in zip(self._rows, self._names(), strict=True):
            times = zip(self._columns, self._across(row), strict=True)
            texts.append([name, *(column.text(each) for column, each in times)])
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  |  ".join(map(str.center, texts[0], widths))]
        width, threads = len(lines[0]), None
        for row, cells in zip(self._rows, texts[1:], strict=True):
            if row.threads != threads:
                threads = row.threads
                lines.append(f"{threads} threads: ".ljust(width, "-"))
            cells = [cells[0].ljust(widths[0]), *map(str.center, cells[1:], widths[1:])]
            lines.append("  |  ".join([cells[0], *self._coloured(row, cells[1:])]))
        title = f" {self._results[0].label or ''} ".center(width - 2, "-")
        unit = f"Times are in {unit_to_english(self._unit)}s ({self._unit})."
        note = self._style.marks and any(each.has_warnings for each in self._results)
        return "\n".join([f"[{title}]", *lines, "", unit, _NOTE if note else ""])

    def _names(self) -> list[str]:
        """Write the rows' names; environments, if several, stand before their first."""
        envs = {row.env for row in self._rows}
        several = len(envs) > 1
        width = 4 + (max(len(env or "") for env in envs) if several else 0)
        names, before = list[str](), None
        for row in self._rows:
            env = f"({row.env})" if several and row[:2] != before else ""
            names.append(f"  {env.ljust(width)}{row.name}")
            before = row[:2]
        return names

    def _coloured(self, row: _Row, cells: list[str]) -> list[str]:
        there, colours = self._across(row), self._style.colours
        if colours is Colorize.NONE:
            return cells
        best = [min(each.median for each in there if each is not None)] * len(cells)
        if colours is Colorize.COLUMNWISE:
            groups = [self._under(head, row.threads) for head in self._heads]
            best = [min([m.median for m in group], default=0.0) for group in groups]
        return [
            cell if each is None else _coloured(cell, each.median, least)
            for cell, each, least in zip(cells, there, best, strict=True)
        ]


_NOTE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"


def _coloured(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        return f"{_BEST}{text}{_PLAIN}"
    if value <= best * 1.1:
        return f"{_GOOD}{text}{_PLAIN}"
    if value >= best * 5:
        return f"{_VERY_BAD}{text}{_PLAIN}"
    return f"{_BAD}{text}{_PLAIN}" if value >= best * 2 else text


class Compare:
    """Measurements as tables: a row for each ``sub_label``, a column for each name.

    >>> from gradtape.utils.benchmark import Compare, Measurement, TaskSpec
    >>> def took(seconds, name):
    ...     task = TaskSpec("f(x)", "", label="f", sub_label="10", description=name)
    ...     return Measurement(1, [seconds], task)
    >>> Compare([took(1e-3, "old"), took(2e-3, "new")]).print()
    [--------- f ----------]
              |  old  |  new
    1 threads: -------------
          10  |  1.0  |  2.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = _Style(trim=False, colours=Colorize.NONE, marks=False)
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements; raise ValueError for anything else."""
        added: list[Any] = list(results)
        for each in added:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
        self._results.extend(added)

    def trim_significant_figures(self) -> None:
        """Write no more digits than were measured."""
        self._style = self._style._replace(trim=True)

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the best and the worst of each column, or of each row."""
        colours = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE
        self._style = self._style._replace(colours=colours)

    def highlight_warnings(self) -> None:
        """Mark the times that vary much."""
        self._style = self._style._replace(marks=True)

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.label, []).append(each)
        return "\n".join(
            _Table(group, self._style).render() for group in groups.values()
        )

    def print(self) -> None:
        """Print the tables."""
        print(self)
