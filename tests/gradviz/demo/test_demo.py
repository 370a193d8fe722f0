"""`gradviz demo` from training to page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import gradviz
from gradviz import cli
from gradviz.demo import digits, model, train
from gradviz.ir import Snapshot
from gradviz.program.log import UserFiles


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The page of one run of the demo, and what it printed."""
    output = tmp_path_factory.mktemp("demo") / "page.html"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert cli.main(["demo", "--no-open", "--output", str(output)]) == 0
    return output, printed.getvalue()


@pytest.mark.slow
def test_at_least_95_percent_of_held_out_digits_are_right(result: tuple[Path, str]):
    share = re.search(r"([\d.]+)% of 360 held-out digits are right", result[1])
    assert share is not None
    assert float(share[1]) >= 95


@pytest.mark.slow
def test_training_takes_well_under_a_minute(result: tuple[Path, str]):
    seconds = re.search(r"in ([\d.]+) s", result[1])
    assert seconds is not None
    assert float(seconds[1]) < 45


@pytest.mark.slow
def test_the_page_is_written_and_named(result: tuple[Path, str]):
    output, printed = result
    assert f"Page: {output.resolve()}" in printed
    snapshot = gradviz.load(output)
    assert snapshot.title == "gradviz demo: one training step"
    nodes = re.search(r"(\d+) nodes", printed)
    assert nodes is not None
    assert len(snapshot.nodes) == int(nodes[1])


def test_the_demo_counts_as_a_user_program():
    files = UserFiles()
    assert files[model.__file__]
    assert not files[cli.__file__]


@pytest.fixture(scope="module")
def step() -> Snapshot:
    """The snapshot of one training step of an untrained network."""
    data = digits.load()
    images, labels = next(train.batches(data))
    training = train.start()
    with gradviz.record() as recorder:
        training.step(images, labels)
    return recorder.snapshot()


def test_the_recorded_step_has_the_graph_of_the_model(step: Snapshot):
    names = [node.name for node in step.nodes]
    assert names.count("ConvolutionBackward0") == 2
    assert names.count("NativeBatchNormBackward0") == 2
    assert names.count("ReluBackward0") == 2
    assert names.count("MaxPool2DWithIndicesBackward0") == 2
    assert names.count("AddmmBackward0") == 1
    assert names.count("NllLossBackward0") == 1
    # Two for each of two convolutions and batch norms, and two for the linear layer.
    assert names.count("AccumulateGrad") == 10


def test_each_convolution_points_at_its_line_and_module(step: Snapshot):
    convolutions = [n for n in step.nodes if n.name == "ConvolutionBackward0"]
    paths = {step.scopes[node.scope].path for node in convolutions}
    names = {path.split("#")[0] for path in paths}  # without the number of the call
    assert names == {"training.model.block1.conv", "training.model.block2.conv"}
    for node in convolutions:
        frames = [step.sites[node.site], *(step.sites[i] for i in node.stack)]
        model = [site for site in frames if site.file.endswith("model.py")]
        assert model[0].text.strip() == "features = self.conv(images)"


def test_every_edge_carries_a_gradient(step: Snapshot):
    targets = [edge for edge in step.edges if edge.kind == "data"]
    assert targets
    for edge in targets:
        assert edge.gradient is not None
        assert step.statistics[edge.gradient].nans == 0


def test_the_same_seed_gives_the_same_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(train, "_EPOCHS", 1)
    data = digits.load()
    first, second = (train.train(data, progress=False).model for _ in range(2))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert one.tolist() == other.tolist()


def test_training_leaves_the_held_out_images_alone():
    data = digits.load()
    held_out = {image.tobytes() for image in data.test_images}
    images, _ = next(train.batches(data))
    assert not any(image.numpy().tobytes() in held_out for image in images)


def test_an_output_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "page.html"
    assert cli.main(["demo", "--no-open", "--output", str(output)]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()  # and no training before it
    assert sentence.startswith("gradviz demo: ")


@pytest.mark.parametrize(("options", "opened"), [(["--no-open"], 0), ([], 1)])
def test_the_page_is_opened_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], opened: int
):
    pages: list[Path] = []
    monkeypatch.setattr(train, "_EPOCHS", 1)
    monkeypatch.setattr("gradviz.showing.browser.open_page", pages.append)
    output = tmp_path / "page.html"
    assert cli.main(["demo", *options, "--output", str(output)]) == 0
    assert pages == [output] * opened
