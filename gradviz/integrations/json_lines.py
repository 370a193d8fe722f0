"""A sink that writes a file: one JSON object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from gradviz import ir


class JSONLines:
    """Appends each step, finding and the page to a file as they come.

    A line is ``{"step": 3, "numbers": {…}}``, ``{"step": 3, "finding": {…}}`` with its
    code, slug, severity, message and fix, or ``{"page": "…"}``. Whoever reads the file
    meanwhile finds whole lines. Raises OSError if it cannot be opened.

    >>> import torch, gradviz
    >>> net = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> sink = gradviz.integrations.JSONLines("steps.jsonl")
    >>> with gradviz.watch(net, optimizer, page=None, sinks=[sink]):
    ...     net(torch.ones(3, 2)).sum().backward()
    ...     optimizer.step()
    >>> first = Path("steps.jsonl").read_text().splitlines()[0]
    >>> numbers = json.loads(first)["numbers"]
    >>> numbers["gradient_norm/bias"], numbers["learning_rate"]
    (3.0, 0.1)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Path(path).expanduser().open("a", encoding="utf-8")

    def step(self, number: int, numbers: Mapping[str, float]) -> None:
        self._write({"step": number, "numbers": dict(numbers)})

    def finding(self, number: int, finding: ir.Finding) -> None:
        told = {
            "code": finding.code,
            "slug": finding.slug,
            "severity": finding.severity,
            "message": finding.message,
            "fix": finding.fix,
        }
        self._write({"step": number, "finding": told})

    def end(self, page: Path | None) -> None:
        if page is not None:
            self._write({"page": str(page)})
        self._file.close()

    def _write(self, line: Mapping[str, object]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
