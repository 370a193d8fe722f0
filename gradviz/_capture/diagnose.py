"""Findings about something that lies there: a recorder, or the graph of a tensor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from gradviz._capture.open_log import open_log, refuse_unusable
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.diagnosis.diagnose import diagnose as diagnose_program
from gradviz.errors import CaptureError
from gradviz.program.events import Backward, Raised
from gradviz.program.records import Program

NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar"
TWICE = "Trying to backward through the graph a second time"
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an "
    "inplace operation"
)


def diagnose(x: Any) -> Diagnosis:
    """Say what is wrong, most likely cause first; empty where all is well.

    ``x`` is what ``gradviz.record()`` gave, or a tensor of either engine. Of a tensor
    only its finished graph is known: what ``backward()`` would trip over now, such as
    saved values that were overwritten, freed nodes, or a root that is no scalar. Who
    did it, and what is missing from the graph, only a recording knows. Raises
    CaptureError for anything else.

    >>> import torch, gradviz
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> gradviz.diagnose((x * x).sum())
    No findings.
    >>> gradviz.diagnose(x * x).findings[0].slug
    'non-scalar-backward'
    """
    if isinstance(x, Program):
        return diagnose_program(x)
    method = getattr(x, "diagnose", None)
    if callable(method) and not isinstance(x, type):
        found = method()
        if isinstance(found, Diagnosis):
            return found
    package = type(x).__module__.partition(".")[0]
    if package not in ("gradtape", "torch") or not hasattr(x, "grad_fn"):
        raise CaptureError(
            "expected a tensor of PyTorch or gradtape, or a recorder, got "
            f"{type(x).__module__}.{type(x).__qualname__}".replace("builtins.", "")
        )
    engine = "torch" if package == "torch" else "gradtape"
    refuse_unusable(engine)
    with open_log(engine, scan=False) as log:
        log.preflight(x)
        program = log.program
    passes = [event for event in program.events if isinstance(event, Backward)]
    for event in passes:
        text = event.error = _would_raise(event)
        if text is not None:
            index = event.index + 1
            raised = Raised(
                index=index, site=event.site, kind="RuntimeError", text=text
            )
            program.events.append(raised)
    return replace(diagnose_program(program), looked_at=None)


def _would_raise(event: Backward) -> str | None:
    """Return what PyTorch would say to the pass, in the words that the rules know."""
    root = event.roots[0]
    if not root.requires_grad:
        return f"RuntimeError: {NO_GRAPH}"
    if math.prod(root.shape) != 1:
        return f"RuntimeError: {NOT_SCALAR} outputs"
    if event.freed:
        event.error_node = event.freed[0]
        return f"RuntimeError: {TWICE}"
    for stale in event.stale:
        if not stale.silent:
            event.error_node = stale.node
            return (
                f"RuntimeError: {MODIFIED}: is at version {stale.version_now}; "
                f"expected version {stale.value.version} instead"
            )
    return None
