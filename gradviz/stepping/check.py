"""The check of one node's derivative, as a view asks for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from gradviz.derivative import check_node
from gradviz.errors import CaptureError
from gradviz.services import Request, Service, State, sentence
from gradviz.stepping.graph import nodes_behind

_SHOWN = 8  # entries that differ
_LOSS_GONE = "the graph is gone: keep the tensor that was shown in a variable"

Find = Callable[[int], tuple[Any, Any]]
"""From a row of the snapshot to the graph's root and the node; either may be gone."""


class CheckService:
    """Answers for one node at a time; the view shows what was said about which."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._row: int | None = None
        self._said = ""
        self._agrees = False
        self._entries: list[State] = []

    def state(self) -> State:
        """Return which node was checked last, and what was found."""
        return {
            "node": self._row,
            "said": self._said,
            "agrees": self._agrees,
            "entries": self._entries,
        }

    def answer(self, request: Request) -> None:
        """Check the derivative of a node."""
        row = self._row = request["node"]
        self._said, self._agrees, self._entries = "", False, []
        try:
            root, node = self._find(row)
            if root is None:
                raise CaptureError(_LOSS_GONE)
            if node is None:
                raise CaptureError("this node is not part of the graph any more")
            report, names = check_node(node, root)
        except CaptureError as error:
            self._said = "Not checked: " + sentence(str(error))
            return
        self._said, self._agrees = repr(report), report.agrees
        self._entries = [
            {
                "place": _place(names, report.input or 0, index),
                "backward": f"{analytic:.6g}",
                "numeric": f"{numeric:.6g}",
                "ratio": f"{analytic / numeric:.4g}" if numeric else "–",
            }
            for index, analytic, numeric in report.entries[:_SHOWN]
        ]


def check_service(loss: Any) -> Mapping[str, Service]:
    """Return the service for a view of the graph behind a tensor, which it forgets."""
    try:
        reference = weakref.ref(loss)
    except TypeError:
        return {}

    def find(row: int) -> tuple[Any, Any]:
        tensor = reference()
        if tensor is None:
            return None, None
        from gradviz._capture import read_graph

        row_of = read_graph(tensor)[1]
        root = tensor.grad_fn
        found = (node for node in nodes_behind(root) if row_of(node) == row)
        return root, next(found, None)

    return {"check": CheckService(find)}


def _place(names: tuple[str, ...], number: int, index: tuple[int, ...]) -> str:
    name = names[number] if number < len(names) else f"input {number}"
    return name + (str(list(index)) if index else "")
