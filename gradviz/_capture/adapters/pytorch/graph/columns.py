"""What a look at a finished graph of PyTorch keeps: plain values, in columns."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gradviz._capture.adapters.pytorch.graph.node_classes import NodeClass
from gradviz._capture.names.hooks import Hook

# Columns and a few shared tuples: what a look writes to memory is most of its time.

Result: TypeAlias = tuple[tuple[int, ...], Any, Any]
"""What a node remembers of an output: shape, dtype, device."""

Facts: TypeAlias = tuple[
    Any, tuple[int, ...], int, Any, Any, int, int, bool, bool, bool
]
"""One tensor as it is now: shape, strides, offset, dtype, device (PyTorch's objects),
address of its storage (0: none), version, requires_grad, is_leaf, is_view."""

Kept: TypeAlias = tuple[str, int, int, int, bool]
"""A tensor that a node saved: slot, place among the look's tensors, version when it was
saved, version now, whether a hook packed it."""

Edge: TypeAlias = tuple[int, int] | None
"""The place of the node that made an input, and which of its outputs that is."""


@dataclass(slots=True)
class GraphColumns:
    """What was seen; a node is known by its place, roots first."""

    roots: int = 0  # how many nodes are roots
    classes: list[NodeClass] = field(default_factory=list[NodeClass])
    sequences: list[int] = field(default_factory=list[int])
    edges: list[int] = field(default_factory=list[int])
    """Node and output of each input in turn; -1 and 0 for one without a node."""
    edge_ends: list[int] = field(default_factory=list[int])  # of a node's, among them
    saved: list[Any] = field(default_factory=list[Any])  # slot and tensor in turn
    saved_ends: list[int] = field(default_factory=list[int])
    odd: dict[tuple[int, str], Kept] = field(default_factory=dict[Any, Kept])
    """Saved tensors that were written to or packed, by node and slot."""
    results: list[Sequence[Result]] = field(default_factory=list[Any])
    freed: set[int] = field(default_factory=set[int])
    views: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, Any])
    hooks: dict[int, tuple[Hook, ...]] = field(default_factory=dict[int, Any])
    packed: dict[tuple[int, str, int], str] = field(default_factory=dict[Any, str])
    stacks: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    files: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Lines, as they were, of files with hooks or lines of the user's."""
    tensors: list[Facts] = field(default_factory=list[Facts])
    names: dict[int, str] = field(default_factory=dict[int, str])  # of tensors
    outputs: dict[tuple[int, int], int] = field(default_factory=dict[Any, int])
    storages: dict[int, tuple[int, int]] = field(default_factory=dict[int, Any])
    """Bytes, and bytes of an element."""
    leaves: dict[int, tuple[weakref.ref[Any], int]] = field(
        default_factory=dict[int, Any]
    )
    """By id of the tensor."""
    counts: dict[int, int] = field(default_factory=dict[int, int])
    """Of nodes that stand for several: how many."""
    folded: str = ""  # what is said of that

    def edges_of(self, number: int) -> list[Edge]:
        """Return the inputs of a node."""
        part = self.edges[_before(self.edge_ends, number) : self.edge_ends[number]]
        pairs = zip(part[::2], part[1::2], strict=True)
        return [None if edge[0] < 0 else edge for edge in pairs]

    def kept_by(self, number: int) -> list[Kept]:
        """Return the tensors that a node saved."""
        part = self.saved[_before(self.saved_ends, number) : self.saved_ends[number]]
        rows: list[Kept] = []
        for slot, place in zip(part[::2], part[1::2], strict=True):
            version = self.tensors[place][6]  # was not written to, or is odd
            plain = slot, place, version, version, False
            rows.append(self.odd.get((number, slot), plain))
        return rows


def _before(ends: list[int], number: int) -> int:
    return ends[number - 1] if number else 0
