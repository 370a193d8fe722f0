"""Questions of a view: what if, at this edge or node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradviz import ir
from gradviz.services import Request, State
from gradviz.supposing.arrival import words_of
from gradviz.supposing.rows import Rows
from gradviz.supposing.side_pass import SidePass
from gradviz.supposing.walk import Plan
from gradviz.supposing.what_if import WhatIf

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
