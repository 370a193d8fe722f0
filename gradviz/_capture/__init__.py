"""Capture: from a live graph, or from a block of code, to a snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradviz import ir
from gradviz._capture._raw import KEPT_STEPS
from gradviz.errors import CaptureError

if TYPE_CHECKING:
    from gradviz._capture._program import Engine
    from gradviz._capture._session import Session


def capture(loss: Any, *, title: str = "") -> ir.Snapshot:
    """Return a snapshot of the graph behind a tensor, as ``backward()`` would walk it.

    Raises CaptureError for anything that is no tensor of a supported engine, and for a
    tensor without a graph.

    >>> import gradtape as torch, gradviz
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> snapshot = gradviz.capture((x * x).sum())
    >>> [node.name for node in snapshot.nodes]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    """
    return read_graph(loss, title=title)[0]


def read_graph(
    loss: Any, *, title: str = ""
) -> tuple[ir.Snapshot, Callable[[Any], int | None]]:
    """Return the snapshot of a graph, and which row of it a live node is."""
    if _is_gradtape(loss):
        from gradviz._capture._finished import read_graph as read
    elif _is_torch(loss):
        from gradviz._capture._torch_finished import read_graph as read
    else:
        name = f"{type(loss).__module__}.{type(loss).__qualname__}"
        raise CaptureError(
            "expected a tensor of PyTorch or gradtape, a recorder or a snapshot, got "
            + name.replace("builtins.", "")
        )
    if not loss.requires_grad:
        raise CaptureError(
            f"the tensor of shape {tuple(loss.shape)} has no graph: it does not "
            "require grad, and nothing it was computed from does. Set "
            "requires_grad=True on an input, and check that grad mode was on."
        )
    return read(loss, title=title)


def record(
    *,
    title: str = "",
    values: bool = True,
    steps: int = KEPT_STEPS,
    engine: Engine | None = None,
    graph: bool = True,
    findings: bool = True,
) -> Session:
    """Return a context manager that records the graph and the backward pass.

    Of a training loop the last ``steps`` backward passes are kept. ``values=False``
    leaves out the statistics of forward values, which read every result once. Both
    engines are recorded where both are imported, unless ``engine`` names one. Without
    ``graph`` or without ``findings`` a recording costs less and knows less.
    ``diagnose()`` of what it returns says which line is to blame for what went wrong;
    an exception that leaves the block carries that as a note.

    >>> import gradtape as torch, gradviz
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with gradviz.record(title="square") as rec:
    ...     (x * x).sum().backward()
    >>> rec.snapshot().title
    'square'
    """
    from gradviz._capture._session import Session

    return Session(
        title=title,
        values=values,
        steps=steps,
        engine=engine,
        graph=graph,
        findings=findings,
    )


def _is_gradtape(value: Any) -> bool:
    gradtape = sys.modules.get("gradtape")
    return gradtape is not None and isinstance(value, gradtape.Tensor)


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))
