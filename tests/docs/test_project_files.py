"""The files that a repository's host reads: how to cite, how to report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TYPES = {"checkboxes", "dropdown", "input", "markdown", "textarea"}


def read(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def test_there_is_a_form_for_each_kind_of_report():
    assert [form.stem for form in FORMS] == ["bug", "config", "feature", "finding"]


@pytest.mark.parametrize(
    "form", [f for f in FORMS if f.stem != "config"], ids=lambda form: form.stem
)
def test_a_form_is_one_that_github_takes(form: Path):
    told = read(form)
    assert set(told) == {"name", "description", "labels", "body"}
    fields = told["body"]
    assert {field["type"] for field in fields} <= TYPES
    identities = [field["id"] for field in fields]
    assert len(set(identities)) == len(identities)
    assert all(field["attributes"]["label"] for field in fields)
    required = [f for f in fields if f.get("validations", {}).get("required")]
    assert required
    assert len(fields) <= 5  # nobody fills in more


def test_the_citation_has_what_the_format_requires():
    told = read(ROOT / "CITATION.cff")
    assert {"authors", "cff-version", "message", "title"} <= set(told)
    assert told["license"] == "MIT"


def test_security_says_how_to_report_and_which_versions_are_looked_after():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "## How to report" in text
    assert "## Which versions" in text
