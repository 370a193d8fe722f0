"""What the browser tests share: a Chromium, and pages that are watched for errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    sync_playwright,
)

from tests.browser.lab import Lab, serve
from tools import frontend

# Software drawing and no network of its own: the same on every machine.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000  # for a busy machine; every wait ends as soon as it can


@pytest.fixture(scope="session", autouse=True)
def built(root: Path) -> None:
    """Test the front end as its sources are now."""
    frontend.build(root)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as a user of gradviz has it."""
    with serve(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def plain_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab without the plugin: what the widget brings is all that it has."""
    with serve(tmp_path_factory.mktemp("plain-lab"), plugin=False) as server:
        yield server


@pytest.fixture(scope="session")
def other_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Somebody else's: no kernel can start there, and no notebook is trusted."""
    with serve(tmp_path_factory.mktemp("other-lab"), kernels=False) as server:
        yield server


@dataclass
class Watched:
    """A page with everything that it requested and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self._read(message.type, message.text))

    def _read(self, kind: str, text: str) -> None:
        if kind == "error":
            self.errors.append(text)


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Open watched pages, each in a context of its own; close them after the test."""
    contexts: list[BrowserContext] = []

    def open_page(*, width: int = 1280, height: int = 900, **options: Any) -> Watched:
        size = ViewportSize(width=width, height=height)
        context = browser.new_context(viewport=size, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        return Watched(context.new_page())

    yield open_page
    for context in contexts:
        context.close()
