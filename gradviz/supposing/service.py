"""Questions of a view: what if, at this edge or node."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from gradviz import ir
from gradviz._capture import read_graph
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.session import Session
from gradviz.errors import CaptureError
from gradviz.services import Request, Service, State
from gradviz.stepping.check import check_service
from gradviz.supposing.arrival import words_of
from gradviz.supposing.rows import Rows, number_of
from gradviz.supposing.side_pass import SidePass
from gradviz.supposing.walk import Plan
from gradviz.supposing.what_if import WhatIf

_LOSS_GONE = "the graph is gone: keep the loss in a variable"
_RECORDING_GONE = "the recording is gone: keep it in a variable"

Find = Callable[[], tuple[Any, ir.Snapshot]]
"""Finds the loss, and the snapshot whose rows the view knows."""


class WhatIfService:
    """Holds the changes that were asked for, and what would reach whom with them."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._changes: list[Request] = []
        self._state: State = _NOTHING

    def state(self) -> State:
        """Return the changes in words, a row for each leaf, and the hooks left out."""
        return self._state

    def answer(self, request: Request) -> None:
        """Add a change, take the last one back, or forget all."""
        command = request.get("command")
        changes = {
            "add": [*self._changes, request],
            "undo": self._changes[:-1],
            "clear": [],
        }.get(str(command))
        if changes is None:
            raise ValueError(f"there is no command {command!r}")
        self._state = self._answered(changes)
        self._changes = changes

    def _answered(self, changes: list[Request]) -> State:
        if not changes:
            return _NOTHING
        loss, snapshot = self._find()
        rows = Rows(snapshot, loss.grad_fn)
        leaves = rows.leaves()
        names = {node: snapshot.nodes[row].call for node, row in leaves.items()}
        asked = WhatIf(SidePass(loss, None, None, names), Plan())
        for change in changes:
            asked = _changed(asked, rows, snapshot, change)
        return {
            "changes": list(asked.changes),
            "hooks": list(asked.hooks),
            "rows": [
                {
                    "name": each.name,
                    "node": leaves.get(leaf),
                    "did": words_of(each.did),
                    "would": words_of(each.would),
                    "cosine": words_of(each.cosine),
                }
                for each, leaf in zip(asked.arrivals, asked.leaves, strict=True)
            ],
        }


_NOTHING: State = {"changes": [], "hooks": [], "rows": []}


def _changed(
    asked: WhatIf, rows: Rows, snapshot: ir.Snapshot, change: Request
) -> WhatIf:
    how, row = change["how"], change["row"]
    if change["of"] == "edge":
        at: Any = rows.input(row)
    elif how == "uncut" and snapshot.nodes[row].kind == "cut":
        return asked.joined(*rows.around(row), f"{snapshot.nodes[row].name} uncut")
    else:
        at = rows.output(row)
    if how in ("scale", "replace"):
        return getattr(asked, how)(at, float(change["value"]))
    if how in ("cut", "uncut", "without"):
        return getattr(asked, how)(at)
    raise ValueError(f"there is no change {how!r}")


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

    return {**check_service(loss), "what_if": WhatIfService(find)}


def recording_services(
    reference: weakref.ref[Session],
) -> Mapping[str, Service]:
    """Return what a view of a recording can ask of its last pass, if that is kept."""
    known: list[ir.Snapshot] = []

    def find() -> tuple[Any, ir.Snapshot]:
        session = reference()
        if session is None:
            raise CaptureError(_RECORDING_GONE)
        snapshot = known[0] if known else session.snapshot()
        known[:] = [snapshot]
        rows = [snapshot.nodes[row] for row in snapshot.roots]
        roots = {(row.sequence, row.name) for row in rows}
        for tensor in session.living():
            node = grad_fn_of(tensor)
            if node is not None and number_of(node) in roots:
                return tensor, snapshot
        raise CaptureError(_LOSS_GONE)

    return {"what_if": WhatIfService(find)}
