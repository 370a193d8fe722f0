"""The site's playground in Chromium, with the Pyodide that is installed.

npm's has no NumPy: there another driver shows what was stored. Where ``PYODIDE`` names
a folder with wheels of NumPy and SciPy, programs run on gradtape as for a user.
"""

from __future__ import annotations

import functools
import http.server
import io
import json
import re
import shutil
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

import gradviz
from tests.browser.axe import is_grave, violations
from tests.browser.conftest import Watched
from tests.gradviz import samples
from tools import playground, site

sphinx = pytest.importorskip("sphinx.application")
docutils = pytest.importorskip("sphinx.util.docutils")

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("playground_driver.py")
STARTING_MS = 60_000  # of Python, on a busy machine
SETUP = re.compile(r'(?<=id="setup")>(.*?)<')
SHOWN = "print('shown')\nshown = STORED\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and writes no log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def build(folder: Path) -> None:
    """Build a site of two pages: Sphinx, the template, the scripts."""
    source = folder / "docs"
    source.mkdir()
    shutil.copy(ROOT / "docs" / "playground.md", source)
    index = "# gradviz\n\n```{toctree}\nplayground\n```\n"
    (source / "index.md").write_text(index, encoding="utf-8")
    options = {"suppress_warnings": ["myst", "mystnb"], "html_static_path": []}
    with warnings.catch_warnings(), docutils.docutils_namespace():
        warnings.simplefilter("ignore")  # those of extensions of Sphinx
        app = sphinx.Sphinx(
            source,
            ROOT / "docs",
            folder / "site",
            folder / "doctrees",
            "html",
            confoverrides=options,
            status=None,
            warning=io.StringIO(),
        )
        app.build()


@pytest.fixture(scope="module")
def pyodide() -> playground.Pyodide:
    return playground.pyodide()


@pytest.fixture(scope="module")
def folder_of_site(
    pyodide: playground.Pyodide, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("playground")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "write_generated", lambda folder: None)
        if not pyodide.wheels:
            patch.setattr(playground.Pyodide, "packages", ())
        build(folder)
    if not pyodide.wheels:
        _without_numpy(folder / "site" / playground.FOLDER / "packages.zip", folder)
    return folder / "site"


@pytest.fixture(scope="module")
def address(folder_of_site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=str(folder_of_site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def _without_numpy(archive: Path, folder: Path) -> None:
    stored = gradviz.export_json(samples.overwritten(), folder / "stored.json")
    drawn = gradviz.export_html(samples.overwritten(), folder / "stored.html")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        playground.pack(file, ROOT / "gradviz", skip=("labextension",))
        file.write(DRIVER, "in_browser.py")
        file.write(stored, "stored.json")
        file.write(drawn, "stored.html")


@pytest.fixture
def opened(new_page: Callable[..., Watched], address: str) -> Callable[..., Watched]:
    def open_page(program: str, **options: object) -> Watched:
        watched = new_page(**options)
        watched.page.goto(f"{address}/{playground.link(program)}")
        editor(watched.page).wait_for()
        return watched

    return open_page


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Program")


def status(page: Page, text: str) -> None:
    """Wait until it says so; where Python failed instead, show what it said."""
    failed = "Python could not go on"
    either = re.compile(f"{re.escape(text)}|{failed}")
    said = page.get_by_role("status")
    expect(said).to_contain_text(either, timeout=STARTING_MS)
    output = page.locator("#output").inner_text()
    assert text in failed or failed not in said.inner_text(), output


def write(page: Page, program: str) -> None:
    """Put a program into the place of the one in the editor."""
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(program)


def test_nothing_is_fetched_before_somebody_asks(opened: Callable[..., Watched]):
    watched = opened(SHOWN)
    page = watched.page
    button = page.get_by_role("button", name="Start Python and run (about")
    expect(button).to_be_visible()
    expect(page.get_by_text("What is fetched:")).to_be_visible()
    expect(editor(page)).to_contain_text("shown = STORED")
    assert [each for each in watched.requests if "pyodide" in each] == []
    assert [each["id"] for each in violations(page) if is_grave(each)] == []


@pytest.mark.slow
def test_a_program_runs_fails_is_stopped_and_shared(
    opened: Callable[..., Watched],
    pyodide: playground.Pyodide,
    address: str,
):
    """One story, for Python starts but twice."""
    real = bool(pyodide.wheels)
    watched = opened(playground.PROGRAM if real else SHOWN)
    page = watched.page
    editor(page).press("Control+Enter")
    status(page, "Loading")
    status(page, "Ran in")

    log = page.get_by_role("log", name="Output")
    expect(log).to_contain_text("loss " if real else "shown")
    code, line = ("GV306", 9) if real else ("GV101", 6)
    expect(page.get_by_role("link", name=code)).to_have_attribute(
        "href", f"findings/{code}.html"
    )
    page.get_by_role("button", name=f"line {line}", exact=True).click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("tab", name="Findings")).to_be_visible()
    if real:
        page.get_by_role("button", name="Change it so").click()
        page.keyboard.press("Control+Enter")
        status(page, "no findings")

    write(page, "print(1 + )")
    page.get_by_role("button", name="Run").click()
    status(page, "Ended with status 1")
    expect(log).to_contain_text("SyntaxError")
    expect(page.get_by_text("There is no graph to show.")).to_be_visible()

    write(page, "while True: print('again')")
    page.keyboard.press("Control+Enter")
    expect(log).to_contain_text("the rest is not shown", timeout=STARTING_MS)
    page.get_by_role("button", name="Stop").click()
    status(page, "Stopped")

    write(page, "print('großes', 'π')")
    page.keyboard.press("Control+Enter")
    status(page, "Ran in")
    expect(log).to_contain_text("großes π")

    page.get_by_role("button", name="Copy link").click()
    status(page, "address")
    assert page.url.startswith(f"{address}/playground.html#p=")
    again = opened(SHOWN).page
    again.goto(page.url)
    expect(editor(again)).to_contain_text("großes")
    assert watched.errors == []
    assert [each for each in watched.requests if _is_foreign(each, address)] == []


def _is_foreign(url: str, address: str) -> bool:
    return not url.startswith((address, "blob:", "data:", "about:"))


def test_an_address_that_is_damaged_says_so(opened: Callable[..., Watched]):
    page = opened("x").page
    page.evaluate("location.hash = '#p=%25'")
    status(page, "The address holds no program that can be read.")


def test_opened_from_a_file_it_says_that_it_is_to_be_served(
    new_page: Callable[..., Watched], folder_of_site: Path
):
    page = new_page().page
    page.goto((folder_of_site / "playground.html").as_uri())
    page.get_by_role("button", name="Run").click()
    status(page, "A page opened from a file cannot load Python")


def test_it_fits_on_a_phone(opened: Callable[..., Watched]):
    page = opened(playground.PROGRAM, width=390, height=844).page
    widest = page.evaluate("document.documentElement.scrollWidth")
    assert widest == 390
    run = page.get_by_role("button", name="Start Python").bounding_box()
    assert run is not None
    assert run["y"] + run["height"] < 140


def test_packages_come_from_where_the_page_says(
    opened: Callable[..., Watched], pyodide: playground.Pyodide, address: str
):
    """And what cannot be fetched is told: nothing outside of this machine answers."""
    if pyodide.wheels:
        pytest.skip("these packages lie beside Pyodide")
    watched = opened(SHOWN)
    page = watched.page
    wanted: list[str] = []

    def elsewhere(route: Route) -> None:
        wanted.append(route.request.url)
        route.abort()

    def with_numpy(route: Route) -> None:
        text = route.fetch().text()
        setup = json.loads(SETUP.search(text)[1])  # type: ignore[index]
        setup |= {"packages": ["numpy"], "wheels": "https://elsewhere.example/full/"}
        route.fulfill(body=SETUP.sub(f">{json.dumps(setup)}<", text))

    page.context.route("https://elsewhere.example/**", elsewhere)
    page.route("**/playground.html", with_numpy)
    page.goto(f"{address}/playground.html")
    page.get_by_role("button", name="Start Python").click()
    status(page, "Python could not go on")
    log = page.get_by_role("log", name="Output")
    expect(log).to_contain_text("error occurred while loading numpy")
    assert [re.sub(r"-\d.*", "", each) for each in wanted] == [
        "https://elsewhere.example/full/numpy"
    ]
