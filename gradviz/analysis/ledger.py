"""The ledger of a snapshot: every saved tensor, and every NaN and Inf with its fate.

It reads the tables only, so it answers for graphs that are broken, freed or on file.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gradviz import ir
from gradviz.analysis.nonfinite import BadRow, bad_rows
from gradviz.snapshots import as_snapshot
from gradviz.text import words
from gradviz.text.table import Column, html_table, table


@dataclass(frozen=True, slots=True)
class SavedRow:
    """One tensor that one node keeps for its derivative."""

    node: int
    op: str
    slot: str  # "_saved_self"
    name: str  # of the tensor; "" where it has none
    shape: tuple[int, ...]
    dtype: str
    storage: int | None
    nbytes: int | None  # of its whole storage, which is what stays alive
    counted: bool  # the row of its storage that the totals count
    version_saved: int
    version_now: int
    freed: bool
    hooked: bool  # packed by a saved-tensors hook
    writers: tuple[str, ...]  # who wrote since it was saved: "mul_ train.py:12"
    place: str  # "train.py:9", the line of the op

    @property
    def modified(self) -> bool:
        """Whether the memory was written after it was saved."""
        return self.version_now != self.version_saved


@dataclass(frozen=True, slots=True)
class Ledger:
    """What :func:`gradviz.ledger` returns; its text is an aligned table."""

    title: str
    saved: tuple[SavedRow, ...]
    bad: tuple[BadRow, ...]
    kept_bytes: int  # of storages that nodes still hold, each counted once
    parameter_bytes: int  # the part of it that parameters hold anyway
    freed_bytes: int  # of storages that every node has let go of

    def to_text(self, *, limit: int | None = None, width: int = 120) -> str:
        """Return both tables as text, at most ``limit`` rows of each."""
        return ledger_text(self, limit=limit, width=width)

    def __repr__(self) -> str:
        return self.to_text(limit=60)

    def _repr_html_(self) -> str:
        return ledger_html(self, limit=1_000)


def ledger(x: object) -> Ledger:
    """List every saved tensor of a graph, and where NaN and Inf begin and end.

    ``x`` is a snapshot, a recorder, or a tensor with a graph behind it, which may be
    freed or broken. The sizes are those of whole storages in bytes, each counted once.
    Raises CaptureError where there is no graph.

    >>> import torch, gradviz
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with gradviz.record(title="log") as rec:
    ...     x.exp().sum().backward()
    >>> book = gradviz.ledger(rec)
    >>> [(row.op, row.slot, row.shape, row.nbytes, row.freed) for row in book.saved]
    [('exp', '_saved_result', (2,), 8, True)]
    """
    return ledger_of(as_snapshot(x))


def ledger_of(snapshot: ir.Snapshot) -> Ledger:
    """Return the ledger of a snapshot."""
    saved = _saved_rows(snapshot)
    sizes = {row.storage: row.nbytes or 0 for row in saved}
    sizes.pop(None, None)
    kept = {row.storage for row in saved if not row.freed} & sizes.keys()
    parameters = {
        snapshot.tensors[tensor].storage
        for node in snapshot.nodes
        if node.kind in ("accumulate", "leaf")
        for tensor in node.outputs
    }
    return Ledger(
        title=snapshot.title,
        saved=saved,
        bad=tuple(bad_rows(snapshot)),
        kept_bytes=sum(sizes[each] for each in kept),
        parameter_bytes=sum(sizes[each] for each in kept & parameters),
        freed_bytes=sum(size for each, size in sizes.items() if each not in kept),
    )


def _saved_rows(snapshot: ir.Snapshot) -> tuple[SavedRow, ...]:
    counted = _first_of_storage(snapshot)
    writes: dict[int, list[ir.Write]] = defaultdict(list)
    for write in snapshot.writes:
        writes[write.storage].append(write)
    rows: list[SavedRow] = []
    for number, saved in enumerate(snapshot.saved):
        node, tensor = snapshot.nodes[saved.node], snapshot.tensors[saved.tensor]
        storage = tensor.storage
        row = None if storage is None else snapshot.storages[storage]
        since = [
            each
            for each in (() if storage is None else writes[storage])
            if saved.version_saved < each.version <= saved.version_now
        ]
        rows.append(
            SavedRow(
                node=saved.node,
                op=words.label(node),
                slot=saved.slot,
                name=tensor.name or "",
                shape=tensor.shape,
                dtype=tensor.dtype,
                storage=storage,
                nbytes=None if row is None else row.nbytes,
                counted=number in counted,
                version_saved=saved.version_saved,
                version_now=saved.version_now,
                freed=saved.freed,
                hooked=saved.hooked,
                writers=tuple(_writer(snapshot, each) for each in since),
                place=words.place(snapshot, node),
            )
        )
    return tuple(rows)


def _first_of_storage(snapshot: ir.Snapshot) -> set[int]:
    """Return the rows to count: one for each storage, one that is kept if any is."""
    first: dict[int, int] = {}
    for wanted in (False, True):  # kept rows first, then what is freed everywhere
        for number, saved in enumerate(snapshot.saved):
            storage = snapshot.tensors[saved.tensor].storage
            if storage is not None and saved.freed is wanted:
                first.setdefault(storage, number)
    return set(first.values())


def _writer(snapshot: ir.Snapshot, write: ir.Write) -> str:
    return f"{write.op} {words.place_of_site(snapshot, write.site)}".rstrip()


# ---- as text and as HTML ------------------------------------------------------------

_SAVED = (
    Column("op", 26),
    Column("slot", 24),
    Column("tensor", 26),
    Column("shape", 26),
    Column("dtype", 14),
    Column("bytes", right=True),
    Column("version", 24),
    Column("state", 24),
    Column("line", 60),
)
_BAD = (
    Column("op", 26),
    Column("where", 8),
    Column("what", 4),
    Column("fate", 10),
    Column("count", right=True),
    Column("first at", 22),
    Column("cause", 40),
    Column("line", 60),
)


def ledger_text(ledger: Ledger, *, limit: int | None, width: int) -> str:
    """Return both tables under a line that sums each up."""
    lines = [saved_sentence(ledger)]
    if ledger.saved:
        lines += table(_SAVED, _saved_cells(ledger), limit=limit, width=width)
    lines += ["", bad_sentence(ledger)]
    if ledger.bad:
        lines += table(
            _BAD, [_bad(row) for row in ledger.bad], limit=limit, width=width
        )
    return "\n".join(lines)


def ledger_html(ledger: Ledger, *, limit: int) -> str:
    """Return the same for a notebook."""
    parts = [f"<p>{html.escape(saved_sentence(ledger))}</p>"]
    if ledger.saved:
        parts.append(html_table(_SAVED, _saved_cells(ledger), limit=limit))
    parts.append(f"<p>{html.escape(bad_sentence(ledger))}</p>")
    if ledger.bad:
        parts.append(html_table(_BAD, [_bad(row) for row in ledger.bad], limit=limit))
    return "".join(parts)


def ledger_sentences(snapshot: ir.Snapshot) -> list[str]:
    """Return the ledger in short: a sentence for each table that has rows."""
    ledger = ledger_of(snapshot)
    return [
        *([saved_sentence(ledger)] if ledger.saved else []),
        *([bad_sentence(ledger)] if ledger.bad else []),
    ]


def saved_sentence(ledger: Ledger) -> str:
    """Say how much is kept, each storage counted once."""
    if not ledger.saved:
        return "Saved tensors: none."
    storages = {row.storage for row in ledger.saved} - {None}
    kept = words.size(ledger.kept_bytes)
    if ledger.parameter_bytes:
        kept += f" ({words.size(ledger.parameter_bytes)} of it parameters)"
    parts = [f"{kept} kept" if ledger.kept_bytes else "nothing kept"]
    if ledger.freed_bytes:
        parts.append(f"{words.size(ledger.freed_bytes)} freed")
    modified = sum(row.modified for row in ledger.saved)
    if modified:
        parts.append(f"{words.counted(modified, 'tensor')} overwritten since")
    return (
        f"Saved tensors: {len(ledger.saved):,} in "
        f"{words.counted(len(storages), 'storage')}, {', '.join(parts)}."
    )


def bad_sentence(ledger: Ledger) -> str:
    """Say where NaN and Inf begin, and how many places they reach."""
    if not ledger.bad:
        return "NaN and Inf: none was seen."
    fates = ("birth", "propagated", "healed")
    counts = [sum(row.fate == fate for row in ledger.bad) for fate in fates]
    born, carried, healed = counts
    text = (
        f"NaN and Inf: {words.counted(born, 'birth')}, {carried:,} propagated, "
        f"{healed:,} healed"
    )
    first = next((row for row in ledger.bad if row.fate == "birth"), None)
    if first is None:
        return f"{text}."
    at = words.clean(f"{first.op} {first.place}".rstrip(), 90)
    return f"{text}; first {first.kind} in the {first.where} of {at}."


def _saved_cells(ledger: Ledger) -> Sequence[Sequence[str]]:
    return [_saved(row) for row in ledger.saved]


def _saved(row: SavedRow) -> tuple[str, ...]:
    return (
        row.op,
        row.slot,
        row.name,
        str(row.shape),
        row.dtype,
        _bytes(row),
        _versions(row),
        ", ".join(_states(row)),
        "; ".join([row.place, *(f"written by {each}" for each in row.writers)]),
    )


def _bytes(row: SavedRow) -> str:
    if row.nbytes is None:
        return "?"
    return words.size(row.nbytes) if row.counted else f"in #{row.storage}"


def _versions(row: SavedRow) -> str:
    versions = f"{row.version_saved} → {row.version_now}"
    return f"{versions} modified" if row.modified else versions


def _states(row: SavedRow) -> list[str]:
    return ["freed" if row.freed else "kept", *(["packed by a hook"] * row.hooked)]


def _bad(row: BadRow) -> tuple[str, ...]:
    first = "" if row.first is None else str(row.first)
    return (
        row.op,
        row.where,
        row.kind,
        row.fate,
        f"{row.count:,}",
        first,
        row.cause,
        row.place,
    )
