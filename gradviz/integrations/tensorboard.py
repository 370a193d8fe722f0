"""A sink that draws curves in TensorBoard."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradviz import ir
from gradviz.integrations.needed import needed


class TensorBoard:
    """Writes numbers as scalars, findings and the place of the page as text.

    ``where`` is a folder, or a ``SummaryWriter`` that you have, which stays open. Tags
    begin with ``gradviz/``. Raises GradvizError where tensorboard is not installed.

    >>> import torch, gradviz
    >>> net = torch.nn.Linear(2, 1)
    >>> sink = gradviz.integrations.TensorBoard("runs")
    >>> with gradviz.watch(net, page=None, sinks=[sink]):
    ...     net(torch.ones(3, 2)).sum().backward()
    """

    def __init__(self, where: str | os.PathLike[str] | Any) -> None:
        self._owns = isinstance(where, str | os.PathLike)
        self._writer: Any = _writer(os.fspath(where)) if self._owns else where

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(f"gradviz/{name}", value, number)

    def finding(self, number: int, finding: ir.Finding) -> None:
        text = f"**{finding.code} {finding.slug}** {finding.message} {finding.fix}"
        self._writer.add_text(f"gradviz/{finding.severity}", text, number)
        self._writer.flush()

    def end(self, page: Path | None) -> None:
        if page is not None:
            self._writer.add_text("gradviz/page", str(page))
        self._writer.close() if self._owns else self._writer.flush()


def _writer(folder: str) -> Any:
    """Return a writer of the engine that the program uses."""
    needed("tensorboard", "tensorboard", by="gradviz.integrations.TensorBoard")
    engine = "torch" if "torch" in sys.modules else "gradtape"
    module = needed(f"{engine}.utils.tensorboard", engine, by="TensorBoard's writer")
    return module.SummaryWriter(folder)
