"""Node by node: what of two graphs corresponds, and in what it differs."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal

from gradviz import ir
from gradviz.analysis.align import align
from gradviz.text import words

_NUMBER = re.compile(r"(?<=\.)\d+(?=[.#]|$)")

FACTOR = 10.0
"""Gradient norms that differ by less than this factor are no change of their own."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One node of either graph, or one of both that correspond."""

    kind: Literal["added", "removed", "changed", "same"]
    before: int | None  # row in the first snapshot
    after: int | None
    label: str
    scope: str
    place: str  # "train.py:9", in the later graph where it is there
    changes: tuple[str, ...] = ()  # "shape (2, 3) → (2, 4)"
    ratio: float | None = None  # of the gradient's norm, after over before


def compare(
    before: ir.Snapshot, after: ir.Snapshot, factor: float
) -> Iterator[DiffRow]:
    """Yield a row for every node of either graph, in the order of the forward pass."""
    first, second = _Side(before), _Side(after)
    first.named = second.named = not (first.only_model() and second.only_model())
    pairs = _pairs(first, second)
    partners = {new: old for old, new in pairs.items()}
    order = _interleaved(first.order, second.order, pairs)
    for old, new in order:
        if old is None and new is not None:
            yield second.row("added", None, new, new)
        elif new is None and old is not None:
            yield first.row("removed", old, None, old)
        elif old is not None and new is not None:
            changes = [*_changes(first, second, old, new)]
            changes += _rewired(first, second, old, new, pairs, partners)
            one, other = first.gradient(old), second.gradient(new)
            changes += gradient_changes(one, other, factor)
            kind = "changed" if changes else "same"
            ratio = _ratio(one, other)
            yield second.row(kind, old, new, new, tuple(changes), ratio)


class _Side:
    """One of the two graphs, with what comparing looks up again and again."""

    def __init__(self, snapshot: ir.Snapshot) -> None:
        self.snapshot = snapshot
        self.named = True  # whether the name of an outermost module has to be equal
        self.order = sorted(range(len(snapshot.nodes)), key=self._place)
        self.inputs: dict[int, dict[int, int]] = defaultdict(dict)
        for edge in snapshot.edges:
            self.inputs[edge.target][edge.input] = edge.source
        self.slots: dict[int, set[str]] = defaultdict(set)
        for saved in snapshot.saved:
            self.slots[saved.node].add(saved.slot)
        self._received = words.gradients(snapshot)
        self.tops: dict[str, tuple[str, int]] = {}  # outermost calls: module, which one
        self._number_tops()

    def _place(self, node: int) -> tuple[int, int]:
        sequence = self.snapshot.nodes[node].sequence
        return (-1 if sequence is None else sequence, node)

    def _number_tops(self) -> None:
        """Number the outermost module calls afresh: they are counted across passes."""
        counts: dict[str, int] = defaultdict(int)
        for node in self.order:
            top = words.scope_path(self.snapshot, self.snapshot.nodes[node])
            top = top.partition(".")[0]
            if top and top not in self.tops and not _is_leaf(self, node):
                name = top.partition("#")[0]
                self.tops[top] = name, counts[name]
                counts[name] += 1

    def only_model(self) -> bool:
        """Tell whether all modules are parts of one, whose class then tells nothing."""
        return len({name for name, _ in self.tops.values()}) <= 1

    def scope(self, node: int) -> tuple[object, ...]:
        path = words.scope_path(self.snapshot, self.snapshot.nodes[node])
        top, _, rest = path.partition(".")
        name, number = self.tops.get(top, (top, 0))
        return (name if self.named else bool(top), number, rest)

    def keys(self, node: int) -> list[Hashable]:
        """Return what has to be equal, the strictest first."""
        row = self.snapshot.nodes[node]
        place, what = self.scope(node), (words.label(row), row.kind == "cut")
        shapes = words.output_shape(self.snapshot, row)
        line = words.source_line(self.snapshot, row)
        full = (place, what, shapes, row.arguments, line)
        # Parts of a list go by numbers, which move when one is put in between.
        path = "." + ".".join(map(str, place[1:]))
        return [full, (place, what), (place[0], _NUMBER.sub("N", path), what)]

    def gradient(self, node: int) -> ir.Statistics | None:
        return next(iter(self._received[node]), None)

    def row(
        self,
        kind: Literal["added", "removed", "changed", "same"],
        before: int | None,
        after: int | None,
        node: int,
        changes: tuple[str, ...] = (),
        ratio: float | None = None,
    ) -> DiffRow:
        row = self.snapshot.nodes[node]
        return DiffRow(
            kind,
            before,
            after,
            words.label(row),
            words.scope_path(self.snapshot, row),
            words.place(self.snapshot, row),
            changes or ((words.output_shape(self.snapshot, row),) * (kind != "same")),
            ratio,
        )


def _pairs(first: _Side, second: _Side) -> dict[int, int]:
    """Return what corresponds: operations by place and order, leaves by name.

    A leaf that was renamed is still known by the operation that uses it.
    """
    ops = [[n for n in side.order if not _is_leaf(side, n)] for side in (first, second)]
    keys = [
        [side.keys(node) for node in nodes]
        for side, nodes in zip((first, second), ops, strict=True)
    ]
    found = {ops[0][old]: ops[1][new] for old, new in align(keys[0], keys[1])}
    users = list(found.items())
    leaves, others = _leaves(first), _leaves(second)
    found |= {node: others[name] for name, node in leaves.items() if name in others}
    taken = set(found.values())
    for old, new in users:
        inputs = second.inputs[new]
        for number, leaf in first.inputs[old].items():
            other = inputs.get(number)
            if leaf in found or other is None or other in taken:
                continue
            if _is_leaf(first, leaf) and _is_leaf(second, other):
                found[leaf] = other
                taken.add(other)
    return found


def _leaves(side: _Side) -> dict[Hashable, int]:
    """Return leaves by name, those without one by their rank."""
    found: dict[Hashable, int] = {}
    for node in side.order:
        if _is_leaf(side, node):
            name = side.snapshot.nodes[node].call
            found.setdefault(name or len(found), node)
    return found


def _is_leaf(side: _Side, node: int) -> bool:
    return side.snapshot.nodes[node].kind in ("accumulate", "leaf")


def _interleaved(
    first: list[int], second: list[int], pairs: dict[int, int]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield both orders as one: between pairs what is removed, then what is added."""
    partners = {new: old for old, new in pairs.items()}
    ranks = {node: rank for rank, node in enumerate(first)}
    begun = 0  # leaves pair by name: they may stand in another order
    added: list[int] = []
    for new in second:
        old = partners.get(new)
        if old is None:
            added.append(new)
            continue
        gap, begun = first[begun : ranks[old]], max(begun, ranks[old])
        yield from ((each, None) for each in gap if each not in pairs)
        yield from ((None, each) for each in added)
        added = []
        yield old, new
    yield from ((each, None) for each in first[begun:] if each not in pairs)
    yield from ((None, each) for each in added)


# ---- what differs --------------------------------------------------------------------


def _changes(first: _Side, second: _Side, old: int, new: int) -> Iterator[str]:
    a, b = first.snapshot.nodes[old], second.snapshot.nodes[new]
    outputs = zip(a.outputs, b.outputs, strict=False)
    for number, (row, other) in enumerate(outputs):
        one, two = first.snapshot.tensors[row], second.snapshot.tensors[other]
        of = f" of output {number}" if number else ""
        for word in ("shape", "dtype", "device"):
            if getattr(one, word) != getattr(two, word):
                yield f"{word}{of} {getattr(one, word)} → {getattr(two, word)}"
    gone = [each for each in a.arguments if each not in b.arguments]
    come = [each for each in b.arguments if each not in a.arguments]
    # Sizes of a view repeat its shape; they are told once.
    if (gone or come) and (a.kind != "view" or len(gone) != len(come)):
        yield f"arguments {', '.join(gone) or 'none'} → {', '.join(come) or 'none'}"
    for word, one, two in (
        ("hooks", set(a.hooks), set(b.hooks)),
        ("saved tensors", first.slots[old], second.slots[new]),
    ):
        for sign, names in (("without", one - two), ("with", two - one)):
            if names:
                yield f"{word} {sign} {', '.join(sorted(names))}"
    if ("modified" in a.flags) != ("modified" in b.flags):
        yield "saved tensor overwritten" + ("" if "modified" in b.flags else " no more")


def _rewired(
    first: _Side,
    second: _Side,
    old: int,
    new: int,
    pairs: dict[int, int],
    partners: dict[int, int],
) -> Iterator[str]:
    """Name inputs that come from another node; not those that are new or gone."""
    was, now = first.inputs[old], second.inputs[new]
    for number in sorted(was.keys() & now.keys()):
        source, other = was[number], now[number]
        if source in pairs and partners.get(other, source) != source:
            names = [
                words.label(side.snapshot.nodes[node])
                for side, node in ((first, source), (second, other))
            ]
            yield f"input {number} from {names[0]} → {names[1]}"


def gradient_changes(
    before: ir.Statistics | None, after: ir.Statistics | None, factor: float
) -> Iterator[str]:
    """Say how a gradient changed, where it did so by more than a factor."""
    if before is None and after is None:
        return
    if before is None or after is None:
        yield "gradient where none was" if before is None else "no gradient any more"
        return
    for word, one, two in (
        ("NaN", before.nans, after.nans),
        ("Inf", before.infs, after.infs),
    ):
        if bool(one) != bool(two):
            yield f"gradient with {two:,} {word}" if two else f"gradient without {word}"
    ratio = _ratio(before, after)
    if ratio is not None and distance(ratio) >= math.log(factor):
        norms = f"{words.number(before.norm or 0)} → {words.number(after.norm or 0)}"
        yield f"gradient norm {norms}"


def _ratio(before: ir.Statistics | None, after: ir.Statistics | None) -> float | None:
    if before is None or after is None or before.norm is None or after.norm is None:
        return None
    if before.norm == 0:
        return 1.0 if after.norm == 0 else math.inf
    return after.norm / before.norm


def distance(ratio: float) -> float:
    """Return how far a ratio is from 1, whichever way: the size of its logarithm."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf
