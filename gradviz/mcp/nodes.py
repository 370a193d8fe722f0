"""The tool `node`: which nodes of a graph are meant, and all that is known of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

from gradviz import ir
from gradviz.errors import GradvizError
from gradviz.mcp.bounds import fitted, text
from gradviz.snapshots import load
from gradviz.text import words

_MOST_ENDS = 12  # neighbours of one node that are named
_COUNTS = ("zeros", "nans", "infs")  # told where there are any
_STATISTICS = ("norm", "minimum", "maximum", "mean", "std", *_COUNTS)


def nodes(recording: str, wanted: str, first: int) -> dict[str, Any]:
    """Return all that a recording knows of the nodes that are meant.

    ``wanted`` is a row, a name, a call, a module or a line; ``*`` stands for anything.
    """
    graph = _Graph(load(recording))
    rows = [row for row in graph.order if graph.is_meant(row, wanted)]
    if not rows:
        calls = sorted({words.label(each) for each in graph.snapshot.nodes})
        shown = ", ".join(calls[:40])
        raise GradvizError(
            f"no node is {wanted!r}: name a row, an op, a parameter, a module or a "
            f"line as train.py:10. There are: {shown or 'no nodes at all'}."
        )
    told = [graph.told(row) for row in rows]
    return fitted(told, first=first, name="nodes")


class _Graph:
    """A snapshot with what is looked up again and again."""

    def __init__(self, snapshot: ir.Snapshot) -> None:
        self.snapshot = snapshot
        self.order = sorted(range(len(snapshot.nodes)), key=self._sequence)
        self.into: dict[int, list[ir.Edge]] = defaultdict(list)
        self.out_of: dict[int, list[ir.Edge]] = defaultdict(list)
        for edge in snapshot.edges:
            self.into[edge.target].append(edge)
            self.out_of[edge.source].append(edge)
        self.saved: dict[int, list[ir.Saved]] = defaultdict(list)
        for each in snapshot.saved:
            self.saved[each.node].append(each)
        self.gradients = words.gradients(snapshot)

    def _sequence(self, row: int) -> int:
        sequence = self.snapshot.nodes[row].sequence
        return -1 if sequence is None else sequence

    def is_meant(self, row: int, wanted: str) -> bool:
        """Tell whether a node is one of those that are asked for."""
        node = self.snapshot.nodes[row]
        scope = words.scope_path(self.snapshot, node)
        names = (str(row), node.name, node.call, scope, scope.partition("#")[0])
        names += (words.place(self.snapshot, node),)
        if node.kind in ("accumulate", "leaf") and node.call.endswith(f".{wanted}"):
            return True
        return any(name and fnmatchcase(name, wanted) for name in names)

    def told(self, row: int) -> dict[str, Any]:
        """Return all that is known of a node; what is not known is left out."""
        node = self.snapshot.nodes[row]
        found: dict[str, Any] = {
            "row": row,
            "name": node.name,
            "op": words.label(node),
            "kind": node.kind,
            "module": words.scope_path(self.snapshot, node),
            "line": words.place(self.snapshot, node),
            "text": text(words.source_line(self.snapshot, node), 400),
            "arguments": [text(each, 200) for each in node.arguments[:20]],
            "inputs": [self._tensor(each) for each in node.inputs[:_MOST_ENDS]],
            "outputs": [self._tensor(each) for each in node.outputs[:_MOST_ENDS]],
            "derivative": text(node.formula, 600),
            "from": list(self._ends(edge.source for edge in self.into[row])),
            "to": list(self._ends(edge.target for edge in self.out_of[row])),
            "saved": [self._saved(each) for each in self.saved[row][:_MOST_ENDS]],
            "gradients": [
                _statistics(each) for each in self.gradients[row][:_MOST_ENDS]
            ],
            "hooks": [text(each, 200) for each in node.hooks[:_MOST_ENDS]],
            "flags": list(node.flags),
            "findings": [
                f"{each.code} {each.slug}"
                for each in self.snapshot.findings
                if row in each.nodes
            ],
        }
        return {key: value for key, value in found.items() if value not in ("", [])}

    def _ends(self, rows: Iterator[int]) -> Iterator[str]:
        """Yield "12 relu" for each neighbour, at most so many."""
        found = list(dict.fromkeys(rows))
        for row in found[:_MOST_ENDS]:
            yield f"{row} {text(words.label(self.snapshot.nodes[row]), 100)}"
        if len(found) > _MOST_ENDS:
            yield f"… {len(found) - _MOST_ENDS:,} more"

    def _tensor(self, row: int) -> dict[str, Any]:
        tensor = self.snapshot.tensors[row]
        found: dict[str, Any] = {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "dtype": tensor.dtype,
            "device": tensor.device,
            "requires_grad": tensor.requires_grad,
        }
        if tensor.statistics is not None:
            values = _statistics(self.snapshot.statistics[tensor.statistics])
            found["values"] = values
        return {key: value for key, value in found.items() if value is not None}

    def _saved(self, saved: ir.Saved) -> dict[str, Any]:
        tensor = self.snapshot.tensors[saved.tensor]
        found: dict[str, Any] = {"slot": saved.slot, "shape": list(tensor.shape)}
        if saved.version_now != saved.version_saved:
            found["overwritten"] = True
        if saved.freed:
            found["freed"] = True
        return found


def _statistics(statistics: ir.Statistics) -> dict[str, Any]:
    """Return numbers as text with four digits; JSON knows no NaN."""
    known = asdict(statistics)
    return {
        key: words.number(known[key])
        for key in _STATISTICS
        if known[key] is not None and not (key in _COUNTS and not known[key])
    }
