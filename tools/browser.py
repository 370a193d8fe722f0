"""Find a Chromium for the browser tests, or install one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
MISSING = (
    "The browser tests need Chromium. Install it (Debian: apt-get install chromium), "
    "run `.venv/bin/playwright install chromium`, or name one in GRADVIZ_CHROMIUM."
)


def find() -> str | None:
    """Return the path of a Chromium that starts, or None."""
    named = os.environ.get("GRADVIZ_CHROMIUM")
    candidates = [named] if named else [*_NAMES, _managed_by_playwright()]
    for candidate in candidates:
        path = shutil.which(candidate) if candidate else None
        if path and _starts(path):
            return path
    return None


def _managed_by_playwright() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def _starts(path: str) -> bool:
    """Say whether it answers; on Ubuntu the name may be a note about a snap."""
    try:
        reply = subprocess.run(
            [path, "--version"], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return reply.returncode == 0


def install() -> None:
    """Install Chromium with apt when that is possible, else with Playwright."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Chromium with apt-get", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        quiet = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        _try([*quiet, "update"], environment)
        chromium = [*quiet, "install", "-y", "--no-install-recommends", "chromium"]
        _try(chromium, environment)
        if find():
            return
    print("Installing Chromium with Playwright", flush=True)
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    _try(command, dict(os.environ))


def _try(command: list[str], environment: dict[str, str]) -> None:
    """Run a step whose failure shows later, when there is still no Chromium."""
    try:
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, timeout=600, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)


def main() -> int:
    """Print the path of a Chromium, installing one if need be."""
    path = find()
    if path is None:
        install()
        path = find()
    if path is None:
        print(MISSING, file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
