"""Sinks of a watch: each against the real package, on a small model."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz.integrations.needed import needed
from gradviz.watching import feed


class Told:
    """A sink that keeps what it is told; it fails where it is asked to."""

    def __init__(self, fails: str = "") -> None:
        self.steps: list[tuple[int, dict[str, float]]] = []
        self.findings: list[tuple[int, str]] = []
        self.ends: list[Path | None] = []
        self.fails = fails

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        self._fail("step")
        self.steps.append((number, dict(numbers)))

    def finding(self, number: int, finding: ir.Finding) -> None:
        self.findings.append((number, finding.code))

    def end(self, page: Path | None) -> None:
        self._fail("end")
        self.ends.append(page)

    def _fail(self, where: str) -> None:
        if where == self.fails:
            raise OSError("no room left")


def train(lib: Any, sinks: list[Any], *, bad_step: int = -1, **options: Any) -> Any:
    """Train a small model for four steps; one of them may have a NaN."""
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1))
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    said: list[str] = []
    options = {"page": None, "every": 1, "say": said.append, **options}
    with gradviz.watch(net, optimizer, sinks=sinks, **options) as watched:
        for step in range(4):
            optimizer.zero_grad()
            factor = math.nan if step == bad_step else 1.0
            (net(lib.ones(2, 3)) * factor).pow(2).mean().backward()
            optimizer.step()
    watched.said = said
    return watched


def test_a_sink_is_told_what_the_history_holds(lib: Any):
    told = Told()
    flow = train(lib, [told]).history
    assert [number for number, _ in told.steps] == [0, 1, 2, 3]
    for column, (_, numbers) in enumerate(told.steps):
        norms = [numbers[f"gradient_norm/{layer.name}"] for layer in flow.layers]
        ratios = [numbers[f"update_ratio/{layer.name}"] for layer in flow.layers]
        assert norms == flow.norms[:, column].tolist()
        assert ratios == flow.ratios[:, column].tolist()
        assert numbers["total_gradient_norm"] == pytest.approx(math.hypot(*norms))
        assert (numbers["learning_rate"], numbers["nonfinite"]) == (0.1, 0)
    assert told.ends == [None]


def test_findings_and_the_page_are_told(lib: Any, tmp_path: Path):
    told, page = Told(), tmp_path / "watched.json"
    train(lib, [told], bad_step=2, page=page, first_step=100)
    assert told.findings == [(102, "GV414")]
    assert [number for number, _ in told.steps] == [100, 101, 102, 103]
    assert told.steps[2][1]["nonfinite"] == 12 + 4 + 4 + 1
    assert told.ends == [page]
    assert page.exists()


@pytest.mark.parametrize("where", ["step", "end"])
def test_a_sink_that_fails_says_so_once_and_ends_nothing(lib: Any, where: str):
    broken, fine = Told(where), Told()
    watched = train(lib, [broken, fine])
    assert watched.steps == len(fine.steps) == 4
    (sentence,) = watched.said
    assert sentence.startswith("Told failed and gets nothing more: OSError: no room")
    assert sentence.endswith("The training goes on.")
    assert (broken.ends, fine.ends) == ([], [None])


def test_a_step_of_two_optimizers_is_told_once(lib: Any):
    one, two = lib.nn.Linear(2, 1), lib.nn.Linear(2, 1)
    both = lib.nn.ModuleList([one, two])
    optimizers = [lib.optim.SGD(each.parameters(), lr=0.1) for each in both]
    told = Told()
    with gradviz.watch(both, optimizers, every=1, page=None, sinks=[told]):
        for _ in range(2):
            (one(lib.ones(1, 2)) + two(lib.ones(1, 2))).sum().backward()
            for optimizer in optimizers:
                optimizer.step()
    assert [number for number, _ in told.steps] == [0, 1]
    for _, numbers in told.steps:
        assert {"gradient_norm/0.weight", "gradient_norm/1.weight"} <= set(numbers)


def test_of_a_large_model_some_layers_are_told(lib: Any):
    net = lib.nn.Sequential(*[lib.nn.Linear(1, 1) for _ in range(40)])
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    told = Told()
    with gradviz.watch(net, optimizer, every=1, page=None, sinks=[told]):
        net(lib.ones(1, 1)).sum().backward()
        optimizer.step()
    ((_, numbers),) = told.steps
    names = [name for name in numbers if name.startswith("gradient_norm/")]
    assert len(names) == feed.MOST_LAYERS
    assert (names[0], names[-1]) == ("gradient_norm/0.weight", "gradient_norm/39.bias")


def test_only_the_first_of_several_processes_tells(
    lib: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WORLD_SIZE", "2")
    seen: list[int] = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        told = Told()
        train(lib, [told])
        seen.append(len(told.steps))
    assert seen == [4, 0]


def test_json_lines_are_whole_and_in_order(lib: Any, tmp_path: Path):
    path, page = tmp_path / "steps.jsonl", tmp_path / "watched.json"
    sink = gradviz.integrations.JSONLines(path)
    train(lib, [sink], bad_step=1, page=page)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines if "numbers" in line] == [0, 1, 2, 3]
    (finding,) = [line for line in lines if "finding" in line]
    assert finding["finding"]["severity"] == "error"
    assert lines[-1] == {"page": str(page)}


def test_tensorboard_gets_scalars_and_text(lib: Any, tmp_path: Path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    sink = gradviz.integrations.TensorBoard(tmp_path / "runs")
    told = Told()
    train(lib, [sink, told], bad_step=3, page=tmp_path / "watched.json")
    events = accumulator.EventAccumulator(str(tmp_path / "runs"))
    events.Reload()
    curve = events.Scalars("gradviz/gradient_norm/0.weight")
    wanted = [numbers["gradient_norm/0.weight"] for _, numbers in told.steps[:3]]
    assert [each.step for each in curve] == [0, 1, 2]  # of all NaN there is no norm
    assert [each.value for each in curve] == pytest.approx(wanted)
    assert "gradviz/error/text_summary" in events.Tags()["tensors"]
    (page,) = events.Tensors("gradviz/page/text_summary")
    assert page.tensor_proto.string_val[0].decode().endswith("watched.json")


def test_a_writer_that_is_given_stays_open(lib: Any):
    class Writer:
        def __init__(self) -> None:
            self.called: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return lambda *_: self.called.append(name)

    writer = Writer()
    train(lib, [gradviz.integrations.TensorBoard(writer)])
    assert set(writer.called) == {"add_scalar", "flush"}


@pytest.mark.filterwarnings("ignore")
def test_mlflow_gets_metrics_tags_and_the_page(tmp_path: Path):
    mlflow = pytest.importorskip("mlflow")
    torch = pytest.importorskip("torch")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = mlflow.create_experiment(
        "tested", artifact_location=(tmp_path / "artifacts").as_uri()
    )
    told = Told()
    with mlflow.start_run(experiment_id=experiment) as run:
        sink = gradviz.integrations.MLflow()
        train(torch, [sink, told], bad_step=3, page=tmp_path / "watched.json")
    client = mlflow.MlflowClient()
    number = run.info.run_id
    curve = client.get_metric_history(number, "gradviz/update_ratio/2.weight")
    wanted = [numbers["update_ratio/2.weight"] for _, numbers in told.steps[:3]]
    assert [each.step for each in curve][:3] == [0, 1, 2]
    assert [each.value for each in curve][:3] == pytest.approx(wanted)
    tags = client.get_run(number).data.tags
    assert tags["gradviz.GV414.3"].startswith("error: At step 3")
    (kept,) = client.list_artifacts(number, "gradviz")
    assert kept.path == "gradviz/watched.json"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wandb_gets_metrics_alerts_and_an_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wandb = pytest.importorskip("wandb")
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    alerts: list[dict[str, Any]] = []
    told = Told()
    with wandb.init(project="tested", mode="offline", dir=tmp_path) as run:
        monkeypatch.setattr(run, "alert", lambda **given: alerts.append(given))
        sink = gradviz.integrations.WandB(run)
        train(torch, [sink, told], bad_step=3, page=tmp_path / "watched.json")
        summary = dict(run.summary)
    last = told.steps[2][1]["gradient_norm/0.weight"]  # of all NaN there is no norm
    assert (summary["gradviz/step"], summary["gradviz/nonfinite"]) == (3, 21)
    assert summary["gradviz/gradient_norm/0.weight"] == pytest.approx(last)
    (alert,) = alerts
    assert alert["title"] == "GV414 nan-born-here"
    assert alert["level"] == wandb.AlertLevel.ERROR
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert b"gradviz-page" in log.read_bytes()


@pytest.mark.parametrize("name", ["WandB", "MLflow"])
@pytest.mark.filterwarnings("ignore")
def test_without_a_run_one_sentence_is_said(name: str):
    pytest.importorskip(name.lower())
    torch = pytest.importorskip("torch")
    watched = train(torch, [getattr(gradviz.integrations, name)()])
    (sentence,) = watched.said
    assert sentence.startswith(f"{name} failed and gets nothing more: RuntimeError: no")
    assert watched.steps == 4


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (lambda given: given.WandB(), "wandb"),
        (lambda given: given.MLflow(), "mlflow-skinny"),
        (lambda given: given.TensorBoard("runs"), "tensorboard"),
        (lambda given: given.huggingface_callback(), "transformers"),
        (lambda given: given.lightning_callback(), "lightning"),
    ],
)
def test_a_package_that_is_missing_is_one_sentence(
    make: Any, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    name = package.removesuffix("-skinny")
    for loaded in [each for each in sys.modules if each.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delitem(sys.modules, "pytorch_lightning", raising=False)

    class Missing:
        def find_spec(self, wanted: str, *_: object) -> None:
            if wanted.split(".")[0] == name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(gradviz.GradvizError, match=f"needs {package}, which is not"):
        make(gradviz.integrations)
    assert os.listdir(tmp_path) == []


def test_what_a_package_lacks_itself_is_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "lacking_part.py").write_text("import a_part_of_it\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_part_of_it"):
        needed("lacking_part", "lacking-part", by="a sink")
