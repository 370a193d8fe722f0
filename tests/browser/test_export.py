"""Files that the view writes: each is read back by the program that it is for."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.gradviz import samples

expect.set_options(timeout=PATIENCE_MS)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def show(new_page: Callable[..., Watched], tmp_path: Path) -> Callable[..., Watched]:
    """Export a snapshot and open its page offline, once its graph is drawn."""

    def open_page(snapshot: ir.Snapshot) -> Watched:
        path = gradviz.export_html(snapshot, tmp_path / "shown.html")
        watched = new_page()
        watched.page.context.set_offline(True)
        watched.page.goto(path.as_uri())
        expect(watched.page.get_by_test_id("box-count")).to_be_visible()
        return watched

    return open_page


def save(page: Page, title: str, folder: Path) -> Path:
    """Choose an entry of the export menu with the keyboard; return the file."""
    page.get_by_role("button", name="Export").focus()
    page.keyboard.press("Enter")
    entry = page.get_by_role("menuitem", name=title)
    expect(page.get_by_role("menuitem").first).to_be_focused()
    for _ in range(page.get_by_role("menuitem").count()):
        if entry.evaluate("element => element.matches(':focus')"):
            break
        page.keyboard.press("ArrowDown")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    name = download.value.suggested_filename
    expect(page.get_by_test_id("notice")).to_have_text(f"Saved {name}.")
    path = folder / name
    download.value.save_as(path)
    return path


def test_the_svg_holds_what_is_drawn_and_no_markup_of_the_users(
    show: Callable[..., Watched], tmp_path: Path
):
    watched = show(samples.hostile())
    path = save(watched.page, "Picture (SVG)", tmp_path)
    tree = ElementTree.parse(path)
    drawn = watched.page.get_by_test_id("box-count").inner_text()
    words = {text.text for text in tree.iter(f"{SVG}text")}
    assert any("<script>" in (word or "") for word in words)
    kinds = {element.tag.removeprefix(SVG) for element in tree.iter()}
    assert kinds <= {"svg", "title", "g", "rect", "path", "text", "clipPath"}
    assert int(drawn.split()[0]) > 1
    assert watched.errors == []


def test_the_png_is_a_picture(show: Callable[..., Watched], tmp_path: Path):
    watched = show(samples.cnn())
    data = save(watched.page, "Picture (PNG)", tmp_path).read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width > 400
    assert height > 1000
    assert watched.errors == []


def test_the_dot_file_holds_the_boxes_that_are_drawn(
    show: Callable[..., Watched], tmp_path: Path
):
    watched = show(samples.cnn())
    boxes = watched.page.get_by_test_id("box-count").inner_text().split()[0]
    path = save(watched.page, "For Graphviz (DOT)", tmp_path)
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^  n\d+ \[", text, re.MULTILINE)) == int(boxes)
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", "/dev/null", path], check=True)
    assert watched.errors == []


@pytest.mark.parametrize("sample", ["cnn", "hostile"])
def test_the_recording_and_the_page_hold_the_same_snapshot(
    show: Callable[..., Watched], tmp_path: Path, sample: str
):
    snapshot = samples.SAMPLES[sample]()
    watched = show(snapshot)
    recording = save(watched.page, "Recording (JSON)", tmp_path)
    page = save(watched.page, "Web page (HTML)", tmp_path)
    reread = gradviz.export_json(snapshot, tmp_path / "again.gradviz.json").read_bytes()
    for path in (recording, page):
        again = gradviz.export_json(gradviz.load(path), tmp_path / "again.json")
        assert again.read_bytes() == reread
    watched.page.goto(page.as_uri())
    count = f"{len(snapshot.nodes)} nodes"
    expect(watched.page.get_by_test_id("node-count")).to_have_text(count)
    assert watched.errors == []


def size_of(path: Path) -> tuple[float, float]:
    root = ElementTree.parse(path).getroot()
    return float(root.attrib["width"]), float(root.attrib["height"])


def test_a_picture_of_what_is_seen_has_its_size_and_its_zoom(
    show: Callable[..., Watched], tmp_path: Path
):
    watched = show(samples.cnn())
    page = watched.page
    whole = save(page, "Picture (SVG)", tmp_path)
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile("look="))
    seen = save(page, "What is seen (SVG)", tmp_path)
    canvas = page.get_by_test_id("graph").bounding_box()
    assert canvas is not None
    assert size_of(seen) == pytest.approx((canvas["width"], canvas["height"]), abs=2)
    texts = [len(ElementTree.parse(p).findall(f".//{SVG}text")) for p in (whole, seen)]
    assert 0 < texts[1] < texts[0]
    data = save(page, "What is seen (PNG)", tmp_path).read_bytes()
    width = int.from_bytes(data[16:20])
    assert width == pytest.approx(2 * canvas["width"], abs=4)
    assert watched.errors == []


def test_a_saved_page_opens_on_what_was_seen(
    show: Callable[..., Watched], new_page: Callable[..., Watched], tmp_path: Path
):
    watched = show(samples.cnn())
    page = watched.page
    page.get_by_test_id("search").fill("relu")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_test_id("color-by").select_option("dtype")
    heading = page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(heading).to_contain_text("elu")
    expect(page).to_have_url(re.compile(r"look=1\.1"))  # the address follows the camera
    kept = page.url.partition("#")[2]
    saved = save(page, "Web page (HTML)", tmp_path)

    other = new_page()
    other.page.context.set_offline(True)
    other.page.goto(saved.as_uri())
    again = other.page.get_by_test_id("inspector").get_by_role("heading", level=2)
    expect(again).to_have_text(heading.inner_text())
    expect(other.page.get_by_test_id("color-by")).to_have_value("dtype")
    expect(other.page).to_have_url(f"{saved.as_uri()}#{kept}")
    assert watched.errors == other.errors == []
