"""The ledger as text and as HTML: saved tensors first, then NaN and Inf."""

from __future__ import annotations

import html
from collections.abc import Sequence

from gradviz import ir
from gradviz.analysis.ledger import BadRow, Ledger, SavedRow, ledger_of
from gradviz.render._table import Column, html_table, table
from gradviz.render._words import clean, counted, size

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
    kept = size(ledger.kept_bytes)
    if ledger.parameter_bytes:
        kept += f" ({size(ledger.parameter_bytes)} of it parameters)"
    parts = [f"{kept} kept" if ledger.kept_bytes else "nothing kept"]
    if ledger.freed_bytes:
        parts.append(f"{size(ledger.freed_bytes)} freed")
    modified = sum(row.modified for row in ledger.saved)
    if modified:
        parts.append(f"{counted(modified, 'tensor')} overwritten since")
    return (
        f"Saved tensors: {len(ledger.saved):,} in {counted(len(storages), 'storage')}, "
        + ", ".join(parts)
        + "."
    )


def bad_sentence(ledger: Ledger) -> str:
    """Say where NaN and Inf begin, and how many places they reach."""
    if not ledger.bad:
        return "NaN and Inf: none was seen."
    fates = ("birth", "propagated", "healed")
    counts = [sum(row.fate == fate for row in ledger.bad) for fate in fates]
    born, carried, healed = counts
    text = (
        f"NaN and Inf: {counted(born, 'birth')}, {carried:,} propagated, "
        f"{healed:,} healed"
    )
    first = next((row for row in ledger.bad if row.fate == "birth"), None)
    if first is None:
        return f"{text}."
    at = clean(f"{first.op} {first.place}".rstrip(), 90)
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
    return size(row.nbytes) if row.counted else f"in #{row.storage}"


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
