"""A program whose findings are told in every form, and a run of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gradviz import cli
from gradviz.cli.findings import FAILED as FAILED
from tests import forked

CUT = """\
import gradtape as torch
from gradtape import nn

torch.manual_seed(0)
encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)

def features_of(x):
    return torch.tanh(encoder(x)).detach()

for step in range(3):
    loss = ((head(features_of(inputs)) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
"""Has one finding, a warning (GV306), with an edit."""

FINE = CUT.replace(".detach()", "")

RAISES = """\
import gradtape as torch

w = torch.ones(3, requires_grad=True)
y = w.exp()
y += 1
y.sum().backward()
"""
"""Ends with an error, which a finding explains (GV101)."""


def run(text: str, *options: object, script: str = "train.py") -> int:
    """Run a program in the working folder; return the exit status."""
    Path(script).parent.mkdir(parents=True, exist_ok=True)
    Path(script).write_text(text, encoding="utf-8")
    return cli.main(["run", script, "--no-open", *map(str, options)])


def run_afresh(text: str, *options: object) -> int:
    """Run a program in a process of its own: one keeps the lines of a file it read."""
    Path("train.py").write_text(text, encoding="utf-8")
    command = ["-m", "gradviz", "run", "train.py", "--no-open", *options]
    return forked.run(*command, cwd=Path.cwd()).returncode


def found(text: str, *options: object, out: str = "found.json") -> Any:
    """Run a program; return the document of its findings."""
    run(text, "--findings", out, *options)
    return json.loads(Path(out).read_text("utf-8"))
