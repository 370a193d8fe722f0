"""Capture: from a live graph, or from a block of code, to a snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from gradviz import ir
from gradviz._capture.detail import BUDGET, How
from gradviz._capture.recorder.raw import KEPT_STEPS, Patterns
from gradviz.errors import CaptureError

if TYPE_CHECKING:
    from gradviz._capture.open_log import Engine
    from gradviz._capture.session import Session


def capture(loss: Any, *, title: str = "") -> ir.Snapshot:
    """Return a snapshot of the graph behind a tensor, as ``backward()`` would walk it.

    Of several tensors, in lists, tuples and dicts such as a model returns, the graph
    behind all of them: those that require grad are its roots. Raises CaptureError for
    anything that is no tensor of a supported engine, and where none has a graph.

    >>> import torch, gradviz
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> snapshot = gradviz.capture((x * x).sum())
    >>> [node.name for node in snapshot.nodes]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    >>> both = gradviz.capture({"loss": x.sum(), "penalty": (x * x).sum()})
    >>> [both.nodes[root].name for root in both.roots]
    ['SumBackward0', 'SumBackward0']
    """
    return read_graph(loss, title=title)[0]


def read_graph(
    loss: Any, *, title: str = ""
) -> tuple[ir.Snapshot, Callable[[Any], int | None]]:
    """Return the snapshot of a graph, and which row of it a live node is."""
    found = list(_tensors_in(loss))
    if not found:
        raise CaptureError(
            "expected a tensor of PyTorch or gradtape, a recorder or a snapshot, got "
            + _described(loss)
        )
    if all(map(_is_gradtape, found)):
        from gradviz._capture.adapters.gradtape.finished_graph import read_graph as read
    elif all(map(_is_torch, found)):
        from gradviz._capture.adapters.pytorch.graph.finished import read_graph as read
    else:
        raise CaptureError("expected tensors of one engine, got some of each")
    roots = [tensor for tensor in found if tensor.requires_grad]
    if not roots:
        raise CaptureError(_without_graph(found))
    return read(roots, title=title)


def _tensors_in(given: Any) -> Iterator[Any]:
    if _is_gradtape(given) or _is_torch(given):
        yield given
    elif isinstance(given, Mapping | list | tuple):
        values = given.values() if isinstance(given, Mapping) else given
        for each in cast("Iterable[Any]", values):
            yield from _tensors_in(each)


def _described(given: Any) -> str:
    """Return the type's name, and what to give in its place."""
    kind = type(given)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if callable(getattr(given, "named_parameters", None)):
        return f"{name}: call the module and give what it returns"
    if isinstance(given, Mapping | list | tuple):
        return f"{name} without a tensor in it"
    return name


def _without_graph(tensors: list[Any]) -> str:
    what = f"the tensor of shape {tuple(tensors[0].shape)} has no graph: it does not"
    if len(tensors) > 1:
        what = f"none of the {len(tensors)} tensors has a graph: they do not"
    return (
        f"{what} require grad, and nothing that went into the computation does. Set "
        "requires_grad=True on an input, and check that grad mode was on."
    )


def record(
    *,
    title: str = "",
    values: bool = True,
    steps: int = KEPT_STEPS,
    engine: Engine | None = None,
    graph: bool = True,
    findings: bool = True,
    keep_compiled: bool = False,
    detail: How = "auto",
    budget: float = BUDGET,
    keep: Patterns = None,
) -> Session:
    """Return a context manager that records the graph and the backward pass.

    Of a training loop the last ``steps`` backward passes are kept. ``values=False``
    leaves out the statistics of forward values, which read every result once. Both
    engines are recorded where both are imported, unless ``engine`` names one. Without
    ``graph`` or without ``findings`` a recording costs less and knows less.
    What ``torch.compile`` made runs eagerly meanwhile, so that its inside is seen;
    ``keep_compiled`` leaves it compiled, each region one call. ``diagnose()`` of what
    it returns says which line is to blame for what went wrong; an exception that leaves
    the block carries that as a note.

    On PyTorch, ``detail="auto"`` looks at values and gradients of the first steps, of
    those after something new or a NaN, and of as many others as make the run at most
    ``budget`` times as long; ``"full"`` at those of every step. Raises ValueError for a
    number of steps below one, a budget below one, and an engine, a detail or a pattern
    that is none.

    Of what is looked at in full the snapshot keeps thumbnails, at most a few hundred.
    ``keep`` names those that are kept before others: patterns as ``"*.attn"`` of paths
    of modules, of names of tensors or of ops, each with all below it. ``keep=()`` keeps
    none; nor does ``values=False``.

    >>> import torch, gradviz
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with gradviz.record(title="square") as rec:
    ...     (x * x).sum().backward()
    >>> rec.snapshot().title
    'square'
    """
    from gradviz._capture.session import Session

    return Session(
        title=title,
        values=values,
        steps=steps,
        engine=engine,
        graph=graph,
        findings=findings,
        keep_compiled=keep_compiled,
        detail=detail,
        budget=budget,
        keep=keep,
    )


def _is_gradtape(value: Any) -> bool:
    gradtape = sys.modules.get("gradtape")
    return gradtape is not None and isinstance(value, gradtape.Tensor)


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))
