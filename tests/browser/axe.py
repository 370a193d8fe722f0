"""What axe-core finds wrong in a page, or in a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Locator, Page

_AXE = Path(__file__).parents[2] / "extension/node_modules/axe-core/axe.min.js"
_GRAVE = {"serious", "critical"}
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# What it found right fills most of its report, and would have to come out of the page.
_RUN = """async (part) => {
  const report = await axe.run(part ?? document, { resultTypes: ["violations"] });
  return report.violations;
}"""


def violations(page: Page, part: Locator | None = None) -> list[dict[str, Any]]:
    """Run axe-core; return all that it finds wrong."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    return (part or page).evaluate(_RUN)


def is_grave(violation: dict[str, Any]) -> bool:
    """Say whether one is serious or critical."""
    return violation["impact"] in _GRAVE


def grave_violations(page: Page, part: Locator | None = None) -> list[str]:
    """Name what is grave, landmarks that mislead, what is in none."""
    return [
        f"{violation['id']}: {node['target']}"
        for violation in violations(page, part)
        if is_grave(violation) or violation["id"].startswith(("landmark", "region"))
        for node in violation["nodes"]
    ]


def grave_in_light_and_dark(page: Page) -> list[str]:
    """Name what is grave in both colour schemes, which the page follows as it is."""
    found: list[str] = []
    for scheme in _SCHEMES:
        # No colour on its way to another is judged.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += [f"{scheme}: {each}" for each in grave_violations(page)]
    return found
