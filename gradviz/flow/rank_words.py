"""Short words for many processes, their times and their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from gradviz.text.words import clean, counted

_RUNS = 6  # runs of ranks that a list names
_NAMED = 3  # parameters
_VALUES = 4  # different values


def spans(ranks: Iterable[int]) -> str:
    """Return ranks as a short list.

    >>> spans([0, 1, 2, 4]), spans([3, 17]), spans(range(0, 40, 2))
    ('0–2 and 4', '3 and 17', '0, 2, 4, 6, 8, 10 and 14 more')
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = [
        str(run[0]) if len(run) == 1
        else f"{run[0]}–{run[-1]}" if len(run) > 2
        else f"{run[0]}, {run[1]}"
        for run in runs
    ]  # fmt: skip
    more = sum(map(len, runs[_RUNS:]))
    if more:
        return f"{', '.join(words[:_RUNS])} and {more:,} more"
    flat = ", ".join(words)
    front, comma, last = flat.rpartition(", ")
    return f"{front} and {last}" if comma else flat


def named_ranks(ranks: Sequence[int]) -> str:
    """Return "rank 3", "ranks 3 and 17"."""
    return f"rank{'' if len(ranks) == 1 else 's'} {spans(ranks)}"


def the_others(ranks: Sequence[int], all_ranks: Sequence[int]) -> str:
    """Return "rank 0", "the other 254": all but some."""
    others = sorted({*all_ranks} - {*ranks})
    return named_ranks(others) if len(others) == 1 else f"the other {len(others):,}"


def sentence(text: str) -> str:
    """Return the text with its first letter large."""
    return text[:1].upper() + text[1:]


def values_text(values: Mapping[int, float | None], odd: Sequence[int] = ()) -> str:
    """Return what each rank has, ranks of one value together, the fewest first.

    Of many values those of the odd ranks are named, and the span of the others.

    >>> values_text({0: 10.0, 1: 11.0, 2: 10.0})
    'rank 1: 11; ranks 0 and 2: 10'
    >>> values_text({0: 1.0, 1: 2.0, 2: 99.0, 3: 3.0, 4: 4.0}, odd=[2])
    'rank 2: 99; the others: 1 to 4'
    """
    groups: dict[str, list[int]] = {}
    for rank, value in sorted(values.items()):
        groups.setdefault(number_text(value), []).append(rank)
    order = sorted(groups, key=lambda text: (len(groups[text]), groups[text]))
    if len(order) <= _VALUES:
        return "; ".join(f"{_group(groups[t], len(values))}: {t}" for t in order)
    named = [t for t in order if {*groups[t]} & {*odd}][: _VALUES - 1]
    parts = [f"{named_ranks(groups[text])}: {text}" for text in named]
    known = [v for rank, v in values.items() if rank not in odd and v is not None]
    known = [v for v in known if math.isfinite(v)]
    if known:
        ends = number_text(min(known)), number_text(max(known))
        parts.append(f"the others: {ends[0]} to {ends[1]}")
    return "; ".join(parts)


def _group(ranks: Sequence[int], total: int) -> str:
    is_rest = _RUNS < len(ranks) < total < 2 * len(ranks)
    return f"the other {len(ranks):,}" if is_rest else named_ranks(ranks)


def layers_text(names: Sequence[str]) -> str:
    """Return "`a`, `b`, `c` and 2 more parameters"."""
    shown = [f"`{clean(name, 80)}`" for name in names[:_NAMED]]
    more = len(names) - _NAMED
    if more > 0:
        return f"{', '.join(shown)} and {counted(more, 'more parameter')}"
    return " and ".join(shown) if len(shown) < 3 else ", ".join(shown)


def span(ns: float | None) -> str:
    """Return a time in a unit that suits it.

    >>> span(1_500_000.0), span(None)
    ('1.5 ms', '–')
    """
    if ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def number_text(value: float | None) -> str:
    """Return a norm in words; None and NaN are a gradient that is not there."""
    if value is None or math.isnan(value):
        return "none"
    return "NaN/Inf" if math.isinf(value) else f"{value:.3g}"
