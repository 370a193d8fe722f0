"""Findings for people at a terminal: the line, a mark under the expression, the fix."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import PurePath
from typing import TextIO

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.render._words import clean, columns, counted

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "info": "\x1b[36m"}


def wants_color(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal whose user did not switch colours off."""
    return stream.isatty() and "NO_COLOR" not in os.environ


def report(
    diagnosis: Diagnosis, *, color: bool = False, width: int = 88, limit: int = 5
) -> str:
    """Return the findings as text, most likely cause first; "" where there are none.

    At most ``limit`` findings are written out. Every finding gives the line to blame
    with a mark under the expression, the reason, what to write instead, and the other
    lines that matter.

    >>> site = ir.Site("train.py", 7, 7, 1, 7, "y += 1")
    >>> finding = ir.Finding("GV1", "inplace", "error", "y is saved.", "y = y + 1", 0)
    >>> print(report(Diagnosis((finding,), (site,), ())))
    error GV1 inplace
      train.py:7
        y += 1
        ^^^^^^
      y is saved.
      Fix: y = y + 1
    """
    style = _Style(diagnosis, color, width)
    parts = [style.finding(each) for each in diagnosis.findings[:limit]]
    more = len(diagnosis.findings) - limit
    if more > 0:
        parts.append(f"… {counted(more, 'more finding')}")
    return "\n\n".join(parts)


class _Style:
    """Writes one finding after the other in one width, with or without colours."""

    def __init__(self, diagnosis: Diagnosis, color: bool, width: int) -> None:
        self.sites = diagnosis.sites
        self.sources = diagnosis.sources
        self.color = color
        self.width = width

    def finding(self, finding: ir.Finding) -> str:
        severity = self.paint(finding.severity, _COLOURS[finding.severity])
        name = self.paint(f"{finding.code} {finding.slug}", _BOLD)
        lines = [f"{severity} {name}"]
        if finding.culprit is not None:
            site = self.sites[finding.culprit]
            lines += [f"  {self.place(site)}", *self.excerpt(site)]
        lines += self.wrapped(finding.message)
        if finding.fix:
            lines += self.wrapped(f"Fix: {finding.fix}")
        lines += self.others(finding)
        return "\n".join(lines)

    def others(self, finding: ir.Finding) -> Iterator[str]:
        rows = list(zip(finding.roles, finding.related, strict=True))
        if finding.symptom is not None and finding.symptom != finding.culprit:
            rows.insert(0, ("showed at", finding.symptom))
        for role, row in rows:
            site = self.sites[row]
            text = clean(site.text.strip(), 60)
            place = self.paint(self.place(site), _DIM)
            yield f"  {clean(role, 40)}: {place}  {text}".rstrip()

    def place(self, site: ir.Site) -> str:
        label = None if site.source is None else self.sources[site.source].label
        return f"{label or clean(PurePath(site.file).name or site.file)}:{site.line}"

    def excerpt(self, site: ir.Site) -> Iterator[str]:
        """Yield the first line of a site with its expression marked below."""
        line = site.text.split("\n")[0]
        if not line.strip():
            return
        indent = len(line) - len(line.lstrip())
        shown = clean(line[indent:], self.width - 4)
        yield f"    {shown}"
        if site.column is None or site.end_column is None:
            return
        end = site.end_column - 1 if site.end_line == site.line else len(line)
        before = columns(clean(line[indent : max(site.column - 1, indent)]))
        marked = columns(clean(line[max(site.column - 1, indent) : end]))
        marked = min(marked, columns(shown) - before)
        if marked > 0:
            mark = self.paint("^" * marked, _COLOURS["error"])
            yield f"    {' ' * before}{mark}"

    def wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(
            clean(text),
            self.width,
            initial_indent="  ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )

    def paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self.color else text
