"""Two graphs compared: what was added, removed and changed, in shape and gradient."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gradviz import ir
from gradviz.analysis.compare import FACTOR, DiffRow, compare, distance
from gradviz.analysis.passes import Pass
from gradviz.analysis.passes import passes as passes_of
from gradviz.analysis.subgraph import joined, subgraph
from gradviz.errors import GradvizError
from gradviz.snapshots import as_snapshot
from gradviz.text import words
from gradviz.text.table import Column, html_table, table


@dataclass(frozen=True)
class Diff:
    """What :func:`gradviz.diff` returns. False where nothing differs."""

    before: ir.Snapshot
    after: ir.Snapshot
    labels: tuple[str, str]
    rows: tuple[DiffRow, ...]  # in the order of the forward pass
    factor: float = FACTOR
    compared: str = ""  # which graphs of how many: "pass 1 → pass 3 of 3, both from …"

    @property
    def added(self) -> tuple[DiffRow, ...]:
        """Nodes of the later graph alone."""
        return self._of("added")

    @property
    def removed(self) -> tuple[DiffRow, ...]:
        """Nodes of the earlier graph alone."""
        return self._of("removed")

    @property
    def changed(self) -> tuple[DiffRow, ...]:
        """Nodes of both that differ, with what differs."""
        return self._of("changed")

    @property
    def gradients(self) -> tuple[DiffRow, ...]:
        """Nodes of both with a gradient in both, the largest change first."""
        known = [row for row in self.rows if row.ratio is not None]
        return tuple(sorted(known, key=lambda row: -distance(row.ratio or 1)))

    def snapshot(self) -> ir.Snapshot:
        """Return one snapshot with both graphs side by side, for every view of it."""
        return self._together

    @cached_property
    def _together(self) -> ir.Snapshot:
        before, after = (
            _within(each, label)
            for each, label in zip((self.before, self.after), self.labels, strict=True)
        )
        count = len(before.nodes)
        sides = (range(count), range(count, count + len(after.nodes)))
        return replace(
            joined(before, after),
            title=" → ".join(self.labels),
            parts=tuple(
                ir.Part(label, tuple(nodes))
                for label, nodes in zip(self.labels, sides, strict=True)
            ),
        )

    def to_text(self, *, limit: int | None = None, width: int = 120) -> str:
        """Return the rows as text, "+", "-" and "~" in front, at most ``limit``."""
        return diff_text(self, limit=limit, width=width)

    def _repr_html_(self) -> str:
        return diff_html(self, limit=1_000)

    def __bool__(self) -> bool:
        return any(row.kind != "same" for row in self.rows)

    def __repr__(self) -> str:
        return self.to_text(limit=60)

    def _of(self, kind: str) -> tuple[DiffRow, ...]:
        return tuple(row for row in self.rows if row.kind == kind)


def diff(
    a: object,
    b: object = None,
    *,
    passes: tuple[int, int] | None = None,
    factor: float = FACTOR,
) -> Diff:
    """Compare two graphs: before and after an edit, or two steps of one recording.

    ``a`` and ``b`` are snapshots, recorders or tensors with a graph. Of a recording
    with several backward passes the last one is compared; with ``b`` left out, the
    last pass of ``a`` with the first that came from the same line, so that each loss
    of a step is compared with its own. ``passes`` chooses others, counted from 0, or
    from the end with negative numbers. Nodes correspond by module, call and order.
    A gradient's norm is a change where it grew or shrank by ``factor`` or more.
    ``gradviz.show(gradviz.diff(a, b))`` draws both graphs, with marks.

    >>> import torch, gradviz
    >>> x = torch.ones(3, requires_grad=True)
    >>> found = gradviz.diff(x.exp().sum(), x.tanh().sum())
    >>> [(row.kind, row.label) for row in found.rows]
    [('same', 'x'), ('removed', 'exp'), ('added', 'tanh'), ('same', 'sum')]
    """
    if factor <= 1:
        raise ValueError(f"factor is how many times larger, above 1, not {factor}")
    first = as_snapshot(a)
    second = first if b is None else as_snapshot(b)
    at = passes or (_like_last(first) if b is None else (-1, -1))
    sides = [_choose(each, i) for each, i in zip((first, second), at, strict=True)]
    compared = "" if b is not None or first.parts else _compared(first, at)
    labels = [label for label, _ in sides] if b is None else ["before", "after"]
    before, after = (side for _, side in sides)
    rows = tuple(compare(before, after, factor))
    return Diff(before, after, (labels[0], labels[1]), rows, factor, compared)


def _like_last(snapshot: ir.Snapshot) -> tuple[int, int]:
    """Choose the last pass, and the first other one that ended at the same line."""
    found = passes_of(snapshot)
    sites = [_end_of(snapshot, each).site if each.nodes else -1 for each in found]
    alike = [at for at, site in enumerate(sites[:-1]) if site == sites[-1]]
    return (alike[0] if alike else 0, -1)


def _compared(snapshot: ir.Snapshot, at: tuple[int, int]) -> str:
    """Say which passes are compared, of how many, and where they came from."""
    found = passes_of(snapshot)
    before, after = (found[each] for each in at)
    lines = [
        words.place(snapshot, _end_of(snapshot, each)) if each.nodes else ""
        for each in (before, after)
    ]
    if lines[0] == lines[1]:
        text = f"{before.label} → {after.label} of {len(found)}"
        return f"{text}, both from {lines[0]}" if lines[0] else text
    named = (
        f"{each.label} ({line or 'line not known'})"
        for each, line in zip((before, after), lines, strict=True)
    )
    return f"{' → '.join(named)} of {len(found)}"


def _end_of(snapshot: ir.Snapshot, one: Pass) -> ir.OpNode:
    return snapshot.nodes[one.nodes[-1]]


def one_pass(snapshot: ir.Snapshot, at: int = -1) -> ir.Snapshot:
    """Return one backward pass of a recording as a graph, as ``diff`` compares it."""
    return _choose(snapshot, at)[1]


def _choose(snapshot: ir.Snapshot, at: int) -> tuple[str, ir.Snapshot]:
    """Return one pass of a snapshot as a snapshot, its gradients on its nodes."""
    found = passes_of(snapshot)
    if not -len(found) <= at < len(found):
        raise GradvizError(
            f"There is no pass {at}: passes are counted from 0, and {len(found)} were "
            "recorded."
        )
    one = found[at]
    nodes = tuple(
        replace(node, grad_outputs=_gradients(node, one.gradients.get(number)))
        for number, node in enumerate(snapshot.nodes)
    )
    whole = replace(snapshot, nodes=nodes, parts=())
    is_all = len(one.nodes) == len(nodes)
    part = replace(whole, events=()) if is_all else subgraph(whole, one.nodes)
    sources = {edge.source for edge in part.edges}
    ends = tuple(
        row
        for row, node in enumerate(part.nodes)
        if row not in sources and node.kind != "cut"
    )
    return one.label, replace(part, roots=part.roots or ends)


def _gradients(node: ir.OpNode, row: int | None) -> tuple[int, ...]:
    """Return the node's gradients with that of a pass in the first known place."""
    if row is None:
        return ()
    rows = list(node.grad_outputs) or [row]
    at = next((i for i, each in enumerate(rows) if each >= 0), 0)
    return (*rows[:at], row, *rows[at + 1 :])


def _within(snapshot: ir.Snapshot, label: str) -> ir.Snapshot:
    """Put a graph into a scope of that name, so that it stays together in a view."""
    top = ir.Scope(path=label, name=label, kind="")
    scopes = tuple(
        replace(
            scope,
            path=f"{label}.{scope.path}",
            parent=0 if scope.parent is None else scope.parent + 1,
        )
        for scope in snapshot.scopes
    )
    nodes = tuple(
        replace(node, scope=0 if node.scope is None else node.scope + 1)
        for node in snapshot.nodes
    )
    return replace(snapshot, scopes=(top, *scopes), nodes=nodes)


# ---- as text and as HTML ------------------------------------------------------------

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "same": "="}
_COLUMNS = (
    Column("", 1),
    Column("op", 30),
    Column("what", 90),
    Column("module", 40),
    Column("line", 60),
)


def diff_text(diff: Diff, *, limit: int | None, width: int) -> str:
    """Return a summary and a row per difference, aligned."""
    lines = [summary(diff)]
    rows = [_cells(row) for row in diff.rows if row.kind != "same"]
    if rows:
        lines += table(_COLUMNS, rows, limit=limit, width=width)[1:]
    return "\n".join([*lines, *_largest(diff)])


def diff_html(diff: Diff, *, limit: int) -> str:
    """Return the same for a notebook."""
    rows = [_cells(row) for row in diff.rows if row.kind != "same"]
    body = html_table(_COLUMNS, rows, limit=limit) if rows else ""
    return f"<p>{html.escape(summary(diff))}</p>{body}"


def summary(diff: Diff) -> str:
    """Return the counts in one line."""
    same = len(diff.rows) - len(diff.added) - len(diff.removed) - len(diff.changed)
    before, after = (words.clean(label, 60) for label in diff.labels)
    counts = f"{len(diff.added):,} added, {len(diff.removed):,} removed"
    compared = words.clean(diff.compared, 200) or f"{before} → {after}"
    return f"{compared}: {counts}, {len(diff.changed):,} changed, {same:,} same"


def _largest(diff: Diff) -> list[str]:
    """Name the gradient that changed most, where any did."""
    first = next(iter(diff.gradients), None)
    if first is None or first.ratio is None or first.ratio == 1:
        return []
    name = words.clean(first.label, 60)
    pairs = words.counted(len(diff.gradients), "gradient")
    times = words.number(first.ratio)
    return [f"{pairs} compared; the largest change of a norm is ×{times} at {name}."]


def _cells(row: DiffRow) -> Sequence[str]:
    return (
        _SIGNS[row.kind],
        row.label,
        "; ".join(row.changes),
        row.scope,
        row.place,
    )
