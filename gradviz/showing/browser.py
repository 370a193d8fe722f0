"""Opens a page in a window, where there is one to open."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

_IN_THE_TERMINAL = {"elinks", "links", "lynx", "w3m", "www-browser"}


def open_page(page: Path) -> bool:
    """Open the page in a browser; return False if there is no window for it."""
    if sys.platform == "emscripten":  # Python's files are none of the browser's
        return False
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        browser = webbrowser.get()
        if getattr(browser, "name", "") in _IN_THE_TERMINAL:
            return False
        return browser.open(page.resolve().as_uri())
    except (webbrowser.Error, OSError):
        return False
