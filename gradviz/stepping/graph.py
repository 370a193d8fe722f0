"""The nodes a backward pass will walk, and what is known of each, on either engine."""

from __future__ import annotations

import os
import re
import sys
import weakref
from collections.abc import Set
from typing import Any

from gradviz import ir
from gradviz._capture.names.tensors import names_in_frame
from gradviz._capture.open_log import RecordedSites
from gradviz.errors import CaptureError
from gradviz.program.places import Places

_ENTRY = re.compile(r'^  File "(.*)", line (\d+), in ', re.MULTILINE)
"""An entry of the traceback that PyTorch's anomaly mode keeps with a node."""


class Graph:
    """The nodes behind a tensor. Walks iteratively: graphs can be very deep."""

    def __init__(self, loss: Any, frame: Any) -> None:
        if getattr(loss, "grad_fn", None) is None:
            raise CaptureError(
                "there is no graph to step through: the tensor has no grad_fn. It was "
                "made from tensors that need no gradient, under no_grad, or detached."
            )
        self.root = loss.grad_fn
        self.nodes = nodes_behind(self.root)
        self._places = Places()
        self._recorded = RecordedSites()
        self._names = names_in_frame(frame, type(loss))

    def site(self, node: Any) -> ir.Site | None:
        """Return the user's line that made a node.

        gradtape always knows it; PyTorch where the forward pass was recorded, or where
        anomaly mode was on.
        """
        raw = getattr(node, "raw_site", None) or self._recorded.of(node)
        if raw is not None:
            return self._places.site(raw)
        found = _ENTRY.findall("".join(node.metadata.get("traceback_", ())))
        ours = [entry for entry in found if f"{os.sep}torch{os.sep}" not in entry[0]]
        if not ours:
            return None
        file, line = ours[-1][0], int(ours[-1][1])
        text = self._places.source_line(file, line)
        return ir.Site(file, line, line, None, None, text)

    def module(self, node: Any) -> str:
        """Return the path of the module call that made a node."""
        scope = getattr(node, "scope", None)
        names: list[str] = []
        while scope is not None and hasattr(scope, "parent"):
            names.append(scope.name)
            scope = scope.parent
        return ".".join(reversed(names))

    def names_without(self, places: Set[int]) -> list[str]:
        """Return the names of the nodes that are at none of these places."""
        pairs = enumerate(self.nodes)
        return [type(node).__name__ for i, node in pairs if i not in places]

    def leaf(self, node: Any) -> str:
        """Return the name of the leaf that an AccumulateGrad writes to."""
        variable = leaf_of(node)
        return "" if variable is None else self._names.get(id(variable), "a leaf")


def leaf_of(node: Any) -> Any:
    """Return the leaf of an AccumulateGrad, None for other nodes."""
    return node.variable if type(node).__name__ == "AccumulateGrad" else None


def weak_leaf(node: Any) -> weakref.ref[Any] | None:
    """Return a weak reference to the leaf of an AccumulateGrad."""
    variable = leaf_of(node)
    return None if variable is None else weakref.ref(variable)


def engine_of(loss: Any) -> Any:
    """Return the module, torch or gradtape, whose tensor this is."""
    name = type(loss).__module__.partition(".")[0]
    module = sys.modules.get("torch" if name == "torch" else "gradtape")
    if module is None or not isinstance(loss, module.Tensor):
        raise CaptureError(
            f"expected a tensor of PyTorch or gradtape, got {type(loss).__qualname__}"
        )
    return module


def nodes_behind(root: Any) -> list[Any]:
    """Return a node and all that a pass from it can reach, each once."""
    found: dict[Any, None] = {root: None}
    waiting = [root]
    while waiting:
        for following, _ in waiting.pop().next_functions:
            if following is not None and following not in found:
                found[following] = None
                waiting.append(following)
    return list(found)
