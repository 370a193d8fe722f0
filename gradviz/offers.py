"""What a view of a live graph, or of a recording, can ask the kernel for."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradviz import ir
from gradviz._capture import read_graph
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.session import Session
from gradviz.errors import CaptureError
from gradviz.services import Service
from gradviz.stepping.check import check_service
from gradviz.supposing.rows import number_of
from gradviz.supposing.service import WhatIfService
from gradviz.values import ValuesService

_LOSS_GONE = "the graph is gone: keep the loss in a variable"
_RECORDING_GONE = "the recording is gone: keep it in a variable"


def graph_services(loss: Any) -> Mapping[str, Service]:
    """Return what a view of the graph behind a tensor can ask, which it forgets."""
    try:
        reference = weakref.ref(loss)
    except TypeError:
        return {}

    def find() -> tuple[Any, ir.Snapshot]:
        tensor = reference()
        if tensor is None:
            raise CaptureError(_LOSS_GONE)
        return tensor, read_graph(tensor)[0]

    return {**check_service(loss), **_of_graph(find, list)}


def recording_services(reference: weakref.ref[Session]) -> Mapping[str, Service]:
    """Return what a view of a recording can ask of its last pass, if that is kept."""
    known: list[ir.Snapshot] = []

    def session() -> Session:
        found = reference()
        if found is None:
            raise CaptureError(_RECORDING_GONE)
        return found

    def find() -> tuple[Any, ir.Snapshot]:
        snapshot = known[0] if known else session().snapshot()
        known[:] = [snapshot]
        rows = [snapshot.nodes[row] for row in snapshot.roots]
        roots = {(row.sequence, row.name) for row in rows}
        for tensor in session().living():
            node = grad_fn_of(tensor)
            if node is not None and number_of(node) in roots:
                return tensor, snapshot
        raise CaptureError(_LOSS_GONE)

    return _of_graph(find, lambda: session().living())


def _of_graph(
    find: Callable[[], tuple[Any, ir.Snapshot]], living: Callable[[], Iterable[Any]]
) -> dict[str, Service]:
    return {
        "what_if": WhatIfService(find),
        "values": ValuesService(lambda: (*find(), living())),
    }
