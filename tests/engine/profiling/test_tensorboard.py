"""SummaryWriter writes the records that PyTorch's does."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape._common.refusals import OutOfReachError

pytestmark = pytest.mark.skipif(
    find_spec("tensorboard") is None, reason="the library tensorboard is not installed"
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """TensorBoard's own modules warn while they are imported."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def events(folder: Path) -> list[Any]:
    """Read the events in a folder and in those inside, without times."""
    from tensorboard.compat.proto.event_pb2 import Event

    found: list[Any] = []
    for file in sorted(folder.rglob("*tfevents*")):
        data, at = file.read_bytes(), 0
        while at < len(data):  # length, its check, the record, its check
            size = int.from_bytes(data[at : at + 8], "little")
            event = Event.FromString(data[at + 12 : at + 12 + size])
            event.wall_time = 0
            event.ClearField("source_metadata")
            found.append((str(file.parent.relative_to(folder)), event))
            at += 16 + size
    return found


def written(t: Any, folder: Path, program: Any, **options: Any) -> list[Any]:
    """Run a program on a writer and return the events."""
    module = importlib.import_module(f"{t.__name__}.utils.tensorboard")
    with module.SummaryWriter(str(folder), **options) as writer:
        program(t, writer)
    return events(folder)


def scalars(t: Any, writer: Any) -> None:
    for step in range(3):
        writer.add_scalar("loss/train", 1.0 / (step + 1), step)
    writer.add_scalar("tensor", t.tensor(2.5), 3)
    writer.add_scalar("element", t.tensor([[2.0]], requires_grad=True))
    writer.add_scalar("low", t.tensor(2.5).bfloat16(), np.int64(7))
    writer.add_scalar("new", 1.5, 1, new_style=True)
    writer.add_scalar("double", 1.5, 1, new_style=True, double_precision=True)


def several_scalars(t: Any, writer: Any) -> None:
    writer.add_scalars("run/one", {"a": 1, "b": t.tensor(2.0)}, 4)
    writer.add_scalars("run/one", {"a": 3}, 5)


def histograms(t: Any, writer: Any) -> None:
    values = t.linspace(-2, 3, 50)
    writer.add_histogram("plain", values, 1)
    writer.add_histogram("auto", values, 2, bins="auto")
    writer.add_histogram("few", values, 3, max_bins=20)
    writer.add_histogram("one", t.tensor([0.0]), 4)
    writer.add_histogram("ints", t.tensor([1, 2, 2, 3]), 5, bins="fd")
    writer.add_histogram_raw("raw", 0, 2, 3, 3, 5, [1.0, 2.0], [1.0, 2.0], 6)


def images(t: Any, writer: Any) -> None:
    ramp = t.linspace(0, 1, 24)
    writer.add_image("colours", ramp.reshape(3, 2, 4), 1)
    writer.add_image("grey", ramp.reshape(1, 4, 6), 2)
    writer.add_image("flat", ramp.reshape(4, 6), 3, dataformats="HW")
    writer.add_image("bytes", (ramp * 255).to(t.uint8).reshape(2, 4, 3), 4, None, "HWC")
    writer.add_images("grid", t.linspace(0, 2, 10 * 12).reshape(10, 3, 2, 2), 5)
    writer.add_images("greys", t.linspace(0, 1, 8).reshape(2, 1, 2, 2), 6)


def texts(t: Any, writer: Any) -> None:
    writer.add_text("note", "größer als **eins**", 0)


def sounds(t: Any, writer: Any) -> None:
    writer.add_audio("tone", t.sin(t.arange(100) / 5)[None], 1, sample_rate=8000)


def curves(t: Any, writer: Any) -> None:
    labels = t.tensor([0, 1, 1, 0, 1])
    guesses = t.tensor([0.1, 0.9, 0.4, 0.6, 0.8])
    writer.add_pr_curve("curve", labels, guesses, 2)
    writer.add_pr_curve("many", labels, guesses, 2, num_thresholds=500)
    writer.add_pr_curve("weighted", labels, guesses, 2, 10, np.arange(5.0))
    rows = [np.array([1.0, 2.0])] * 6
    writer.add_pr_curve_raw("raw", *rows, 3, num_thresholds=2)


def hyperparameters(t: Any, writer: Any) -> None:
    writer.add_hparams(
        {"lr": 0.1, "kind": "adam", "fast": True, "n": 3, "none": None, "t": t.ones(1)},
        {"accuracy": 0.5},
        {"lr": [0.1, 0.2], "kind": ["adam", "sgd"]},
        run_name="row",
        global_step=2,
    )


def charts(t: Any, writer: Any) -> None:
    lines, band = ["Multiline", ["a", "b"]], ["Margin", ["a", "b", "c"]]
    writer.add_custom_scalars({"one": {"x": lines, "y": band}, "two": {"z": lines}})
    writer.add_custom_scalars_multilinechart(["a", "b"], title="both")
    writer.add_custom_scalars_marginchart(["a", "b", "c"], "one")


PROGRAMS = [
    *(scalars, several_scalars, histograms, images, texts, sounds, curves),
    *(hyperparameters, charts),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_the_same_events_are_written(program: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    ours = written(gt, tmp_path / "ours", program)
    theirs = written(torch, tmp_path / "theirs", program)
    assert [folder for folder, _ in ours] == [folder for folder, _ in theirs]
    for (_, one), (_, other) in zip(ours, theirs, strict=True):
        assert one == other
    assert len(ours) > 1


def test_a_purged_run_begins_with_its_step(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    ours = written(gt, tmp_path / "ours", scalars, purge_step=5)
    assert ours == written(torch, tmp_path / "theirs", scalars, purge_step=5)


def too_long(t: Any, writer: Any) -> None:
    writer.add_scalar("a", t.ones(2))


def no_values(t: Any, writer: Any) -> None:
    writer.add_histogram("a", t.ones(0))


def unlike_buckets(t: Any, writer: Any) -> None:
    writer.add_histogram_raw("a", 0, 1, 1, 1, 1, [1.0], [1.0, 2.0])


def no_number(t: Any, writer: Any) -> None:
    writer.add_histogram("a", object())


def wrong_form(t: Any, writer: Any) -> None:
    writer.add_image("a", t.ones(2, 2))


def form_twice(t: Any, writer: Any) -> None:
    writer.add_image("a", t.ones(2, 2), dataformats="HH")


def no_dictionary(t: Any, writer: Any) -> None:
    writer.add_hparams([1], {})


def odd_value(t: Any, writer: Any) -> None:
    writer.add_hparams({"a": [1]}, {})


def odd_domain(t: Any, writer: Any) -> None:
    writer.add_hparams({"a": 1}, {}, {"a": ["x"]})


def odd_band(t: Any, writer: Any) -> None:
    writer.add_custom_scalars({"one": {"x": ["Margin", ["a"]]}})


def odd_band_alone(t: Any, writer: Any) -> None:
    writer.add_custom_scalars_marginchart(["a"])


REFUSED = [
    *(too_long, no_values, unlike_buckets, no_number, wrong_form, form_twice),
    *(no_dictionary, odd_value, odd_domain, odd_band, odd_band_alone),
]


@pytest.mark.parametrize("program", REFUSED, ids=lambda each: each.__name__)
def test_what_is_refused(program: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def refusal(t: Any) -> tuple[type, str]:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - compared below
            written(t, tmp_path / t.__name__, program)
        text = " ".join(str(caught.value).split())
        return type(caught.value), text.replace("gradtape", "torch").partition(" <")[0]

    assert refusal(gt) == refusal(torch)


def test_closing_opens_another_file(tmp_path: Path) -> None:
    from gradtape.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(tmp_path, filename_suffix=".one")
    writer.add_scalar("a", 1)
    writer.flush()
    writer.close()
    writer.close()
    writer.filename_suffix = ".two"
    writer.add_scalar("a", 2)
    writer.close()
    names = sorted(file.suffix for file in tmp_path.iterdir())
    assert names == [".one", ".two"]
    assert writer.get_logdir() == tmp_path


def test_without_a_folder_runs_are_named_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradtape.utils.tensorboard import SummaryWriter

    monkeypatch.chdir(tmp_path)
    SummaryWriter(comment="_trial").close()
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.endswith("_trial")


def test_plugins_out_of_reach_say_what_to_use(tmp_path: Path) -> None:
    from gradtape.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(OutOfReachError, match="use gradviz"):
            writer.add_graph(gt.nn.Linear(1, 1), gt.ones(1, 1))
        with pytest.raises(OutOfReachError, match="use add_image"):
            writer.add_embedding(gt.ones(2, 2))


def test_neither_library_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "import importlib.util as util\n"
        "found = util.find_spec\n"
        "hidden = ('tensorboard', 'tensorboardX')\n"
        "util.find_spec = lambda name, *more: (\n"
        "    None if name in hidden else found(name, *more))\n"
        "import gradtape.utils.tensorboard\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install tensorboard" in done.stderr
