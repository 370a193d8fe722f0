"""A finding about some of many processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradviz import ir
from gradviz.diagnosis.rank_causes import Cause

MOST_TOLD = 5
"""Findings of one cause; more of them would hide the others."""


@dataclass(frozen=True, slots=True)
class Told:
    """A finding about some ranks, and in short how it sets them apart."""

    finding: ir.Finding
    ranks: tuple[int, ...]
    state: str  # "" where it does not
    call: tuple[int, int] | None = None  # to blame: rank, place in its record's calls


def finding_of(cause: Cause, message: str, fix: str) -> ir.Finding:
    """Return the finding that a cause makes."""
    return ir.Finding(cause.code, cause.slug, cause.severity, message, fix)


def states_of(told: Sequence[Told]) -> dict[int, str]:
    """Return for every rank that is not like most what sets it apart."""
    states: dict[int, str] = {}
    for each in told:
        for rank in each.ranks if each.state else ():
            states.setdefault(rank, each.state)
    return states
