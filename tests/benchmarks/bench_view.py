"""Time the view on models and synthetic graphs, and say which bounds it keeps.

    python -m tests.benchmarks.bench_view [GRAPH ...]

Records the graphs of :mod:`tests.benchmarks.view_graphs`, lays them out under Node
beside dagre and dot, opens their pages in Chromium, and prints a table of bounds and
measured values. Needs the built front end, PyTorch, Node, Chromium, and dot for its
column. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

import gradviz
from tests.benchmarks.view_graphs import GRAPHS
from tests.browser.conftest import FLAGS

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / "gradviz" / "render" / "static" / "gradviz.js"
CHROMIUM = "/usr/bin/chromium"
OPENINGS = 3  # cold pages per graph; the median counts
KILO = 1000


class Bound(NamedTuple):
    """What was asked, what was found."""

    what: str
    most: float
    found: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.found <= self.most


# graph, view of bench_layout.mjs: most milliseconds
LAYOUT = {
    ("synthetic10k", "all open"): 100,
    ("synthetic100k", "all open"): 600,
    ("lstm200", "joint"): 250,
}
INTERACTIVE = {
    "mlp": 400,
    "gpt12": 600,
    "synthetic10k": 1000,
    "synthetic100k": 3000,
}
FILES = {"synthetic10k": 600, "synthetic100k": 3000}
FIRST_BOXES = 40
FRAME_MILLIS = 17
SEARCH_MILLIS = 50
PAINT_MILLIS = 300
BUNDLE_KILOBYTES = 200
CROSSINGS = 1.2  # times dot's, or dagre's where dot is not done

# Notes the script time of every frame, and when the first picture stood.
WATCH = """
window.frames_ = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => ask((now) => {
  const begin = performance.now();
  call(now);
  window.frames_.push(performance.now() - begin);
});
"""

MARKS = """() => Object.fromEntries(performance.getEntriesByType("mark")
  .filter(({ name }) => name.startsWith("gradviz:"))
  .reverse().map(({ name, startTime }) => [name, startTime]))"""

SEARCH = """(text) => new Promise((done) => {
  const root = document.querySelector("#gradviz > div").shadowRoot;
  const input = root.querySelector("[data-testid=search]");
  const count = root.querySelector("[data-testid=search-count]");
  const begin = performance.now();
  new MutationObserver((_, observer) => {
    observer.disconnect();
    done(performance.now() - begin);
  }).observe(count, { childList: true, characterData: true, subtree: true });
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def layouts(paths: list[Path]) -> list[dict[str, Any]]:
    """Run the layout under Node beside its rivals; one row per graph and view."""
    script = HERE / "bench_layout.mjs"
    command = ["node", str(script), "--json", "--rivals", *map(str, paths)]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in output.stdout.splitlines()]


def layout_bounds(rows: list[dict[str, Any]]) -> Iterator[Bound]:
    """Compare the layouts with their bounds and with dot's crossings."""
    for row in rows:
        place = f"{row['name']}, {row['view']}"
        most = LAYOUT.get((row["name"], row["view"]))
        if most is not None:
            yield Bound(f"layout of {place}", most, row["millis"], "ms")
        if row["view"] == "first view":
            yield Bound(f"{place}", FIRST_BOXES, row["boxes"], "boxes")
        rival = row.get("dot") or row.get("dagre")  # dagre where dot is not done
        if rival is not None:
            most = CROSSINGS * rival["crossings"]
            yield Bound(f"crossings of {place}", most, row["crossings"], "")


def open_page(browser: Browser, path: Path) -> Page:
    """Open a page cold; answer once its graph is drawn."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.add_init_script(WATCH)
    page.goto(path.as_uri())
    page.wait_for_function(
        "() => performance.getEntriesByName('gradviz:painted').length > 0"
    )
    return page


def page_bounds(browser: Browser, name: str, path: Path) -> Iterator[Bound]:
    """Time a page from cold to its first picture, its frames and its search."""
    marks: list[dict[str, float]] = []
    for _ in range(OPENINGS):
        page = open_page(browser, path)
        marks.append(page.evaluate(MARKS))
        page.context.close()
    painted = statistics.median(mark["gradviz:painted"] for mark in marks)
    if name in INTERACTIVE:
        yield Bound(f"page of {name}, interactive", INTERACTIVE[name], painted, "ms")
    if name == "synthetic100k":
        paint = statistics.median(
            mark["gradviz:painted"] - mark["gradviz:snapshot"] for mark in marks
        )
        yield Bound(f"first paint of {name}, collapsed", PAINT_MILLIS, paint, "ms")
    if name in FILES:
        size = path.stat().st_size / KILO
        yield Bound(f"page of {name}, size", FILES[name], size, "kB")
        yield from moving_bounds(open_page(browser, path), name)


def moving_bounds(page: Page, name: str) -> Iterator[Bound]:
    """Pan, zoom and search a large graph: 10,000 nodes open, 100,000 closed."""
    page.get_by_test_id("box-count").wait_for()
    if name == "synthetic10k":
        before = page.get_by_test_id("box-count").inner_text()
        page.get_by_role("button", name="Expand all scopes").click()
        page.wait_for_function(
            """(before) => document.querySelector("#gradviz > div").shadowRoot
              .querySelector("[data-testid=box-count]").textContent !== before""",
            arg=before,
        )
    for what, move in (("pan", pan), ("zoom", zoom)):
        page.evaluate("() => { window.frames_.length = 0; }")
        move(page)
        frames = sorted(page.evaluate("() => window.frames_"))
        worst = frames[int(0.95 * (len(frames) - 1))]
        what = f"{what} of {name}, script of a frame, 95th of 100"
        yield Bound(what, FRAME_MILLIS, worst, "ms")
    found = [page.evaluate(SEARCH, text) for text in ("relu", "add", "linear")]
    what = f"search in {name}"
    yield Bound(what, SEARCH_MILLIS, statistics.median(found), "ms")
    page.context.close()


def pan(page: Page) -> None:
    page.mouse.move(300, 500)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(300 + 3 * step, 500 - 5 * step)
    page.mouse.up()


def zoom(page: Page) -> None:
    page.mouse.move(300, 500)
    for step in range(60):
        page.mouse.wheel(0, 120 if step < 40 else -120)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")


def main() -> int:
    """Print the layouts, then the table; return 1 if a bound is missed."""
    chosen = sys.argv[1:] or list(GRAPHS)
    bundle = len(gzip.compress(BUNDLE.read_bytes())) / KILO
    bounds = [Bound("renderer bundle, gzipped", BUNDLE_KILOBYTES, bundle, "kB")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages: dict[str, Path] = {}
        data: list[Path] = []
        for name in chosen:
            snapshot = GRAPHS[name]()
            data.append(gradviz.export_json(snapshot, Path(folder, f"{name}.json")))
            pages[name] = gradviz.export_html(snapshot, Path(folder, f"{name}.html"))
        rows = layouts(data)
        for row in rows:
            print(sentence(row))
        bounds += layout_bounds(rows)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, path in pages.items():
            bounds += page_bounds(browser, name, path)
        browser.close()
    print(f"\n{'':58}{'bound':>9}{'measured':>10}")
    for what, most, found, unit in bounds:
        missed = "" if found <= most else "  missed"
        print(f"{what:58}{most:>9.0f}{found:>10.1f} {unit}{missed}")
    return int(not all(bound.kept for bound in bounds))


def sentence(row: dict[str, Any]) -> str:
    """One line on one layout, with the rivals that were run on it."""
    text = f"{row['name']:14}{row['view']:11}{row['boxes']:>7} boxes"
    text += f"{row['millis']:>8.1f} ms"
    if row["crossings"] is not None:
        text += f", {row['crossings']} crossings"
    for rival in ("dagre", "dot"):
        if rival not in row:
            continue
        found = row[rival]
        text += f"; {rival} "
        text += (
            "not done in time"
            if found is None
            else f"{found['millis']:.0f} ms, {found['crossings']} crossings"
        )
    return text


if __name__ == "__main__":
    raise SystemExit(main())
