"""Processes that ended before the others, and those of which nothing is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradviz.diagnosis import rank_causes as causes
from gradviz.flow.rank_told import MOST_TOLD, Told, finding_of
from gradviz.flow.rank_words import named_ranks, sentence
from gradviz.flow.ranks import Record
from gradviz.text.words import clean

_LONGEST = 300  # characters of an error
_LOST = ("connection", "timed out", "timeout", "terminated")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read."""

    rank: int | None  # by its name
    reason: str  # a sentence that names the file


def ends(records: Sequence[Record], unreadable: Sequence[Unreadable]) -> list[Told]:
    """Return who stopped, whose file is unreadable and of whom there is none."""
    return [*_stopped(records), *_unreadable(unreadable), *_absent(records, unreadable)]


def _stopped(records: Sequence[Record]) -> Iterator[Told]:
    longest = max(records, key=lambda record: record.steps)
    groups: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if record.error or _is_behind(record, longest):
            # Addresses and ports of one error differ between ranks.
            key = record.steps, re.sub(r"\d+", "#", record.error)
            groups.setdefault(key, []).append(record)
    # The first to stop is the cause; of those, the fewest.
    order = sorted(groups, key=lambda key: (_follows(key[1]), key[0], len(groups[key])))
    for key in order[:MOST_TOLD]:
        yield _stopped_one(groups[key], longest)
    late = [record for key in order[MOST_TOLD:] for record in groups[key]]
    if late:
        ranks = tuple(sorted(record.rank for record in late))
        message = f"{sentence(named_ranks(ranks))} stopped later, or raised errors."
        finding = finding_of(causes.RANK_STOPPED, message, "Look at the others first.")
        yield Told(finding, ranks, "stopped early")


def _follows(error: str) -> bool:
    """Tell whether an error is what a process raises because another one is gone."""
    return any(word in error.lower() for word in _LOST)


def _is_behind(record: Record, longest: Record) -> bool:
    # A process may be ended within a step that another one had just finished.
    return longest.steps - record.steps > max(record.slack, 1)


def _state(record: Record, longest: Record) -> str:
    error = clean(record.error, _LONGEST)
    if record.steps >= longest.steps:
        return f"raised {error}"
    end = f": {error}" if error else ""
    looks = len(record.numbers), len(longest.numbers)
    if looks != (record.steps, longest.steps):  # steps were sampled
        end = f" (looked at: {looks[0]:,} of {looks[1]:,}){end}"
    return f"stopped after {record.steps:,} of {longest.steps:,} steps{end}"


def _stopped_one(records: Sequence[Record], longest: Record) -> Told:
    first = records[0]
    ranks = tuple(record.rank for record in records)
    state = _state(first, longest)
    end = "" if state[-1:] in ".!?" else "."
    if _follows(first.error):
        fix = (
            "Look for the rank that is gone: this error is what follows from its end, "
            "or from a collective call that not all ranks make."
        )
    elif first.error:
        fix = (
            f"Look at the log of {named_ranks(ranks[:1])}. What the others raise after "
            "it (closed connections, time-outs) is what follows from it."
        )
    else:
        fix = (
            "Give every rank equally many batches (`drop_last=True`, or `Join`); if it "
            f"was not the end of its data, look at the log of {named_ranks(ranks[:1])}:"
            " its recording holds no error."
        )
    return Told(
        finding_of(
            causes.RANK_STOPPED, f"{sentence(named_ranks(ranks))} {state}{end}", fix
        ),
        ranks,
        state,
    )


def _unreadable(found: Sequence[Unreadable]) -> Iterator[Told]:
    for each in found:
        whose = "One file" if each.rank is None else f"The file of rank {each.rank}"
        yield Told(
            finding_of(
                causes.RANK_MISSING,
                f"{whose} cannot be merged: {clean(each.reason, _LONGEST)}",
                "Write it again, or leave it out; a process that is killed while it "
                "writes leaves no whole file.",
            ),
            () if each.rank is None else (each.rank,),
            "its file cannot be read",
        )


def _absent(
    records: Sequence[Record], unreadable: Sequence[Unreadable]
) -> Iterator[Told]:
    known = {record.rank for record in records}
    known |= {each.rank for each in unreadable if each.rank is not None}
    size = max([record.size or 0 for record in records] + [max(known) + 1])
    missing = tuple(sorted({*range(size)} - known))
    if missing:
        yield Told(
            finding_of(
                causes.RANK_MISSING,
                f"There is no file of {named_ranks(missing)}, of {size:,} ranks.",
                "Name its file too; if it left none, it was killed before it could "
                "write one: look at its log.",
            ),
            missing,
            "no file",
        )
