"""What the browser tests share: a Chromium, and pages that are watched for errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
ColorScheme = Literal["light", "dark"]
Motion = Literal["no-preference", "reduce"]
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
        self._heard: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self.requests.append(request.url),
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda message: self._read(message.type, message.text),
        }
        listen: Any = self.page.on
        for event, hear in self._heard.items():
            listen(event, hear)

    def _read(self, kind: str, text: str) -> None:
        if kind == "error":
            self.errors.append(text)

    def leave(self) -> None:
        """Watch the page no more."""
        for event, hear in self._heard.items():
            self.page.remove_listener(event, hear)


class Windows:
    """Windows that stay open: one costs more than all that most tests do in theirs.

    Nothing in them but a window's first page outlives a test; our pages store nothing.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[frozenset[Any], list[BrowserContext]] = defaultdict(list)
        self._taken: list[tuple[frozenset[Any], BrowserContext]] = []

    def take(self, **options: Any) -> BrowserContext:
        """Return one with such options in which this test has no page."""
        kind = frozenset(options.items())
        window = self._free[kind].pop() if self._free[kind] else self._open(options)
        self._taken.append((kind, window))
        return window

    def _open(self, options: dict[str, Any]) -> BrowserContext:
        window = self._browser.new_context(**options)
        window.set_default_timeout(PATIENCE_MS)
        window.new_page()
        return window

    def give_back(self) -> None:
        """Undo what the test did to those that it took."""
        while self._taken:
            kind, window = self._taken.pop()
            first, *others = window.pages
            for page in others:
                page.close()
            if first.url != "about:blank":
                first.goto("about:blank")
            window.unroute_all()
            window.set_offline(False)
            window.clear_permissions()
            window.clear_cookies()
            self._free[kind].append(window)


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    """The windows of the Chromium of all tests."""
    return Windows(browser)


@pytest.fixture
def new_page(windows: Windows) -> Iterator[Callable[..., Watched]]:
    """Open watched pages, each new and in a window without others."""

    def open_page(
        *,
        width: int = 1280,
        height: int = 900,
        color_scheme: ColorScheme = "light",
        reduced_motion: Motion = "no-preference",
        **options: Any,
    ) -> Watched:
        page = windows.take(**options).new_page()
        page.set_viewport_size(ViewportSize(width=width, height=height))
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return Watched(page)

    yield open_page
    windows.give_back()


@pytest.fixture
def lab_page(windows: Windows) -> Iterator[Callable[..., Watched]]:
    """Open a watched page that showed JupyterLab before: its code is compiled.

    What it shows is loaded anew. Who adds scripts, listeners or handlers to a page, to
    which they stick, takes a new one.
    """
    opened: list[Watched] = []

    def open_page(*, width: int = 1280, height: int = 900) -> Watched:
        page = windows.take().pages[0]
        page.set_viewport_size(ViewportSize(width=width, height=height))
        opened.append(Watched(page))
        return opened[-1]

    yield open_page
    for watched in opened:
        watched.leave()
    windows.give_back()
