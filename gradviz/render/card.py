"""Why a cell failed, as HTML without scripts: for notebooks that do not know gradviz.

Readers that remove styles, as GitHub does, are left with paragraphs and a list.
"""

from __future__ import annotations

import html
import re

from gradviz import ir
from gradviz.text.findings import by_line, changes, place_of
from gradviz.text.words import clean, counted

_SHOWN = 5
_SIGNS = {"error": "✖", "warning": "▲", "info": "●"}
_COLOURS = {"error": "#d0342c", "warning": "#b07400", "info": "#2f6fd0"}
_KNOWN_CODE = re.compile(r"GV\d{3}")
_LONGEST = 2_000  # characters of a message or a fix

# The notebook's own colours, light or dark: only the borders and one word have others.
_BOX = (
    "max-width: 860px; margin: 4px 0; padding: 6px 14px; border: 1px solid #8884; "
    "border-left: 4px solid {colour}; border-radius: 4px; overflow-wrap: anywhere"
)
_P = '<p style="margin: 6px 0">'
_LIST = "margin: 6px 0; padding-left: 20px"
_CODE = "margin: 6px 0; padding: 6px 10px; background: #8881; overflow-x: auto"
_MARK = "background: #ffcf3355; color: inherit; border-bottom: 2px solid #c98a00"


def is_failure(snapshot: ir.Snapshot) -> bool:
    """Tell whether something failed: then the cause is shown before the graph."""
    severities = {finding.severity for finding in snapshot.findings}
    if not snapshot.nodes:  # nothing was recorded, unless gradients were watched
        return bool(severities) and not snapshot.flow
    return "error" in severities


def card(snapshot: ir.Snapshot) -> str:
    """Return the most likely cause as HTML, and the next ones folded below it.

    >>> site = ir.Site("train.py", 7, 7, 1, 7, "y += 1")
    >>> finding = ir.Finding("GV1", "inplace", "error", "`y` is saved.", "", 0)
    >>> html = card(ir.Snapshot("demo", findings=(finding,), sites=(site,)))
    >>> "<code>y</code> is saved." in html, "train.py:7" in html
    (True, True)
    """
    first, *others = [_finding(snapshot, each) for each in snapshot.findings[:_SHOWN]]
    if not others:
        return first
    more = counted(len(snapshot.findings) - 1, "more finding")
    cut = len(snapshot.findings) - _SHOWN
    rest = [*others, f"<p>… and {cut:,} more</p>"] if cut > 0 else others
    folded = "\n".join(rest)
    return f"{first}\n<details><summary>{more}</summary>\n{folded}\n</details>"


def _finding(snapshot: ir.Snapshot, finding: ir.Finding) -> str:
    colour = _COLOURS[finding.severity]
    sign = f"{_SIGNS[finding.severity]} {finding.severity}"
    name = f"<code>{_text(finding.code, 60)}</code> <b>{_text(finding.slug, 80)}</b>"
    lines = [
        f'<div style="{_BOX.format(colour=colour)}">',
        f'{_P}<b style="color: {colour}">{sign}</b> {name}</p>',
        f"{_P}{_sentence(finding.message)}</p>",
    ]
    if finding.culprit is not None:
        site = snapshot.sites[finding.culprit]
        lines.append(f"{_P}{_place(snapshot, site)}</p>{_code(site)}")
    if finding.fix:
        lines.append(f"{_P}<b>Fix</b> {_sentence(finding.fix)}</p>")
        if changed := "\n".join(_text(each) for each in changes(finding)):
            lines.append(f'<pre style="{_CODE}">{changed}</pre>')
    rows = [_related(snapshot, role, row) for role, row in by_line(snapshot, finding)]
    if rows:
        lines.append(f'<ul style="{_LIST}">{"".join(rows)}</ul>')
    if _KNOWN_CODE.fullmatch(finding.code):
        lines.append(
            f"{_P}With an example: <code>gradviz explain {finding.code}</code></p>"
        )
    return "\n".join([*lines, "</div>"])


def _related(snapshot: ir.Snapshot, role: str, row: int) -> str:
    site = snapshot.sites[row]
    line = _text(site.text.strip().split("\n")[0], 120)
    place = _place(snapshot, site)
    return f"<li><i>{_text(role, 60)}</i>: {place} <code>{line}</code></li>"


def _place(snapshot: ir.Snapshot, site: ir.Site) -> str:
    return _text(place_of(site, snapshot.sources))


def _code(site: ir.Site) -> str:
    """Return the lines of a site with its expression marked."""
    lines = site.text.split("\n")
    if not site.text.strip():
        return ""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    cut = min(indents)
    first = cut if site.column is None else max(site.column - 1, cut)
    stop = len(lines[-1]) if site.end_column is None else max(site.end_column - 1, 0)
    shown: list[str] = []
    for number, line in enumerate(lines):
        start = first if number == 0 else len(line) - len(line.lstrip())
        end = stop if number == len(lines) - 1 else len(line)
        before, inside, after = line[cut:start], line[start:end], line[end:]
        mark = f'<mark style="{_MARK}">{_text(inside)}</mark>' if inside else ""
        shown.append(f"{_text(before)}{mark}{_text(after if inside else line[start:])}")
    code = "\n".join(shown)
    return f'<pre style="{_CODE}">{code}</pre>'


def _sentence(text: str) -> str:
    """Return prose in which `code` stands between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text, _LONGEST))


def _text(text: str, width: int = 0) -> str:
    return html.escape(clean(text, width))
