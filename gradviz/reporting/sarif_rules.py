"""The rules that a SARIF document refers to, with what `gradviz explain` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradviz import ir
from gradviz.diagnosis.manual import documented, explanation, markdown_of, page_of

LEVELS: Mapping[ir.Severity, str] = {
    "error": "error",
    "warning": "warning",
    "info": "note",
}
_PROBLEMS = {"error": "error", "warning": "warning", "note": "recommendation"}


def descriptors(codes: list[str]) -> list[dict[str, Any]]:
    """Return a reportingDescriptor for each code, in their order.

    >>> [rule["name"] for rule in descriptors(["GV306"])]
    ['DetachInForward']
    """
    rules = {rule.code: rule for rule in documented()}
    found: list[dict[str, Any]] = []
    for code in codes:
        rule = rules[code]
        page = page_of(rule)
        level = LEVELS[rule.severity]
        found.append(
            {
                "id": code,
                "name": "".join(word.capitalize() for word in rule.slug.split("-")),
                "shortDescription": {"text": page.title},
                "fullDescription": {"text": _paragraph(page.sections)},
                "help": {
                    "text": explanation(rule),
                    "markdown": "\n".join(markdown_of(page)),
                },
                "defaultConfiguration": {"level": level},
                "properties": {
                    "tags": ["autograd", "gradients"],
                    "problem.severity": _PROBLEMS[level],
                },
            }
        )
    return found


def _paragraph(sections: Mapping[str, str]) -> str:
    parts = (sections.get("What it does", ""), sections.get("Why is this bad", ""))
    return " ".join(" ".join(parts).split())
