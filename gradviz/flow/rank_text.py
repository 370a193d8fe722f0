"""The processes of one training side by side, as text."""

from __future__ import annotations

import math

from gradviz import ir
from gradviz.flow.ranks import Cell, Ranks, number_text, span, times_of
from gradviz.text.words import aligned, clean, counted

_MOST_LAYERS = 20


def ranks_text(snapshot: ir.Snapshot) -> str:
    """Return the processes side by side: their times, then their last gradients.

    Of the parameters only those that differ most are shown.
    """
    ranks = Ranks(snapshot)
    common = f"{counted(len(ranks.numbers), 'step')} in common"
    if ranks.numbers:
        common += f", {ranks.numbers[0]:,} to {ranks.numbers[-1]:,}"
    lines = [f"{counted(len(ranks.ranks), 'rank')}, {common}", ""]
    table = [("rank", "looks", "step", "backward", "waits")]
    for rank, flow in ranks.flows.items():
        times = times_of(flow)
        spans = (span(times.step), span(times.backward), span(times.wait))
        table.append((str(rank), str(len(flow.steps)), *spans))
    lines += aligned(table)
    if ranks.numbers:
        lines += ["", *aligned(_gradients(ranks))]
        if len(ranks.layers) > _MOST_LAYERS:
            more = len(ranks.layers) - _MOST_LAYERS
            lines.append(f"… {counted(more, 'more parameter')}")
    return "\n".join(lines)


def _gradients(ranks: Ranks) -> list[tuple[str, ...]]:
    number = ranks.numbers[-1]
    rows = [(layer, ranks.cells(layer, number)) for layer in range(len(ranks.layers))]
    kept = sorted(rows, key=lambda row: -_spread(row[1]))[:_MOST_LAYERS]
    shown = ranks.ranks[:6]
    heading = [f"gradient at step {number:,}"]
    heading += [f"rank {rank}" for rank in shown]
    averaged = any(cell.after is not None for _, row in rows for cell in row.values())
    table = [tuple([*heading, "averaged"] if averaged else heading)]
    for layer, cells in sorted(kept):
        row = [clean(ranks.layers[layer].name, 48)]
        row += [number_text(cells[rank].before) for rank in shown]
        if averaged:
            after = {number_text(cell.after) for cell in cells.values()}
            row.append(" / ".join(sorted(after)[:3]))
        table.append(tuple(row))
    return table


def _spread(cells: dict[int, Cell]) -> float:
    known = [cell.before for cell in cells.values() if cell.before is not None]
    if len(known) < len(cells) or any(map(math.isinf, known)):
        return math.inf
    low = min(known)
    return max(known) / low if low else 0.0
