"""A sink that logs to a run of MLflow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradviz import ir
from gradviz.integrations.needed import needed

_NO_RUN = "no run is active: call `mlflow.start_run()` before the training"
_MOST_OF_A_TAG = 5_000  # characters that every store takes


class MLflow:
    """Logs numbers as metrics, findings as tags, the page as an artifact.

    ``run_id`` is that of the run which is active when the first step is told, unless
    it is given; that it ends before the watch does no harm. Metrics begin with
    ``gradviz/``; the tag of a finding is ``gradviz.CODE.STEP``. Raises GradvizError
    where mlflow is not installed; mlflow-skinny will do.
    """

    def __init__(self, run_id: str | None = None) -> None:
        self._mlflow = needed(
            "mlflow", "mlflow-skinny", by="gradviz.integrations.MLflow"
        )
        self._run_id = run_id

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        kind, now_ms = self._mlflow.entities.Metric, int(time.time() * 1000)
        metrics = [
            kind(f"gradviz/{name}", value, now_ms, number)
            for name, value in numbers.items()
        ]
        self._client().log_batch(self._run(), metrics=metrics)

    def finding(self, number: int, finding: ir.Finding) -> None:
        text = f"{finding.severity}: {finding.message} {finding.fix}"
        tag = f"gradviz.{finding.code}.{number}"
        self._client().set_tag(self._run(), tag, text[:_MOST_OF_A_TAG])

    def end(self, page: Path | None) -> None:
        if page is not None:
            self._client().log_artifact(self._run(), str(page), "gradviz")

    def _client(self) -> Any:
        return self._mlflow.MlflowClient()

    def _run(self) -> str:
        if self._run_id is None:
            active = self._mlflow.active_run()
            if active is None:
                raise RuntimeError(_NO_RUN)
            self._run_id = active.info.run_id
        assert self._run_id is not None
        return self._run_id
