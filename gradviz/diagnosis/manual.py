"""The documentation of rules, read from the docstrings of their files.

What a comparison of ranks names is explained too: :mod:`gradviz.diagnosis.rank_causes`.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
import textwrap
from dataclasses import dataclass
from typing import get_args

from gradviz.diagnosis import rules
from gradviz.diagnosis.rank_causes import CAUSES, Cause
from gradviz.diagnosis.rule import Rule
from gradviz.diagnosis.rules import all_rules
from gradviz.errors import GradvizError
from gradviz.ir import Severity

SECTIONS = (
    "What it does",
    "Why is this bad",
    "Example",
    "Use instead",
    "When it stays quiet",
    "References",
)
_CODE = ("Example", "Use instead")
_WIDTH = 84  # as docstrings have it
_GRAVEST_FIRST: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Page:
    """What a rule's file says about it."""

    rule: Rule | Cause
    title: str  # one sentence
    sections: dict[str, str]  # by the names of SECTIONS; code is dedented


def documented() -> list[Rule | Cause]:
    """Return everything that can be explained, by code."""
    return sorted([*all_rules(), *CAUSES], key=lambda each: each.code)


def page_of(rule: Rule | Cause) -> Page:
    """Read the documentation of a rule, or of what a comparison of ranks names.

    >>> page_of(all_rules()[0]).rule.code
    'GV101'
    """
    text = rule.text if isinstance(rule, Cause) else _docstring(rule)
    head, _, rest = text.partition("\n\n")
    title = re.sub(rf"^{rule.code}( {rule.slug})?:\s+", "", " ".join(head.split()))
    heading = re.compile(rf"^({'|'.join(SECTIONS)})\??:?$", re.MULTILINE)
    parts = heading.split(rest)[1:]
    found = {
        name: _body(name, body)
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }
    if title.rstrip(".") == f"{rule.code} {rule.slug}":  # no sentence of its own
        title = (
            " ".join(found["What it does"].split()).partition(". ")[0].rstrip(".") + "."
        )
    return Page(rule, _plain(title[:1].upper() + title[1:]), found)


def _docstring(rule: Rule) -> str:
    name = f"{rules.__name__}.{rule.code.lower()}_{rule.slug.replace('-', '_')}"
    return sys.modules[name].__doc__ or ""


def _body(name: str, text: str) -> str:
    text = textwrap.dedent(text.strip("\n")).strip()
    if name not in _CODE:
        return _plain(text)
    code = textwrap.dedent(text.removeprefix("::").strip("\n")).strip()
    return code if is_code(code) else _plain(code)


def _plain(text: str) -> str:
    """Quote code as messages do: reStructuredText is for docstrings."""
    return text.replace("``", "`")


def is_code(text: str) -> bool:
    """Tell whether an example is a program, and not a sentence about one."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def find_rule(name: str) -> Rule | Cause:
    """Return the rule with this code, its digits or slug; else raise GradvizError."""
    wanted = f"gv{name}" if name.isdigit() else name.lower()
    for rule in documented():
        if wanted in (rule.code.lower(), rule.slug):
            return rule
    slugs = [rule.slug for rule in documented()]
    letters = wanted.replace("-", "")
    alike = [slug for slug in slugs if letters and letters in slug.replace("-", "")]
    alike = alike or difflib.get_close_matches(wanted, slugs)
    meant = f" (is it {' or '.join(alike[:3])}?)" if alike else ""
    raise GradvizError(
        f"there is no rule {name!r}{meant}; `gradviz explain` without a name lists "
        "them all."
    )


def explanation(rule: Rule | Cause) -> str:
    """Return the documentation of a rule for a terminal."""
    page = page_of(rule)
    lines = [f"{rule.code} {rule.slug} ({rule.severity})", "", page.title]
    for name, text in page.sections.items():
        lines += ["", name, textwrap.indent(text, "    ")]
    if isinstance(rule, Rule):
        told = textwrap.fill(_severity(rule), _WIDTH)
        lines += ["", "Severity", textwrap.indent(told, "    ")]
    return "\n".join(lines)


def _severity(rule: Rule) -> str:
    """Say what a run may show instead of the rule's own severity."""
    usual, worst = rule.severity, rule.worst
    others: list[str] = []
    if worst == "error":
        others.append("error where little doubt is left or it ended the run")
    elif worst is not None:
        others.append(f"{worst} where little doubt is left")
    if usual != "error" != worst:
        others.append("error where it ended the run")
    if usual != "info":
        others.append("less where it did no harm or may be meant")
    return f"{usual}; {', '.join(others)}."


def shown_severities(rule: Rule, *, ended: bool) -> set[Severity]:
    """Return the severities that a finding of the rule may have.

    ``ended`` says whether it is why the run ended with an exception.

    >>> rule = find_rule("GV306")
    >>> isinstance(rule, Rule) and sorted(shown_severities(rule, ended=False))
    ['info', 'warning']
    """
    if ended:
        return {"error"}
    gravest = _GRAVEST_FIRST.index(rule.worst or rule.severity)
    return set(_GRAVEST_FIRST[gravest:])


def listing() -> str:
    """Return one line for every rule."""
    width = max(len(rule.slug) for rule in documented())
    return "\n".join(
        f"{rule.code}  {rule.slug:{width}}  {page_of(rule).title}"
        for rule in documented()
    )


def markdown() -> str:
    """Return the documentation of all rules as one page."""
    lines = [
        "# What gradviz finds",
        "",
        "Every cause that `gradviz run`, `gradviz.record()`, notebooks and",
        "`gradviz merge` name.",
        "`gradviz explain CODE` shows one of them in the terminal.",
        "",
        "The severity is the usual one: a run says error of what ended it, and less of",
        "what did no harm or may be meant.",
        "",
        "| code | cause | severity |",
        "|---|---|---|",
    ]
    pages = [page_of(rule) for rule in documented()]
    for page in pages:
        rule = page.rule
        link = f"[{rule.slug}](#{rule.code.lower()}-{rule.slug})"
        lines.append(f"| {rule.code} | {link} | {rule.severity} |")
    for page in pages:
        head = f"## {page.rule.code} {page.rule.slug}"
        lines += ["", head, "", *markdown_of(page)]
    return "\n".join(lines) + "\n"


def markdown_of(page: Page) -> list[str]:
    """Return the lines of one rule's documentation, below its heading."""
    lines = [page.title]
    for name, text in page.sections.items():
        lines += ["", f"**{name}**", ""]
        lines.append(f"```python\n{text}\n```" if is_code(text) else text)
    return lines
