"""Callbacks: a real trainer, a small model, and what a watch saw of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gradviz

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def steps_in(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "numbers" in line]


def huggingface(folder: Path, callbacks: list[Any], **options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any, labels: Any = None) -> Any:
            out = self.layer(x).squeeze(-1)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    generator = torch.Generator().manual_seed(0)
    data = [
        {"x": torch.randn(4, generator=generator), "labels": torch.tensor(1.0)}
        for _ in range(32)
    ]
    options = {"max_steps": 4, "save_strategy": "no", **options}
    arguments = transformers.TrainingArguments(
        str(folder), report_to=[], use_cpu=True, disable_tqdm=True, **options
    )
    return transformers.Trainer(
        Model(), arguments, train_dataset=data, callbacks=callbacks
    )


def test_hugging_face_trains_alike_and_leaves_a_page(tmp_path: Path, bundle: Path):
    pytest.importorskip("transformers")
    sink = gradviz.integrations.JSONLines(tmp_path / "steps.jsonl")
    callback = gradviz.integrations.huggingface_callback(sinks=[sink], every=1)
    watched = huggingface(tmp_path / "out", [callback])
    watched.train()
    plain = huggingface(tmp_path / "plain", [])
    plain.train()
    for one, other in zip(
        watched.model.parameters(), plain.model.parameters(), strict=True
    ):
        assert one.tolist() == other.tolist()
    assert callback.watch.steps == 4
    assert [line["step"] for line in steps_in(tmp_path / "steps.jsonl")] == [0, 1, 2, 3]
    assert (tmp_path / "out" / "gradviz-watch.html").exists()
    assert not callback.watch.open


def test_hugging_face_goes_on_counting_from_a_checkpoint(tmp_path: Path):
    path = tmp_path / "steps.jsonl"
    first = huggingface(tmp_path, [], max_steps=2, save_strategy="steps", save_steps=2)
    first.train()
    callback = gradviz.integrations.huggingface_callback(
        sinks=[gradviz.integrations.JSONLines(path)], every=1, page=None
    )
    second = huggingface(tmp_path, [callback])
    second.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert [line["step"] for line in steps_in(path)] == [2, 3]


def lightning_trainer(folder: Path, callback: Any, **options: Any) -> tuple[Any, Any]:
    lightning = pytest.importorskip("lightning.pytorch")
    torch = pytest.importorskip("torch")

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(4, 1)
            self.fails = False

        def training_step(self, batch: Any, place: int) -> Any:
            if self.fails and place == 2:
                raise ValueError("no such batch")
            return self.layer(batch).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

        def train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4)

    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[callback] if callback is not None else [],
        **options,
    )
    return trainer, Model()


def test_lightning_trains_alike_and_leaves_a_page(tmp_path: Path, bundle: Path):
    pytest.importorskip("lightning.pytorch")
    sink = gradviz.integrations.JSONLines(tmp_path / "steps.jsonl")
    callback = gradviz.integrations.lightning_callback(sinks=[sink], every=1)
    trainer, model = lightning_trainer(tmp_path / "out", callback)
    trainer.fit(model)
    plain, same = lightning_trainer(tmp_path / "plain", None)
    plain.fit(same)
    assert model.layer.weight.tolist() == same.layer.weight.tolist()
    told = steps_in(tmp_path / "steps.jsonl")
    assert [line["step"] for line in told] == [0, 1, 2, 3]
    assert told[0]["numbers"]["learning_rate"] == 0.1
    assert (tmp_path / "out" / "gradviz-watch.html").exists()


def test_an_exception_in_lightning_closes_the_watch(tmp_path: Path):
    pytest.importorskip("lightning.pytorch")
    sink = gradviz.integrations.JSONLines(tmp_path / "steps.jsonl")
    callback = gradviz.integrations.lightning_callback(
        sinks=[sink], every=1, page=tmp_path / "watched.json"
    )
    trainer, model = lightning_trainer(tmp_path, callback)
    model.fails = True
    with pytest.raises(ValueError, match="no such batch"):
        trainer.fit(model)
    assert not callback.watch.open
    assert len(steps_in(tmp_path / "steps.jsonl")) == 2
    assert (tmp_path / "watched.json").exists()
