"""Take the README's notebook pictures: a real JupyterLab, light and dark.

python -m tools.pictures            writes docs/images/notebook-{light,dark}.png
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS
from tests.browser.lab import Lab, command, run_all, serve
from tools import browser as chromium

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
SETUP = """\
import gradtape as torch
from gradtape import nn

%load_ext gradviz

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
inputs, targets = torch.randn(16, 4), torch.randn(16, 1)"""
STEP = """\
%%gradviz
loss = ((model(inputs) - targets) ** 2).mean()
loss.backward()
loss"""


def main() -> None:
    """Write both pictures and say where."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    path_of_chromium = chromium.find()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path_of_chromium, args=FLAGS
        )
        with serve(Path(folder)) as lab:
            for scheme, theme in THEMES.items():
                page = browser.new_page(
                    viewport={"width": 1240, "height": 800}, reduced_motion="reduce"
                )
                path = IMAGES / f"notebook-{scheme}.png"
                _take(page, lab, theme, path)
                page.close()
                print(path.relative_to(ROOT))
        browser.close()


def _take(page: Page, lab: Lab, theme: str, path: Path) -> None:
    lab.write("step.ipynb", SETUP, STEP)
    lab.open(page, "step.ipynb")
    command(page, "apputils:change-theme", {"theme": theme})
    command(page, "application:toggle-left-area")
    run_all(page)
    page.get_by_test_id("node-count").wait_for()
    search = page.get_by_test_id("search")
    search.fill("sub")
    search.press("Enter")
    page.get_by_test_id("summary").wait_for()
    search.fill("")
    page.locator(".jp-Notebook .jp-Cell").last.evaluate("cell => cell.scrollIntoView()")
    page.screenshot(path=path, animations="disabled")


if __name__ == "__main__":
    main()
