"""The findings of many recordings, each said once, with the ranks that have it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradviz import ir
from gradviz.diagnosis.attach import with_places
from gradviz.flow.rank_words import named_ranks, sentence

_MOST = 50  # different findings of ranks beside the one whose graph is shown

Key = tuple[str, str, int]


@dataclass(slots=True)
class _Found:
    """A finding as the first of some ranks has it, with the places that it names."""

    finding: ir.Finding
    sites: tuple[ir.Site, ...]
    sources: tuple[ir.Source, ...]
    ranks: list[int]


class FindingsOfRanks:
    """Collects the findings of one rank after the other, alike ones together.

    Alike is what blames one line for one cause; without a line, what says the same but
    for its numbers.
    """

    def __init__(self) -> None:
        self._found: dict[Key, _Found] = {}
        self._left_out = 0

    def add(self, rank: int, part: ir.Snapshot) -> None:
        """Note the findings of a rank."""
        for finding in part.findings:
            key = _key(finding, part)
            known = self._found.get(key)
            if known is not None:
                if known.ranks[-1] != rank:
                    known.ranks.append(rank)
            elif len(self._found) < _MOST:
                self._found[key] = _Found(*_with_its_places(finding, part), [rank])
            else:
                self._left_out += 1

    @property
    def notes(self) -> list[str]:
        """What is not here."""
        left_out = f"{self._left_out:,} more findings of single ranks are left out."
        return [left_out] if self._left_out else []

    def put_into(self, merged: ir.Snapshot, ranks: Sequence[int]) -> ir.Snapshot:
        """Return the snapshot of the first rank with the findings of all of them."""
        findings: list[ir.Finding] = []
        own: set[Key] = set()
        for finding in merged.findings:
            key = _key(finding, merged)
            own.add(key)
            known = self._found.get(key)
            findings.append(
                _of_ranks(finding, [ranks[0]] if known is None else known.ranks, ranks)
            )
        for key, found in self._found.items():
            if key not in own:
                merged, rows = with_places(merged, found.sites, found.sources)
                moved = _moved(found.finding, rows)
                findings.append(_of_ranks(moved, found.ranks, ranks))
        return replace(merged, findings=tuple(findings))


def _key(finding: ir.Finding, part: ir.Snapshot) -> Key:
    if finding.culprit is None:
        return finding.code, re.sub(r"[-+.,\d]*\d(e[-+]\d+)?", "#", finding.message), 0
    site = part.sites[finding.culprit]
    return finding.code, site.file, site.line


def _of_ranks(
    finding: ir.Finding, own: Sequence[int], ranks: Sequence[int]
) -> ir.Finding:
    if len(own) == len(ranks):
        return finding
    whose = sentence(named_ranks(sorted(own)))
    return replace(finding, message=f"{whose}: {finding.message}")


def _with_its_places(
    finding: ir.Finding, part: ir.Snapshot
) -> tuple[ir.Finding, tuple[ir.Site, ...], tuple[ir.Source, ...]]:
    """Return a finding that stands alone: its places, and the texts of their files."""
    named = [finding.culprit, finding.symptom, *finding.related]
    rows = [*dict.fromkeys(row for row in named if row is not None)]
    sites = [part.sites[row] for row in rows]
    texts = [*dict.fromkeys(s.source for s in sites if s.source is not None)]
    numbers = {row: number for number, row in enumerate(texts)}
    sites = [
        replace(s, source=None if s.source is None else numbers[s.source])
        for s in sites
    ]
    places = [0] * len(part.sites)
    for number, row in enumerate(rows):
        places[row] = number
    return (
        _moved(finding, places),
        tuple(sites),
        tuple(part.sources[row] for row in texts),
    )


def _moved(finding: ir.Finding, rows: Sequence[int]) -> ir.Finding:
    """Return the finding with other rows for its places, and nothing of its graph."""
    culprit, symptom = finding.culprit, finding.symptom
    return replace(
        finding,
        culprit=None if culprit is None else rows[culprit],
        symptom=None if symptom is None else rows[symptom],
        related=tuple(rows[row] for row in finding.related),
        nodes=(),
        tensors=(),
        storages=(),
        edit=(),  # the diff says the same, by its file
    )
