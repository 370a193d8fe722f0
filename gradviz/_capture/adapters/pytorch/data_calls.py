"""Tells the calls that no gradient concerns while they are notes still."""

from __future__ import annotations

from typing import Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import NEEDS
from gradviz._capture.recorder.asides import is_aside
from gradviz.program.events import ModuleCall


def begins_step(noted: Any) -> bool:
    """Tell whether an event belongs to a forward, which ends what a step did last."""
    if type(noted) is not tuple:
        return isinstance(noted, ModuleCall) or bool(getattr(noted, "nodes", ()))
    return noted[0] in ("module", "run") or (noted[0] == "call" and bool(noted[4]))


def is_noted_aside(noted: Any) -> bool:
    """Say what :func:`is_aside` says of an event that may still be a note."""
    if type(noted) is not tuple:
        return is_aside(noted)
    if noted[0] != "call":
        return False
    _, _, header, outputs, nodes, *_ = noted
    needs = [glance[NEEDS] for glance in (*outputs, *header[5])]
    return not (nodes or any(needs) or header[0].endswith((".get", ".set")))
