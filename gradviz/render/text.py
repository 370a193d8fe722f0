"""A snapshot as plain text: what a terminal, a log or a page without scripts shows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from gradviz import ir
from gradviz.analysis.ledger import ledger_sentences
from gradviz.flow.text import flow_text
from gradviz.text import words
from gradviz.text.findings import findings_text

_HEADINGS = ("op", "shape", "scope", "gradient", "source")
_WIDEST = (30, 30, 26, 22, 64)  # the last column takes what the others leave

_MOST_FINDINGS = 3

_BOLD, _DIM, _RED, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"


def to_text(
    snapshot: ir.Snapshot, color: bool = False, *, limit: int = 60, width: int = 120
) -> str:
    """Return a table of the graph: one row per node, in the order of the forward pass.

    Findings come first, the most likely cause on top. The columns are the call, the
    shape it produced, its module, the norm of the gradient that reached it (NaN and Inf
    counted) and its source line; below the table stands what is saved. At most
    ``limit`` rows are shown, those with NaN or Inf rather than others, and "… N more"
    stands for the rest. ``color`` adds terminal colours.

    >>> from gradviz import ir
    >>> print(to_text(ir.Snapshot("demo 1.0", "nothing")))
    nothing (demo 1.0): no operation with a gradient
    Nothing was recorded.
    """
    order = forward_order(snapshot)
    stats = words.gradients(snapshot)
    kept = _choose(order, stats, max(limit, 1))
    lines = [_title(snapshot, color)]
    found = findings_text(snapshot, color=color, limit=_MOST_FINDINGS)
    if found:
        lines += ["", *found.split("\n")]
    if kept:
        rows = [_row(snapshot, node, stats[node]) for node in kept]
        bad = [words.is_bad(stats[node]) for node in kept]
        heading, *table = _table(rows, bad, color, width)
        lines += ["", heading, *_with_gaps(order, dict(zip(kept, table, strict=True)))]
    elif not found and not snapshot.flow:
        lines.append("Nothing was recorded.")
    lines += _bad_gradients(snapshot, order, stats)
    if snapshot.flow:
        lines += ["", flow_text(snapshot, limit)]
    for sentence in ledger_sentences(snapshot):
        lines += textwrap.wrap(sentence, max(width, 20))
    lines += [f"Note: {words.clean(note, 400)}" for note in snapshot.notes[:10]]
    if len(snapshot.notes) > 10:
        lines.append(f"… {len(snapshot.notes) - 10:,} more notes")
    return "\n".join(lines)


def forward_order(snapshot: ir.Snapshot) -> list[int]:
    """Return all nodes as the forward pass met them, leaves just before their use."""
    keys: list[tuple[float, int]] = [
        (math.inf if node.sequence is None else node.sequence, 1)
        for node in snapshot.nodes
    ]
    for edge in snapshot.edges:
        known = snapshot.nodes[edge.target].sequence
        if snapshot.nodes[edge.source].sequence is None and known is not None:
            keys[edge.source] = min(keys[edge.source], (known, 0))
    for edge in snapshot.edges:  # what hangs below the last operation: cuts, roots
        known = snapshot.nodes[edge.source].sequence
        if keys[edge.target][0] == math.inf and known is not None:
            keys[edge.target] = (known, 2)
    return sorted(range(len(keys)), key=keys.__getitem__)


def _choose(
    order: list[int], stats: list[list[ir.Statistics]], limit: int
) -> list[int]:
    """Keep rows with bad gradients first, then the start and the end of the pass."""
    if len(order) <= limit:
        return order
    bad = [node for node in order if words.is_bad(stats[node])][: limit // 2]
    room = limit - len(bad)
    ends = order[: room - room // 2] + order[len(order) - room // 2 :]
    kept = {*bad, *ends}
    return [node for node in order if node in kept]


def _with_gaps(order: list[int], shown: dict[int, str]) -> Iterator[str]:
    """Put "… N more" wherever rows are left out."""
    missing = 0
    for node in order:
        if node not in shown:
            missing += 1
            continue
        if missing:
            yield f"… {missing:,} more"
            missing = 0
        yield shown[node]
    if missing:
        yield f"… {missing:,} more"


def _row(
    snapshot: ir.Snapshot, number: int, stats: list[ir.Statistics]
) -> tuple[str, ...]:
    node = snapshot.nodes[number]
    name = words.label(node)
    if node.kind in ("accumulate", "leaf", "cut"):
        name += f" ({'leaf' if node.kind == 'accumulate' else node.kind})"
    if node.flags:
        name += f" [{', '.join(node.flags)}]"
    place = words.place(snapshot, node)
    line = words.source_line(snapshot, node)
    return (
        name,
        words.output_shape(snapshot, node),
        words.scope_path(snapshot, node),
        words.gradient(stats),
        f"{place}  {line}".strip(),
    )


def _table(
    rows: list[tuple[str, ...]], bad: list[bool], color: bool, width: int
) -> list[str]:
    cleaned = [
        tuple(words.clean(cell, most) for cell, most in zip(row, _WIDEST, strict=True))
        for row in rows
    ]
    widths = [
        max(words.columns(row[column]) for row in [_HEADINGS, *cleaned])
        for column in range(len(_HEADINGS))
    ]
    last = max(width - sum(widths[:-1]) - 2 * len(widths[:-1]), 16)
    lines = [_paint(_join(_HEADINGS, widths, last), _DIM, color)]
    for row, is_bad in zip(cleaned, bad, strict=True):
        line = _join(row, widths, last)
        lines.append(_paint(line, _RED, color and is_bad))
    return lines


def _join(row: tuple[str, ...], widths: list[int], last: int) -> str:
    cells = [
        cell + " " * (width - words.columns(cell))
        for cell, width in zip(row[:-1], widths[:-1], strict=True)
    ]
    return "  ".join([*cells, words.clip(row[-1], last)]).rstrip()


def _title(snapshot: ir.Snapshot, color: bool) -> str:
    title = words.clean(snapshot.title, 100) or "graph"
    producer = words.clean(snapshot.producer, 60)
    named = f"{_paint(title, _BOLD, color)} ({producer})"
    if snapshot.flow and not snapshot.nodes:
        return named  # gradients of many steps were watched, and no graph was recorded
    return f"{named}: {words.summary(snapshot)}"


def _bad_gradients(
    snapshot: ir.Snapshot, order: list[int], stats: list[list[ir.Statistics]]
) -> list[str]:
    """Say where bad gradients begin: backward, that is the last node in the order."""
    bad = [node for node in order if words.is_bad(stats[node])]
    if not bad:
        return []
    node = snapshot.nodes[bad[-1]]
    place = words.place(snapshot, node)
    name = words.clean(words.label(node), 60)
    where = f"{name} ({words.clean(place, 60)})" if place else name
    count = words.counted(len(bad), "node")
    return [
        f"NaN or Inf in the gradients of {count}; on the way back, first at {where}."
    ]


def _paint(text: str, style: str, color: bool) -> str:
    return f"{style}{text}{_PLAIN}" if color else text
