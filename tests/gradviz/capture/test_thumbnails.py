"""Thumbnails: what they show, which are kept; recording them changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape
import gradviz
from gradviz import ir
from gradviz._capture.recorder import thumbnails as kept
from gradviz._capture.statistics import thumbnails as sampled
from gradviz._capture.statistics.thumbnails import Samples, sample
from gradviz.analysis.subgraph import subgraph
from gradviz.ir.columns import pack, unpack

NAN, INF, TOP = ir.NAN_PIXEL, ir.INF_PIXEL, ir.LEVELS


@pytest.fixture(params=["gradtape", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    return gradtape if request.param == "gradtape" else pytest.importorskip("torch")


def drawn(array: Any, first_bad: tuple[int, ...] | None = None) -> ir.Thumbnail:
    found = sample(np.asarray(array), first_bad)
    assert found is not None
    thumbnail = found.draw()
    assert thumbnail is not None
    return ir.Thumbnail(0, *thumbnail)


def tiles(thumbnail: ir.Thumbnail) -> Any:
    shape = thumbnail.tiles, thumbnail.rows, thumbnail.columns
    return np.array(thumbnail.pixels).reshape(shape)


# ---- what is drawn -------------------------------------------------------------------


def test_a_diagonal_is_one():
    found = drawn(np.eye(8))
    assert (found.kind, found.low, found.high) == ("matrix", 0, 1)
    assert tiles(found)[0].tolist() == (np.eye(8) * TOP).tolist()
    assert found.how == "a pixel is an element"


def test_a_large_diagonal_stays_one():
    found = drawn(np.eye(220))
    assert (found.rows, found.columns) == (22, 22)
    assert tiles(found)[0].tolist() == (np.eye(22) * TOP).tolist()
    assert found.how == "a pixel is the mean of 4 of 10 × 10 elements"


def test_a_ramp_rises_to_the_end_that_is_said():
    found = drawn(np.linspace(-1, 1, 31)[None].repeat(2, 0))
    assert (found.low, found.high) == (-1, 1)
    assert tiles(found)[0].tolist() == [list(range(31))] * 2


def test_zero_is_in_the_middle_between_signs():
    found = drawn([[-1.0, 0.0], [0.5, 0.25]])
    assert (found.low, found.high) == (-1, 1)
    assert list(found.pixels) == [0, TOP // 2, 22, 19]


def test_blocks_at_the_end_are_means_of_what_is_left():
    found = drawn(np.arange(45.0).repeat(45).reshape(45, 45))
    assert (found.rows, found.columns) == (15, 15)  # of 3 × 3
    assert (found.low, found.high) == (1, 43)
    last = drawn(np.arange(46.0).repeat(45).reshape(46, 45))
    assert (last.rows, last.high) == (16, 45)  # a row alone


def test_nan_and_inf_have_pixels_of_their_own():
    found = drawn([[np.nan, np.inf], [-np.inf, 1.0]])
    assert list(found.pixels) == [NAN, INF, INF, 0]
    assert (found.low, found.high) == (1, 1)
    none = drawn([[np.nan, np.nan], [np.inf, np.nan]])
    assert (none.low, none.high, set(none.pixels)) == (None, None, {NAN, INF})


def test_the_first_nan_is_seen_although_few_elements_are_read():
    array = np.ones((300, 300))
    array[151, 201] = np.nan
    assert NAN not in drawn(array).pixels
    found = drawn(array, (151, 201))
    down, across = -(-300 // found.rows), -(-300 // found.columns)
    assert tiles(found)[0][151 // down, 201 // across] == NAN
    assert found.pixels.count(NAN) == 1
    beyond = np.ones((9, 40, 40, 40))
    assert (
        NAN not in drawn(beyond, (1, 0, 0, 0)).pixels
    )  # of an image that is not shown


@pytest.mark.parametrize(
    ("shape", "kind", "size", "how"),
    [
        ((64, 3, 7, 7), "filters", (16, 7, 7), "16 of 64 filters, channel 0 of 3"),
        ((128, 64, 3, 3), "filters", (49, 3, 3), "49 of 128 filters, channel 0 of 64"),
        ((32, 1, 28, 28), "images", (4, 14, 14), "4 of 32 images"),
        ((8, 3, 32, 32), "images", (4, 11, 11), "4 of 8 images, mean of 3 channels"),
        ((8, 16, 14, 14), "maps", (4, 14, 14), "4 of 16 maps of the first of 8"),
        ((2, 128, 768), "matrices", (1, 22, 22), "1 of 2 matrices"),
        ((5, 6, 8, 4), "maps", (6, 8, 4), "6 of 6 maps of the first of 5"),
        ((4, 16, 16), "matrices", (3, 16, 16), "3 of 4 matrices"),
        ((2, 3, 5, 6, 8, 4), "maps", (6, 8, 4), "the first of all others"),
        ((4096, 4096), "matrix", (1, 22, 22), "4 of 188 × 188 elements"),
        ((2, 300), "matrix", (1, 2, 50), "a pixel is the mean of"),
    ],
)
def test_each_shape_has_its_picture(
    shape: tuple[int, ...], kind: str, size: tuple[int, ...], how: str
):
    found = drawn(np.zeros(shape, np.float32))
    assert (found.kind, (found.tiles, found.rows, found.columns)) == (kind, size)
    assert how in found.how
    assert len(found.pixels) <= sampled.WHOLE


def test_tiles_are_what_they_are_said_to_be():
    images = np.zeros((3, 3, 10, 10))
    images[1] = 3
    images[2, 0] = 3  # of three channels
    assert [int(tile.max()) for tile in tiles(drawn(images))] == [0, TOP, TOP // 3]
    filters = np.zeros((2, 2, 3, 3))
    filters[1, 0, 2, 1] = 1
    filters[:, 1] = 7  # a channel that is not shown
    assert np.argwhere(tiles(drawn(filters))).tolist() == [[1, 2, 1]]


@pytest.mark.parametrize("shape", [(), (9,), (1, 9), (9, 1), (0, 9), (3, 0, 4)])
def test_vectors_have_histograms_instead(shape: tuple[int, ...]):
    assert sample(np.zeros(shape)) is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_all_numbers_are_drawn(dtype: str):
    assert list(drawn(np.eye(2).astype(dtype)).pixels) == [TOP, 0, 0, TOP]


def test_the_ends_of_float64_are_drawn():
    found = drawn([[-1.7e308, 1.7e308], [0.0, 8.5e307]])
    assert list(found.pixels) == [0, TOP, 15, 22]


def test_samples_beyond_the_bound_are_drawn_or_let_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampled, "_MOST_BYTES", 1_000)
    samples = Samples()
    samples.on, samples.steps = True, 2
    first, second = (samples.of(np.eye(8), None) for _ in range(2))  # of 512 bytes
    assert first is not None
    assert second is not None
    assert first.values is None
    assert second.values is not None
    assert first.draw() == second.draw()
    old = samples.of(np.eye(8), None)
    samples.passes = 9
    samples.of(np.eye(8), None)
    assert old is not None
    assert old.draw() is None


# ---- which are kept ------------------------------------------------------------------


def model(library: Any) -> Any:
    nn = library.nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            scores = self.query(x) @ x.transpose(-1, -2)
            return scores.softmax(-1) @ x

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attn = Attention()
            self.head = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return self.head(self.attn(x))

    library.manual_seed(0)
    return Block()


def recorded(library: Any, steps: int = 1, **options: Any) -> ir.Snapshot:
    net = model(library)
    with gradviz.record(engine=library.__name__, **options) as recorder:
        for _ in range(steps):
            net(library.ones(2, 5, 4)).sum().backward()
    return recorder.snapshot()


def of_call(snapshot: ir.Snapshot, call: str) -> list[ir.Thumbnail]:
    """Return the thumbnails of what the nodes of a call gave."""
    rows = {
        snapshot.tensors[output].statistics
        for node in snapshot.nodes
        if node.call == call
        for output in node.outputs
    }
    return [each for each in snapshot.thumbnails if each.statistics in rows]


def test_values_and_gradients_are_kept_on_both_engines(library: Any):
    snapshot = recorded(library)
    (attention,) = of_call(snapshot, "softmax")
    assert (attention.kind, attention.tiles) == ("matrices", 2)
    assert (attention.rows, attention.columns) == (5, 5)
    received = {row for node in snapshot.nodes for row in node.grad_outputs}
    assert received & {each.statistics for each in snapshot.thumbnails}
    assert unpack(pack(snapshot)) == snapshot


def test_both_engines_draw_the_same():
    torch = pytest.importorskip("torch")
    weight = np.arange(12.0, dtype=np.float32).reshape(3, 4) - 5
    seen: list[Any] = []
    libraries: list[Any] = [gradtape, torch]
    for library in libraries:
        w = library.tensor(weight.tolist(), requires_grad=True)
        with gradviz.record(engine=library.__name__) as recorder:
            (w.exp() * w).sum().backward()
        snapshot = recorder.snapshot()
        seen.append([each.pixels for each in of_call(snapshot, "exp")])
    assert seen[0] == seen[1] != []


@pytest.mark.parametrize("pattern", ["*.attn", "attn", "attn.query*", "soft*"])
def test_what_is_named_comes_before_the_budget(
    library: Any, pattern: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept, "MOST", 0)
    snapshot = recorded(library, keep=pattern)
    assert snapshot.thumbnails
    assert bool(of_call(snapshot, "softmax")) == ("query" not in pattern)
    assert len(snapshot.thumbnails) < len(recorded_all(library, monkeypatch).thumbnails)


def recorded_all(library: Any, monkeypatch: pytest.MonkeyPatch) -> ir.Snapshot:
    monkeypatch.setattr(kept, "MOST", 480)
    return recorded(library)


def test_the_budget_is_said_where_it_ran_out(
    library: Any, monkeypatch: pytest.MonkeyPatch
):
    assert not any("Thumbnails" in note for note in recorded(library).notes)
    monkeypatch.setattr(kept, "MOST", 3)
    snapshot = recorded(library)
    assert len(snapshot.thumbnails) == 3
    (note,) = [each for each in snapshot.notes if "Thumbnails" in each]
    assert note.startswith("Thumbnails are kept of 3 of the ")
    monkeypatch.setattr(kept, "MOST", 480)
    monkeypatch.setattr(kept, "MOST_PIXELS", 60)
    pixels = [len(each.pixels) for each in recorded(library).thumbnails]
    assert 0 < sum(pixels) <= 60


def test_a_pattern_that_names_nothing_is_said(library: Any):
    snapshot = recorded(library, keep=["head", "haed"])
    (note,) = [each for each in snapshot.notes if "called like" in each]
    assert "'haed'" in note


@pytest.mark.parametrize("options", [{"keep": ()}, {"values": False}])
def test_nothing_is_kept_of_what_is_excluded(library: Any, options: dict[str, Any]):
    assert recorded(library, **options).thumbnails == ()
    assert recorded(library, values=False, keep="*").thumbnails == ()


@pytest.mark.parametrize("keep", ["", [""], [3]])
def test_what_is_no_pattern_is_refused(keep: Any):
    with pytest.raises(ValueError, match="keep names what to keep"):
        gradviz.record(keep=keep)


def test_a_long_recording_keeps_those_of_the_steps_that_it_shows(library: Any):
    snapshot = recorded(library, steps=30, detail="full")
    assert len(of_call(snapshot, "softmax")) == 4


def test_a_part_of_a_graph_keeps_its_thumbnails():
    snapshot = recorded(gradtape)
    node = next(i for i, each in enumerate(snapshot.nodes) if each.call == "softmax")
    part = subgraph(snapshot, [node])
    assert 0 < len(part.thumbnails) < len(snapshot.thumbnails)
    assert of_call(part, "softmax")[0].pixels == of_call(snapshot, "softmax")[0].pixels


# ---- what does not change ------------------------------------------------------------


def test_nothing_of_the_program_changes(library: Any):
    def trained(**options: Any) -> list[Any]:
        net = model(library)
        x = library.randn(2, 5, 4)
        x[0, 0, 0] = float("nan")
        with gradviz.record(engine=library.__name__, detail="full", **options):
            y = net(x)
            y.sum().backward()
        found = [y, *(each.grad for each in net.parameters()), library.rand(3)]
        facts = [(x._version, y._version, y.requires_grad)]
        return facts + [np.array(each.detach().tolist()).tobytes() for each in found]

    assert trained() == trained(keep=())
