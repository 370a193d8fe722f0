"""What the picture says of a graph, read off the picture that the view exports."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

import gradviz
from gradviz import ir
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_export import SVG, save
from tests.browser.test_page import facts, heading, open_offline, search

expect.set_options(timeout=PATIENCE_MS)


def halve(grad: Any) -> Any:
    return grad / 2


def recorded(torch: Any) -> ir.Snapshot:
    """Writes into parts, several outputs, a cut, a hook, and a derivative of one."""
    torch.manual_seed(0)
    w = torch.ones(4, 3, requires_grad=True)
    with gradviz.record(title="drawn") as recorder:
        x = w * 2
        x[0].mul_(3)
        x[1:3] = x[1:3].exp()
        x.t()[1].add_(1)
        a, b = x.split(2)
        y = a * b
        y.register_hook(halve)
        (slope,) = torch.autograd.grad(y.sum(), w, create_graph=True)
        ((slope**2).sum() + (x.detach() * w).sum()).backward()
    return recorder.snapshot()


def model(torch: Any, steps: int = 1) -> ir.Snapshot:
    """A loop and three equal blocks, in each of some training steps."""
    nn = torch.nn
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)]
    net, cell = nn.Sequential(*blocks), nn.RNNCell(4, 4)
    with gradviz.record(title="model") as recorder:
        for _ in range(steps):
            h = torch.zeros(2, 4)
            for _ in range(8):
                h = cell(torch.ones(2, 4), h)
            net(h).sum().backward()
    return recorder.snapshot()


@pytest.fixture(params=["gradtape", "torch"])
def engine(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.fixture
def opened(new_page: Callable[..., Watched], tmp_path: Path) -> Iterator[Any]:
    """Open a snapshot; the page must not complain until the test is over."""
    pages: list[Watched] = []

    def show(snapshot: ir.Snapshot) -> Page:
        pages.append(open_offline(snapshot, new_page, tmp_path))
        return pages[-1].page

    yield show
    assert [error for watched in pages for error in watched.errors] == []


def picture(page: Page, folder: Path) -> Any:
    return ElementTree.parse(save(page, "Picture (SVG)", folder))


def words(drawn: Any) -> list[str]:
    return ["".join(text.itertext()) for text in drawn.iter(f"{SVG}text")]


def test_boxes_say_what_was_written_cut_hooked_and_derived(
    engine: Any, opened: Any, tmp_path: Path
):
    said = words(picture(opened(recorded(engine)), tmp_path))
    writes = [text for text in said if re.fullmatch(r"\w+ wrote .*", text)]
    ops = ("mul_", "__setitem__", "add_")
    parts = ("[0]", "[1:3]", "[:, 1]")
    wanted = [f"{op} wrote {part} of 4×3" for op, part in zip(ops, parts, strict=True)]
    assert writes == wanted
    assert said.count("CopySlices") >= 3
    assert {"in place", "hook", "1st derivative", "no gradient", "detach"} <= set(said)
    # Of the two results of split, each edge says which one it carries.
    assert [text for text in said if re.fullmatch(r"out [01] · 2×3", text)] != []


def test_what_repeats_is_one_box_with_its_parameters_beside_the_turns(
    engine: Any, opened: Any, tmp_path: Path
):
    page = opened(model(engine))
    said = words(picture(page, tmp_path))
    assert {"cell  t = 0…7", "Sequential ×3"} <= set(said)
    search(page, "cell.weight_hh")
    expect(heading(page)).to_contain_text("AccumulateGrad")
    around = page.get_by_test_id("breadcrumb").get_by_role("listitem")
    loop = "cell  t = 0…7"
    expect(around).to_have_text(["model", loop, "parameters", "cell.weight_hh"])


def test_turns_count_from_0_in_every_step_and_calls_have_the_names_of_variables(
    engine: Any, opened: Any, tmp_path: Path
):
    page = opened(model(engine, steps=2))
    for _ in range(2):
        said = words(picture(page, tmp_path))
        assert said.count("cell  t = 0…7") == 1
        assert "net" in said
        assert "net#2" not in said
        page.keyboard.press("[")


def test_edges_are_as_thick_as_the_gradient_is_large(
    engine: Any, opened: Any, tmp_path: Path
):
    small = engine.ones(2, requires_grad=True)
    with gradviz.record(title="thick") as recorder:
        ((small * 1.0).exp() + (small * 1.0).exp() * 1e4).sum().backward()
    drawn = picture(opened(recorder.snapshot()), tmp_path)
    widths = {
        float(path.get("stroke-width", 0))
        for path in drawn.iter(f"{SVG}path")
        if path.get("fill") in (None, "none")
    }
    assert max(widths) > 2 * min(widths - {0.0})


def test_nan_is_named_and_in_the_legend(engine: Any, opened: Any, tmp_path: Path):
    x = engine.full((3,), -1.0, requires_grad=True)
    with gradviz.record(title="nan", findings=False) as recorder:
        (x.log() * 2).sum().backward()
    page = opened(recorder.snapshot())
    expect(page.get_by_test_id("legend")).to_contain_text("NaN or Inf")
    assert words(picture(page, tmp_path)).count("NaN") == 3  # log, mul, sum


def test_the_inspector_says_what_was_written_and_where_a_hook_is_defined(
    engine: Any, opened: Any
):
    page = opened(recorded(engine))
    search(page, "CopySlices")
    expect(page.get_by_test_id("written")).to_have_text("Wrote [0] of (4, 3).")
    assert facts(page, "summary")["Shape"] == "(4, 3)"
    assert facts(page, "summary")["Version"] == "1"
    page.get_by_test_id("search").fill("has:hook")
    page.keyboard.press("Enter")
    expect(heading(page)).to_contain_text("MulBackward0")
    place = f"test_drawn.py:{halve.__code__.co_firstlineno}"
    hooks = page.get_by_test_id("section-hooks")
    expect(hooks).to_contain_text(f"halve{place}")
    hooks.get_by_role("button", name=place).click()
    marked = page.get_by_test_id("source").first.locator(".inside")
    expect(marked).to_contain_text("def halve(grad: Any) -> Any:")


QUERIES = {
    "exp": 1,
    "copyslices": 3,
    "4x3 is:accumulate": 1,
    "has:hook": 1,
    "test_drawn.py:{line}": 4,
    "storage:{storage} is:inplace": 3,
    "grad>1e6": 0,
    "has:nan": 0,
    "-is:accumulate -is:op is:cut": 1,
}


def test_every_kind_of_question_finds_its_nodes(opened: Any):
    snapshot = recorded(importlib.import_module("gradtape"))
    page = opened(snapshot)
    write = next(node for node in snapshot.nodes if node.name == "CopySlices")
    exp = next(node for node in snapshot.nodes if node.call == "exp")
    assert exp.site is not None
    named = {
        "line": snapshot.sites[exp.site].line,
        "storage": snapshot.tensors[write.outputs[0]].storage,
    }
    for query, count in QUERIES.items():
        page.get_by_test_id("search").fill(query.format(**named))
        said = f"{count} found" if count else "No match"
        expect(page.get_by_test_id("search-count")).to_have_text(said)
