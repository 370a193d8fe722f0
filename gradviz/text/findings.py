"""Findings as plain text: the line, its expression marked, the reason, the fix."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePath
from typing import Protocol

from gradviz import ir
from gradviz.text.places import path_in_package
from gradviz.text.words import clean, columns, counted, without_comments

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_LONGEST = 2_000  # characters of a message or a fix
_MOST_RELATED = 6
_MOST_CHANGED = 8  # lines of a fix's edit
_LONGEST_LINE = 200  # characters of a line that an edit writes
_CHANGES = {"-": "\x1b[31m", "+": "\x1b[32m"}
_COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "info": "\x1b[36m"}


class Found(Protocol):
    """Findings with the tables that they refer to: a diagnosis, or a snapshot."""

    @property
    def findings(self) -> tuple[ir.Finding, ...]: ...
    @property
    def sites(self) -> tuple[ir.Site, ...]: ...
    @property
    def sources(self) -> tuple[ir.Source, ...]: ...


def findings_text(
    found: Found, *, color: bool = False, width: int = 88, limit: int = 5
) -> str:
    """Return the findings as text, most likely cause first; "" where there are none.

    At most ``limit`` findings are written out. Every finding gives the line to blame
    with a mark under the expression, the reason, what to write instead, in the words of
    the program where the fix is an edit, and the other lines that matter.

    >>> site = ir.Site("train.py", 7, 7, 1, 7, "y += 1")
    >>> finding = ir.Finding("GV1", "inplace", "error", "y is saved.", "y = y + 1", 0)
    >>> print(findings_text(ir.Snapshot("demo", findings=(finding,), sites=(site,))))
    error GV1 inplace
      train.py:7
        y += 1
        ^^^^^^
      y is saved.
      Fix: y = y + 1
    """
    style = _Style(found, color, width)
    parts = [style.finding(each) for each in found.findings[:limit]]
    more = len(found.findings) - limit
    if more > 0:
        parts.append(f"… {counted(more, 'more finding')}")
    return "\n\n".join(parts)


def related(finding: ir.Finding) -> list[tuple[str, int]]:
    """Return roles and sites of the lines that matter besides the one to blame."""
    roles = finding.roles[: len(finding.related)]
    rows = list(zip_longest(roles, finding.related, fillvalue="related"))
    pairs = [(str(role), int(row)) for role, row in rows]
    named = (None, finding.culprit, *finding.related)
    if finding.symptom is not None and finding.symptom not in named:
        pairs.insert(0, ("showed at", finding.symptom))
    return pairs


def changes(finding: ir.Finding) -> list[str]:
    """Return the lines that the edit of a fix takes out and puts in.

    What is only put in comes with the line before it, which tells the place.

    >>> diff = "--- a/t.py\\n+++ b/t.py\\n@@ -2 +2 @@\\n-  y += 1\\n+  y = y + 1"
    >>> changes(ir.Finding("GV1", "inplace", "error", "", diff=diff))
    ['- y += 1', '+ y = y + 1']
    """
    given = ["@", *finding.diff.split("\n")[2:]]
    rows = [
        row
        for row, after in zip(given, [*given[1:], ""], strict=True)
        if row.startswith(("-", "+")) or (row[:1] == " " and after[:1] == "+")
        if row[1:].strip()
    ]
    indent = min((len(row) - len(row[1:].lstrip()) for row in rows), default=1)
    lines = [f"{row[0]} {row[indent:]}" for row in rows[:_MOST_CHANGED]]
    more = ["…"] if len(rows) > _MOST_CHANGED else []
    return [clean(line, _LONGEST_LINE) for line in lines] + more


def by_line(found: Found, finding: ir.Finding) -> list[tuple[str, int]]:
    """Return the related lines, each once: "saved here, created here"."""
    rows: dict[tuple[str, int], int] = {}
    roles: dict[int, dict[str, None]] = {}
    for role, row in related(finding):
        site = found.sites[row]
        first = rows.setdefault((site.file, site.line), row)
        roles.setdefault(first, {})[role] = None
    return [(", ".join(names), row) for row, names in roles.items()]


def place_of(site: ir.Site, sources: tuple[ir.Source, ...]) -> str:
    """Return "file:line", or what the notebook calls the cell: "Cell In[3]:2".

    Of an installed package, the path begins with its name: "torchmetrics/metric.py:7".
    """
    label = None if site.source is None else sources[site.source].label
    name = label or path_in_package(site.file) or PurePath(site.file).name or site.file
    return f"{clean(name, 60)}:{site.line}"


class _Style:
    """Writes one finding after the other in one width, with or without colours."""

    def __init__(self, found: Found, color: bool, width: int) -> None:
        self.found = found
        self.sites = found.sites
        self.sources = found.sources
        self.color = color
        self.width = width

    def finding(self, finding: ir.Finding) -> str:
        severity = self.paint(finding.severity, _COLOURS[finding.severity])
        name = clean(f"{finding.code} {finding.slug}", 80)
        lines = [f"{severity} {self.paint(name, _BOLD)}"]
        if finding.culprit is not None:
            site = self.sites[finding.culprit]
            lines += [f"  {self.place(site)}", *self.excerpt(site)]
        lines += self.wrapped(finding.message)
        if finding.fix:
            lines += self.wrapped(f"Fix: {finding.fix}")
            lines += self.changed(finding)
        lines += self.others(finding)
        return "\n".join(lines)

    def changed(self, finding: ir.Finding) -> Iterator[str]:
        for line in changes(finding):
            yield f"    {self.paint(line, _CHANGES.get(line[0], _DIM))}"

    def others(self, finding: ir.Finding) -> Iterator[str]:
        for role, row in by_line(self.found, finding)[:_MOST_RELATED]:
            site = self.sites[row]
            text = clean(without_comments(site.text.strip().split("\n")[0]), 60)
            place = self.paint(self.place(site), _DIM)
            yield f"  {clean(role, 60)}: {place}  {text}".rstrip()

    def place(self, site: ir.Site) -> str:
        return place_of(site, self.sources)

    def excerpt(self, site: ir.Site) -> Iterator[str]:
        """Yield the first line of a site with its expression marked below."""
        line = without_comments(site.text.split("\n")[0])
        if not line.strip():
            return
        indent = len(line) - len(line.lstrip())
        shown = clean(line[indent:], self.width - 4)
        yield f"    {shown}"
        start = indent if site.column is None else max(site.column - 1, indent)
        end = len(line)
        if site.end_column is not None and site.end_line == site.line:
            end = site.end_column - 1
        before = columns(clean(line[indent:start]))
        marked = columns(clean(line[start:end]))
        marked = min(marked, columns(shown) - before)
        if marked > 0:
            mark = self.paint("^" * marked, _COLOURS["error"])
            yield f"    {' ' * before}{mark}"

    def wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(
            clean(text, _LONGEST),
            self.width,
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )

    def paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self.color else text
