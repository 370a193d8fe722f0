"""A sink that logs to a run of Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradviz import ir
from gradviz.integrations.needed import needed

_NO_RUN = "no run is active: call `wandb.init()` before the training"
_LEVELS = {"error": "ERROR", "warning": "WARN", "info": "INFO"}


class WandB:
    """Logs numbers as metrics, findings as alerts, the page as an artifact.

    ``run`` is the one that is active when the first step is told, unless it is given.
    Metrics begin with ``gradviz/`` and have ``gradviz/step`` as their step, so that
    they mix with those of a trainer. Raises GradvizError where wandb is not installed.
    """

    def __init__(self, run: Any = None) -> None:
        self._wandb = needed("wandb", "wandb", by="gradviz.integrations.WandB")
        self._given = run
        self._begun: Any = None

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        told = {f"gradviz/{name}": value for name, value in numbers.items()}
        self._run().log({**told, "gradviz/step": number})

    def finding(self, number: int, finding: ir.Finding) -> None:
        self._run().alert(
            title=f"{finding.code} {finding.slug}",
            text=f"{finding.message} {finding.fix}",
            level=self._wandb.AlertLevel[_LEVELS[finding.severity]],
        )

    def end(self, page: Path | None) -> None:
        if page is not None:
            run = self._run()
            artifact = self._wandb.Artifact(f"gradviz-{run.id}", type="gradviz-page")
            artifact.add_file(str(page))
            run.log_artifact(artifact)

    def _run(self) -> Any:
        if self._begun is None:
            run = self._wandb.run if self._given is None else self._given
            if run is None:
                raise RuntimeError(_NO_RUN)
            run.define_metric("gradviz/*", step_metric="gradviz/step")
            self._begun = run
        return self._begun
