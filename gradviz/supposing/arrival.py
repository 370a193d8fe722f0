"""What reaches a leaf, in numbers, and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gradviz.text.table import Column, table
from gradviz.text.words import number

_COLUMNS = (
    Column("parameter", 40),
    Column("did", right=True),
    Column("would", right=True),
    Column("cosine", right=True),
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What reaches one leaf: L2 norms in float64, None where no gradient arrives."""

    name: str
    did: float | None
    would: float | None
    cosine: float | None
    """Between both, in -1 … 1; None where one is missing or zero."""


def arrival(name: str, did: Any, would: Any) -> Arrival:
    """Measure both gradients of a leaf; None where none arrived."""
    return Arrival(name, _norm(did), _norm(would), _cosine(did, would))


def lines_of(arrivals: Iterable[Arrival]) -> list[str]:
    """Return a table, a line for each leaf."""
    rows = [
        [each.name, *map(words_of, (each.did, each.would, each.cosine))]
        for each in arrivals
    ]
    return table(_COLUMNS, rows)


def words_of(value: float | None) -> str:
    """Return a number as it is shown; a dash where there is none."""
    return "–" if value is None else number(value)


def _flat(gradient: Any) -> Any:
    if gradient.is_sparse:
        gradient = gradient.to_dense()
    if gradient.is_complex():
        gradient = gradient.abs()
    return gradient.detach().flatten().double()


def _norm(gradient: Any) -> float | None:
    if gradient is None:
        return None
    flat = _flat(gradient)
    return math.sqrt(float((flat * flat).sum()))


def _cosine(first: Any, second: Any) -> float | None:
    if first is None or second is None:
        return None
    a, b = _flat(first), _flat(second)
    size = math.sqrt(float((a * a).sum())) * math.sqrt(float((b * b).sum()))
    return float((a * b).sum()) / size if size and math.isfinite(size) else None
