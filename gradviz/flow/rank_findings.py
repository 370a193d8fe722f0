"""What processes that train one model together do differently, as findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradviz import ir
from gradviz.diagnosis import rank_causes as causes
from gradviz.flow.ranks import Ranks, number_text, span, times_of
from gradviz.text.words import clean, counted

_ALIKE = 1e-4  # relative: norms that differ by less are the same
_FAR = 100.0  # times: batches do not differ by as much
_WAITS = 0.15  # of a step; less is the time of the transfer
_NAMED = 3

_SAME_WEIGHTS = (
    "Give every process the same weights: seed alike, load one checkpoint, or wrap the "
    "model in DistributedDataParallel, which broadcasts those of rank 0."
)
_SAME_GRADIENTS = (
    "Call the wrapped model, not `model.module`; leave `no_sync()` for the last "
    "backward pass before a step, and do not change `.grad` on one rank alone."
)


def compare(snapshot: ir.Snapshot) -> list[ir.Finding]:
    """Return what processes that should be alike are not."""
    ranks = Ranks(snapshot)
    if len(ranks.ranks) < 2:
        return []
    apart = [] if ranks.spread else [*_apart(ranks)]
    local = [] if apart else [*_local(ranks)]  # of different models they differ anyway
    return [*apart, *local, *_waiting(ranks)]


# ---- gradients and weights ---------------------------------------------------------


def _apart(ranks: Ranks) -> Iterator[ir.Finding]:
    """Yield weights or averaged gradients that are not the same in all processes.

    The one leads to the other: what differs first is the cause.
    """
    weights, since = _differing(ranks, "weight")
    gradients, first = _differing(ranks, "after")
    if weights and (not gradients or since <= first):
        yield _differ_finding(ranks, "weight", weights, since)
    elif gradients:
        yield _differ_finding(ranks, "after", gradients, first)


def _differ_finding(
    ranks: Ranks, what: str, layers: list[int], number: int
) -> ir.Finding:
    cells = ranks.cells(layers[0], number)
    values = {rank: getattr(cell, what) for rank, cell in cells.items()}
    is_weight = what == "weight"
    names = "weights" if is_weight else "averaged gradients"
    return _finding(
        causes.WEIGHTS_DIFFER if is_weight else causes.GRADIENTS_DIFFER,
        f"From step {number:,} on the {names} of {_named(ranks, layers)} differ "
        f"between ranks ({_listed(values)}), so that the processes train different "
        "models.",
        _SAME_WEIGHTS if is_weight else _SAME_GRADIENTS,
    )


def _differing(ranks: Ranks, what: str) -> tuple[list[int], int]:
    """Return the layers that differ, the first to do so in front, and since when."""
    since: dict[int, int] = {}
    for layer in range(len(ranks.layers)):
        for number in ranks.numbers:
            cells = ranks.cells(layer, number).values()
            values = [getattr(cell, what) for cell in cells]
            if _differ([each for each in values if each is not None]):
                since[layer] = number
                break
    order = sorted(since, key=lambda layer: (since[layer], layer))
    return order, since[order[0]] if order else 0


def _differ(values: Sequence[float]) -> bool:
    if len(values) < 2:
        return False
    low, high = min(values), max(values)
    if math.isinf(high):
        return not math.isinf(low)
    return high - low > _ALIKE * max(high, 1e-30)


def _local(ranks: Ranks) -> Iterator[ir.Finding]:
    """Yield what single processes did before the average."""
    missing: dict[int, list[int]] = {}
    bad: dict[int, tuple[int, int]] = {}
    far: dict[int, tuple[int, dict[int, float | None]]] = {}
    for layer in range(len(ranks.layers)):
        for number in ranks.numbers:
            cells = {r: c.before for r, c in ranks.cells(layer, number).items()}
            known = {r: v for r, v in cells.items() if v is not None}
            if known:
                for rank in cells.keys() - known.keys():
                    layers = missing.setdefault(rank, [])
                    if layer not in layers:
                        layers.append(layer)
            infinite = [rank for rank, value in known.items() if math.isinf(value)]
            if infinite and len(infinite) < len(known):
                bad.setdefault(infinite[0], (layer, number))
            elif not infinite and _are_far(list(known.values())):
                far.setdefault(layer, (number, cells))
    yield from _missing(ranks, missing)
    for rank, (layer, number) in sorted(bad.items()):
        yield _finding(
            causes.BAD_RANK,
            f"At step {number:,} only rank {rank} computed NaN or Inf, in the gradient "
            f"of {_named(ranks, [layer])} at least; the average gives it to all ranks.",
            f"Look at the batch of rank {rank} at that step; `with gradviz.record():` "
            "there names the line.",
        )
    if far:
        layer = min(far, key=lambda each: far[each][0])
        number, cells = far[layer]
        yield _finding(
            causes.UNEVEN_RANKS,
            f"At step {number:,} the gradients of {_named(ranks, [*far])} differ more "
            f"than {_FAR:.0f} times between ranks before they are averaged "
            f"({_listed(cells)}).",
            "Compare the data that the ranks get: their scale, labels and masks, and "
            "that the loss is a mean on each.",
        )


def _are_far(values: Sequence[float]) -> bool:
    return len(values) > 1 and 0 < _FAR * min(values) < max(values)


def _missing(ranks: Ranks, missing: dict[int, list[int]]) -> Iterator[ir.Finding]:
    for rank, layers in sorted(missing.items()):
        yield ir.Finding(
            "GV601",
            "unused-submodule",
            "warning",
            f"{_named(ranks, layers)} got no gradient on rank {rank} although another "
            "rank computed one: the ranks take different paths through the model.",
            "Use the same parts on every rank, or say "
            "`DistributedDataParallel(..., find_unused_parameters=True)`; otherwise "
            "the others wait for a gradient that does not come.",
        )


# ---- time --------------------------------------------------------------------------


def _waiting(ranks: Ranks) -> Iterator[ir.Finding]:
    times = {rank: times_of(flow) for rank, flow in ranks.flows.items()}
    waits = {r: t.wait for r, t in times.items() if t.wait is not None}
    if len(waits) < 2:
        return
    slow = min(waits, key=waits.__getitem__)
    least = waits[slow]
    for rank, wait in sorted(waits.items()):
        step = times[rank].step or 1.0
        if wait - least > _WAITS * step:
            yield _finding(
                causes.WAITING_RANK,
                f"Rank {rank} waits {span(wait)} of each {span(step)} step for the "
                f"others, rank {slow} only {span(least)}: rank {slow} is the slowest.",
                f"Give rank {slow} less to do (shorter sequences, an even split of the "
                "data, faster loading), or look at what else runs on its machine.",
            )


def _finding(cause: causes.Cause, message: str, fix: str) -> ir.Finding:
    return ir.Finding(cause.code, cause.slug, cause.severity, message, fix)


# ---- words -------------------------------------------------------------------------


def _listed(values: dict[int, float | None]) -> str:
    parts = [
        f"rank {rank}: {number_text(value)}" for rank, value in sorted(values.items())
    ]
    return ", ".join(parts[:4]) + (", …" if len(parts) > 4 else "")


def _named(ranks: Ranks, layers: Sequence[int]) -> str:
    names = [f"`{clean(ranks.layers[layer].name, 80)}`" for layer in layers[:_NAMED]]
    more = len(layers) - _NAMED
    if more > 0:
        return f"{', '.join(names)} and {counted(more, 'more parameter')}"
    return " and ".join(names) if len(names) < 3 else ", ".join(names)
