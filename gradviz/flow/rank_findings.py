"""What processes that train one model together do differently, as findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz import ir
from gradviz.diagnosis import rank_causes as causes
from gradviz.flow.rank_differences import (
    FAR,
    Difference,
    differences,
    differs,
    is_bad,
    is_far,
    lacks,
)
from gradviz.flow.rank_model import paths, shapes
from gradviz.flow.rank_told import MOST_TOLD, Told, finding_of
from gradviz.flow.rank_words import (
    layers_text,
    named_ranks,
    sentence,
    span,
    the_others,
    values_text,
)
from gradviz.flow.ranks import Kind, Ranks
from gradviz.text.words import clean

_WAITS = 0.15  # of a step; less is the time of the transfer

_SAME_WEIGHTS = (
    "Give every process the same weights: seed alike, load one checkpoint, or wrap the "
    "model in DistributedDataParallel, which broadcasts those of rank 0."
)
_SAME_GRADIENTS = (
    "Call the wrapped model, not `model.module`; leave `no_sync()` for the last "
    "backward pass before a step, and do not change `.grad` on one rank alone."
)


def compare(ranks: Ranks) -> list[Told]:
    """Return what processes that should be alike are not."""
    if len(ranks.ranks) < 2:
        return []
    if ranks.spread:  # every process has other numbers, of its own part
        return [*paths(ranks), *_waiting(ranks)]
    apart = [*_apart(ranks)]
    # Of different models the gradients differ anyway.
    odd = {rank for each in apart for rank in each.ranks}
    rest = [record for record in ranks.records if record.rank not in odd]
    local = _local(Ranks(rest) if odd else ranks) if len(rest) > 1 else ()
    return [*shapes(ranks), *apart, *local, *paths(ranks), *_waiting(ranks)]


# ---- gradients and weights ---------------------------------------------------------


def _apart(ranks: Ranks) -> Iterator[Told]:
    """Yield weights or averaged gradients that are not the same in all processes.

    The one leads to the other: what differs first is the cause.
    """
    weights = differences(ranks, "weight", differs)
    gradients = differences(ranks, "after", differs)
    if weights and (not gradients or weights[0].number <= gradients[0].number):
        yield from _differ(ranks, "weight", weights)
    else:
        yield from _differ(ranks, "after", gradients)


def _differ(ranks: Ranks, what: Kind, found: list[Difference]) -> Iterator[Told]:
    is_weight = what == "weight"
    cause = causes.WEIGHTS_DIFFER if is_weight else causes.GRADIENTS_DIFFER
    fix = _SAME_WEIGHTS if is_weight else _SAME_GRADIENTS
    names = "weights" if is_weight else "averaged gradients"
    odd = [rank for each in found for rank in each.ranks]
    if 2 * len(odd) >= len(ranks.ranks) and found:  # no rank is like most
        found = [replace(found[0], ranks=tuple(ranks.ranks))]
    for each, state in _few(found):
        values = _values(ranks, what, each)
        if 2 * len(each.ranks) >= len(ranks.ranks):
            who = f"{named_ranks(ranks.ranks)} differ"
        else:
            verb = "differs" if len(each.ranks) == 1 else "differ"
            who = f"{named_ranks(each.ranks)} {verb} from {the_others(odd, [*values])}"
        had = values_text(values, each.ranks)
        yield Told(
            finding_of(
                cause,
                f"{sentence(who)}, first at step {each.number:,} in the {names} of "
                f"{layers_text(each.layers)} ({had}), so that the "
                "processes train different models.",
                fix,
            ),
            each.ranks,
            state,
        )


def _few(found: list[Difference]) -> list[tuple[Difference, str]]:
    """Return the differences to tell, the later ones as one, and each in short."""
    if len(found) > MOST_TOLD:
        late = found[MOST_TOLD - 1 :]
        ranks = tuple(sorted(rank for each in late for rank in each.ranks))
        found = [*found[: MOST_TOLD - 1], replace(late[0], ranks=ranks)]
    return [
        (each, f"differs from step {each.number:,} in `{clean(each.layers[0], 60)}`")
        for each in found
    ]


def _values(ranks: Ranks, what: Kind, found: Difference) -> dict[int, float | None]:
    """Return what each process had of the first parameter when it began to differ."""
    column = ranks.layers.index(found.layers[0])
    norms = ranks.norms(what, found.number)[:, column].tolist()
    rows = ranks.looks[found.number]
    return {
        ranks.ranks[place]: norm for (place, _), norm in zip(rows, norms, strict=True)
    }


def _local(ranks: Ranks) -> Iterator[Told]:
    """Yield what single processes did before the average."""
    for each in differences(ranks, "before", lacks)[:MOST_TOLD]:
        yield _missing(ranks, each)
    bad = differences(ranks, "before", is_bad)
    for each in _by_step(bad)[:MOST_TOLD]:
        yield Told(
            finding_of(
                causes.BAD_RANK,
                f"At step {each.number:,} only {named_ranks(each.ranks)} computed NaN "
                f"or Inf, in the gradient of {layers_text(each.layers[:1])} at least; "
                "the average gives it to all ranks.",
                f"Look at the batch of {named_ranks(each.ranks[:1])} at that step; "
                "`with gradviz.record():` there names the line.",
            ),
            each.ranks,
            f"NaN or Inf from step {each.number:,} in `{clean(each.layers[0], 60)}`",
        )
    for each in differences(ranks, "before", is_far)[:MOST_TOLD]:
        values = _values(ranks, "before", each)
        yield Told(
            finding_of(
                causes.UNEVEN_RANKS,
                f"At step {each.number:,} the gradients of {layers_text(each.layers)} "
                f"on {named_ranks(each.ranks)} differ more than {FAR:.0f} times from "
                f"those on {the_others(each.ranks, [*values])} before they are "
                f"averaged ({values_text(values, each.ranks)}).",
                "Compare the data that the ranks get: their scale, labels and masks, "
                "and that the loss is a mean on each.",
            ),
            each.ranks,
            f"far gradients from step {each.number:,} in `{clean(each.layers[0], 60)}`",
        )


def _by_step(found: list[Difference]) -> list[Difference]:
    """Put ranks together that differ since one step, in whatever parameter."""
    steps: dict[int, Difference] = {}
    for each in found:
        before = steps.get(each.number)
        ranks = each.ranks if before is None else (*before.ranks, *each.ranks)
        steps[each.number] = replace(before or each, ranks=tuple(sorted(ranks)))
    return [*steps.values()]


def _missing(ranks: Ranks, found: Difference) -> Told:
    others = sorted({*ranks.ranks} - {*found.ranks})
    few = len(others) < len(found.ranks)
    who = named_ranks(others) if few else "another rank"
    return Told(
        ir.Finding(
            "GV601",
            "unused-submodule",
            "warning",
            f"{layers_text(found.layers)} got no gradient on "
            f"{named_ranks(found.ranks)} although {who} computed one, first at step "
            f"{found.number:,}: the ranks take different paths through the model.",
            "Use the same parts on every rank, or say "
            "`DistributedDataParallel(..., find_unused_parameters=True)`; otherwise "
            "the others wait for a gradient that does not come.",
        ),
        found.ranks,
        f"no gradient from step {found.number:,} in `{clean(found.layers[0], 60)}`",
    )


# ---- time --------------------------------------------------------------------------


def _waiting(ranks: Ranks) -> Iterator[Told]:
    times = {record.rank: record.times for record in ranks.records}
    waits = {r: t.wait for r, t in times.items() if t.wait is not None}
    if len(waits) < 2:
        return
    slow = min(waits, key=waits.__getitem__)
    least = waits[slow]
    waiting = {
        rank: wait
        for rank, wait in waits.items()
        if wait - least > _WAITS * (times[rank].step or 1.0)
    }
    if not waiting:
        return
    longest = max(waiting, key=waiting.__getitem__)
    who = tuple(sorted(waiting))
    verb = "waits" if len(who) == 1 else "wait"
    up_to = "" if len(who) == 1 else "up to "
    yield Told(
        finding_of(
            causes.WAITING_RANK,
            f"{sentence(named_ranks(who))} {verb} {up_to}{span(waiting[longest])} of "
            f"each {span(times[longest].step)} step for the others, rank {slow} only "
            f"{span(least)}: rank {slow} is the slowest.",
            f"Give rank {slow} less to do (shorter sequences, an even split of the "
            "data, faster loading), or look at what else runs on its machine.",
        ),
        who,
        "",  # as healthy ranks do
    )
