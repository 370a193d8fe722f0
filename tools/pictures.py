"""Take the README's pictures, light and dark: two pages, and a real JupyterLab.

python -m tools.pictures            writes docs/images/*-{light,dark}.png
python -m tools.pictures page       those of the page alone; also: finding, notebook
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

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


SCHEMES = ("light", "dark")
PAGE = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=780)


def main(wanted: list[str]) -> None:
    """Write the pictures that are wanted, or all, and say where they are."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    path_of_chromium = chromium.find()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path_of_chromium, args=FLAGS
        )
        for name in wanted or TAKERS:
            TAKERS[name](browser, Path(folder))
        browser.close()


def _page(browser: Browser, folder: Path) -> None:
    """The step of `gradviz demo`, with a module chosen in the outline."""
    path = folder / "page.html"
    _gradviz(folder, "demo", "--no-open", "-o", path.name)
    for page, image in _shown(browser, path, "page"):
        page.get_by_test_id("outline").get_by_role("treeitem", name="conv").nth(
            1
        ).click()
        page.get_by_test_id("module-card").wait_for()
        _save(page, image)


def _finding(browser: Browser, folder: Path) -> None:
    """The README's quiet program, as `gradviz run` shows it; for phones, too."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(# quiet\.py\n.*?)```", text, re.DOTALL)
    assert found is not None
    script, path = folder / "quiet.py", folder / "quiet.html"
    script.write_text(found[1], encoding="utf-8")  # with the lines that pages name
    _gradviz(folder, "run", "--no-open", "--html", path.name, script.name)
    for page, image in _shown(browser, path, "finding"):
        _save(page, image)
    for page, image in _shown(browser, path, "finding-phone", PHONE, 2):
        _save(page, image)


def _gradviz(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "gradviz", *arguments]
    subprocess.run(command, cwd=folder, check=True, timeout=300)


def _shown(
    browser: Browser,
    path: Path,
    name: str,
    viewport: ViewportSize = PAGE,
    pixels: float = 1,
) -> Iterator[tuple[Page, Path]]:
    for scheme in SCHEMES:
        page = browser.new_page(
            viewport=viewport,
            device_scale_factor=pixels,
            reduced_motion="reduce",
            color_scheme=scheme,
        )
        page.goto(path.as_uri())
        page.get_by_test_id("box-count").get_by_text("shown").wait_for()
        yield page, IMAGES / f"{name}-{scheme}.png"
        page.close()


def _save(page: Page, path: Path) -> None:
    page.screenshot(path=path, animations="disabled")
    print(path.relative_to(ROOT))


def _notebook(browser: Browser, folder: Path) -> None:
    """A cell in JupyterLab that starts with %%gradviz."""
    with serve(folder) as lab:
        for scheme, theme in THEMES.items():
            page = browser.new_page(
                viewport={"width": 1240, "height": 800}, reduced_motion="reduce"
            )
            _take(page, lab, theme, IMAGES / f"notebook-{scheme}.png")
            page.close()


TAKERS: dict[str, Callable[[Browser, Path], None]] = {
    "page": _page,
    "finding": _finding,
    "notebook": _notebook,
}


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
    _save(page, path)


if __name__ == "__main__":
    main(sys.argv[1:])
