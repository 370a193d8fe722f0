"""Capture a graph of PyTorch that nobody recorded: what the nodes remember."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from gradviz import ir
from gradviz._capture.adapters.pytorch.graph.node_classes import name_of
from gradviz._capture.adapters.pytorch.graph.rows import TorchRows, order
from gradviz._capture.adapters.pytorch.graph.walk import read_columns
from gradviz._capture.adapters.pytorch.limitations import notes_of
from gradviz._capture.adapters.pytorch.producer import producer
from gradviz._capture.adapters.pytorch.versions import refuse_older
from gradviz._capture.names.tensors import grad_fn_of, tensors_in_frame
from gradviz._capture.names.user_code import users_frame
from gradviz._capture.recorder.gc_pause import collector_paused
from gradviz._capture.recorder.lazy_rows import later


class TorchFinished:
    """A finished graph as it was when it was looked at, without its tensors.

    Looking takes a few microseconds a node; rows are made when they are asked for.
    """

    def __init__(self, losses: Sequence[Any], *, title: str = "") -> None:
        import torch

        refuse_older(torch)
        self.title = title
        self.producer = producer(torch)
        with collector_paused(), torch._C.DisableTorchFunction():
            roots = dict.fromkeys([_root_of(torch, loss) for loss in losses])
            named = tensors_in_frame(users_frame(), torch.Tensor)
            ends = [(None, loss) for loss in losses]
            self.columns = read_columns(list(roots), [*ends, *named])
        self._snapshot: ir.Snapshot | None = None

    def snapshot(self) -> ir.Snapshot:
        """Return the graph as rows."""
        if self._snapshot is None:
            folded = self.columns.folded
            notes = [*notes_of(self.columns), *([folded] if folded else [])]
            with collector_paused():
                rows = TorchRows(self.columns)
                self._snapshot = rows.snapshot(self.producer, self.title, notes)
        return self._snapshot

    def row_finder(self) -> Callable[[Any], int | None]:
        """Return a function that says which row a live node has."""
        seen = self.columns

        @cache
        def tables() -> tuple[dict[int, int], dict[tuple[int, str], int]]:
            rows = {number: row for row, number in enumerate(order(seen))}
            made = {
                (sequence, cls.name): rows[number]
                for number, (cls, sequence) in enumerate(
                    zip(seen.classes, seen.sequences, strict=True)
                )
            }
            return rows, made

        def row_of(node: Any) -> int | None:
            rows, made = tables()
            leaf = getattr(node, "variable", None)
            if leaf is None:
                return made.get((node._sequence_nr(), name_of(node)))
            known = seen.leaves.get(id(leaf))
            return rows[known[1]] if known and known[0]() is leaf else None

        return row_of


def read_graph(
    losses: Sequence[Any], *, title: str
) -> tuple[ir.Snapshot, Callable[[Any], int | None]]:
    """Walk the finished graph behind tensors, which require grad.

    Returns its snapshot, with rows that are made when they are read, and which row a
    live node has in it.
    """
    found = TorchFinished(losses, title=title)
    return later(found.snapshot), found.row_finder()


def _root_of(torch: Any, loss: Any) -> Any:
    root = grad_fn_of(loss)
    if root is None:
        with torch.enable_grad():
            root = loss.view_as(loss).grad_fn.next_functions[0][0]
    return root
