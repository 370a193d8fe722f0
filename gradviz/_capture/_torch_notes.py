"""Says in sentences what a finished graph of PyTorch cannot show, and how to see it."""

from __future__ import annotations

from gradviz._capture._torch_look import Look

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values, inputs "
    "that need no gradient and the lines that made the nodes are not known, nor how "
    "results that no node kept lie in memory. Build it inside gradviz.record() or a "
    "%%gradviz cell to see them."
)

ANOMALY_MODE = (
    "The graph was built without gradviz.record(): the lines are those that anomaly "
    "mode kept; gradients, forward values and inputs that need no gradient are not "
    "known. Build it inside gradviz.record() or a %%gradviz cell to see them."
)


def notes_of(seen: Look) -> list[str]:
    """Return what is to be said about a graph."""
    return [ANOMALY_MODE if seen.stacks else NOT_RECORDED]
